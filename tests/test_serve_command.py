"""``budgetbandits serve``: from nothing to the first ask, and what becomes of it when it is stopped or killed."""

import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import budgetbandits as bb
from budgetbandits.campaigns.store import without_secrets
from budgetbandits.cli import main
from budgetbandits.service.tokens import digest_of
from over_http import SPRING, ask, create

ROOT = Path(__file__).parents[1]


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple["subprocess.Popen[str]", list[str]]]:
    """Run the command in a folder; yield the process and what it has printed when it was ready."""
    command = [sys.executable, "-m", "budgetbandits", "serve", "sqlite:///ads.db", "--port", "0", *options]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        printed: list[str] = []
        try:
            for line in process.stdout:
                printed.append(line.rstrip())
                if line.startswith("serving "):
                    break
            yield process, printed
        finally:
            process.kill()


def client(printed: list[str], token: str = "") -> httpx.Client:
    address = re.search(r"http://\S+", printed[-1])
    assert address is not None
    return httpx.Client(base_url=address[0], headers={"Authorization": f"Bearer {token}"} if token else {}, timeout=30)


def token_in(printed: list[str]) -> str:
    secret = re.search(r"bb_\S+", printed[0])
    assert secret is not None
    return secret[0]


def test_from_an_empty_folder_to_a_kill_and_on(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, printed):
        token = token_in(printed)
        with client(printed, token) as http:
            path = create(http, "spring")
            [pull] = ask(http, path, key="worker-7/42")
            http.post(f"{path}/tell", json={"pull": pull, "reward": 1})
            process.kill()
            process.wait()
    with serving(tmp_path) as (process, printed):
        assert len(printed) == 1, "the token is shown once"
        with client(printed, token) as http:
            assert ask(http, path, key="worker-7/42") == [pull | {"state": "told"}]
            assert http.post(f"{path}/verify").json()["entries"] == 2
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
        assert process.stdout is not None
        assert process.stdout.read() == "stopped\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ads.db", "ads.db-next"], "the store was closed"


def test_what_is_under_way_is_answered_and_nothing_new_is_taken(tmp_path: Path) -> None:
    with serving(tmp_path, "--no-token") as (process, printed), client(printed) as http:
        path = create(http, "spring")
        with http.stream("GET", f"{path}/events") as events:
            lines = events.iter_lines()
            next(lines)
            process.send_signal(signal.SIGINT)
            assert not [line for line in lines if line.startswith("data")]  # it ends, and without an error
        assert process.wait() == 0
        with pytest.raises(httpx.ConnectError):
            http.get(path)


def test_it_may_be_stopped_while_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    handler = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(
        "budgetbandits.campaigns.store.open_store", lambda *_, **__: signal.raise_signal(signal.SIGTERM)
    )
    assert main(["serve", f"sqlite:///{tmp_path}/ads.db", "--port", "0"]) == 0
    assert capsys.readouterr().out == "stopped\n"
    assert signal.getsignal(signal.SIGTERM) is handler


def test_tokens_of_a_file_and_a_store_that_is_only_read(tmp_path: Path) -> None:
    with bb.open_store(f"sqlite:///{tmp_path}/ads.db") as store:
        store.create("spring", policy=bb.kube(), costs=[1], budget=10, reward_range=(0, 1))
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(f'[[token]]\nname = "a"\nscope = "admin"\nsha256 = "{digest_of("bb_x")}"\n', encoding="utf-8")
    with serving(tmp_path, "--read-only", "--tokens", str(tokens)) as (_, printed), client(printed, "bb_x") as http:
        assert http.get("/v1/campaigns/spring").json()["pulls"] == 0
        assert http.post("/v1/campaigns/spring/ask").status_code == 403
        assert http.post("/v1/campaigns", json={"name": "x"} | SPRING).status_code == 403
        assert http.get("/readyz").status_code == 200
        tokens.write_text("[[token]", encoding="utf-8")
        while http.get("/readyz").status_code == 200:
            time.sleep(0.05)
        refusal = http.get("/v1/campaigns/spring")
        assert (refusal.status_code, "tokens.toml" in refusal.text) == (503, False)
    with serving(tmp_path, "--read-only") as (_, printed):
        assert printed[0].startswith("the store has no token, and nobody is let in: make one with")


def test_it_is_not_ready_while_the_disk_is_full(tmp_path: Path) -> None:
    with serving(tmp_path, "--no-token") as (process, printed), client(printed) as http:
        path = create(http, "spring")
        assert http.get("/readyz").status_code == 200
        size = (tmp_path / "ads.db-wal").stat().st_size
        for most, status in ((size, 503), (resource.RLIM_INFINITY, 200)):
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
            deadline = time.monotonic() + 60
            while http.get("/readyz").status_code != status:  # it is found out once a second
                assert time.monotonic() < deadline
                time.sleep(0.05)
            assert http.get(path).status_code == 200
        assert len(ask(http, path)) == 1


def test_no_password_is_printed() -> None:
    assert without_secrets("postgresql+psycopg://me:secret@host/ads") == "postgresql+psycopg://..."
    assert without_secrets("sqlite:///ads.db") == "sqlite:///ads.db"


def refused(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["serve", *options]) == 2
    return capsys.readouterr().err


def test_bad_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = f"sqlite:///{tmp_path}/ads.db"
    assert "use tokens, or 127.0.0.1" in refused(capsys, store, "--no-token", "--host", "0.0.0.0", "--port", "0")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"port {port}, cannot be served" in refused(capsys, store, "--port", port)
    assert "port is 99999: give one" in refused(capsys, store, "--port", "99999")
    assert "cannot be served" in refused(capsys, store, "--host", "nowhere.invalid")
    assert "requests a second: give more than 0" in refused(capsys, store, "--port", "0", "--rate", "0")
    assert "tokens in" in refused(capsys, store, "--port", "0", "--tokens", str(tmp_path / "none.toml"))
    assert "there is no file" in refused(capsys, f"sqlite:///{tmp_path}/x.db", "--port", "0", "--read-only")
    with pytest.raises(SystemExit):
        main(["serve", store, "--no-token", "--tokens", "x"])


@pytest.mark.parametrize("page", ["README.md", "docs/service.md"])
def test_the_first_steps_of_the_docs_run_as_they_stand(page: str, tmp_path: Path) -> None:
    section = (ROOT / page).read_text(encoding="utf-8").partition("# The service")[2].partition("\n## ")[0]
    steps = "\n".join(line for line in section.splitlines() if line.startswith("    "))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    script = steps.replace("localhost:8000", f"localhost:{port}").replace("ads.db &", f"ads.db --port {port} &")
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"trap 'kill %1; wait' EXIT\n{script}"],
        cwd=tmp_path,
        env=os.environ | {"PATH": programs},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert '{"pulls":[{"id":1,' in done.stdout
    assert '{"warnings":[]}' in done.stdout
    with bb.open_store(f"sqlite:///{tmp_path}/ads.db", read_only=True) as store:
        assert [row.kind for row in store.open("spring").history()] == ["asked", "told"]
