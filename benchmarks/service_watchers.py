"""Many watchers of one journal, in a process of their own.

``python -m benchmarks.service_watchers PORT CAMPAIGN COUNT``

They begin at the end of the journal, write "watching" when all are connected, and read until standard input ends. Then
they say how many events came to each.
"""

import os
import selectors
import socket
import sys
import urllib.request
from json import load


def last_entry(port: int, campaign: str, token: str) -> int:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/campaigns/{campaign}", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request) as answer:
        entries: int = load(answer)["entries"]
        return entries


def connected(port: int, campaign: str, token: str, after: int) -> socket.socket:
    watcher = socket.create_connection(("127.0.0.1", port))
    watcher.sendall(
        f"GET /v1/campaigns/{campaign}/events?after={after} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {token}\r\nAccept: text/event-stream\r\n\r\n".encode()
    )
    return watcher


def main() -> None:
    port, campaign, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    token = os.environ["BUDGETBANDITS_TOKEN"]
    after = last_entry(port, campaign, token)
    events: dict[socket.socket, int] = {}
    with selectors.DefaultSelector() as selector:
        for _ in range(count):
            watcher = connected(port, campaign, token, after)
            if b" 200 " not in watcher.recv(65536).partition(b"\r\n")[0]:
                sys.exit("a watcher was refused")
            events[watcher] = 0
            selector.register(watcher, selectors.EVENT_READ, watcher)
        selector.register(sys.stdin, selectors.EVENT_READ)
        print("watching", flush=True)
        while True:
            for key, _ in selector.select():
                if key.fileobj is sys.stdin:
                    least, most = min(events.values()), max(events.values())
                    print(f"each of {count} watchers got {least} to {most} events", flush=True)
                    return
                received = key.data.recv(1 << 20)
                if not received:
                    sys.exit("a watcher was sent away")
                events[key.data] += received.count(b"\ndata: ")


if __name__ == "__main__":
    main()
