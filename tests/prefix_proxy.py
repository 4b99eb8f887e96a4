"""A proxy that serves an address below a path, as `location /bandits/ { proxy_pass http://127.0.0.1:8000/; }` does."""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_OF_THE_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "host"}


@contextmanager
def proxied(address: str, prefix: str) -> Iterator[str]:
    """Serve what is at an address below a prefix; yield the address of that."""

    class Handler(BaseHTTPRequestHandler):
        def _pass_on(self) -> None:
            if not self.path.startswith(f"{prefix}/"):
                self.send_error(404)
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _OF_THE_CONNECTION}
            with closing(http.client.HTTPConnection(urlsplit(address).netloc)) as connection:
                connection.request(self.command, self.path.removeprefix(prefix), body, headers)
                self._answer(connection.getresponse())

        def _answer(self, answer: http.client.HTTPResponse) -> None:
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _OF_THE_CONNECTION:
                    self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # the browser has left a stream
                while part := answer.read1():
                    self.wfile.write(part)

        def __getattr__(self, name: str) -> Callable[[], None]:
            if not name.startswith("do_"):  # a method, such as do_GET
                raise AttributeError(name)
            return self._pass_on

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, name="proxy", daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{prefix}"
        finally:
            server.shutdown()
            thread.join()
