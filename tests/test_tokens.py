"""Tokens: who has which, for how long, and what is kept of it."""

import asyncio
import hashlib
import re
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import budgetbandits as bb
from budgetbandits.campaigns.sql.database import SqlBackend
from budgetbandits.errors import (
    InvalidInput,
    NoSuchCampaign,
    NoSuchToken,
    StoreUnavailable,
    TokenExists,
    WrongStore,
)
from budgetbandits.service.token_file import FileTokens
from budgetbandits.service.tokens import Scope, StoreTokens, Token, Tokens, digest_of, new_secret
from budgetbandits.testing import HandClock, new_campaign


class HandSeconds:
    """A steady clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> HandSeconds:
    return HandSeconds()


@pytest.fixture
def store(url: str) -> Iterator[bb.Store]:
    with bb.open_store(url) as store:
        yield store


def count_readings(tokens: StoreTokens, monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Return a list that grows with each look at the tokens of a store."""
    readings, read = list[None](), tokens._table.list

    def counted(**which: Any) -> Any:
        readings.append(None)
        return read(**which)

    monkeypatch.setattr(tokens._table, "list", counted)
    return readings


class TestOfAStore:
    def test_whoever_has_the_secret_has_the_token(self, store: bb.Store) -> None:
        new_campaign(store)
        clock = HandClock()
        tokens = StoreTokens(store.backend, clock=clock)
        worker, secret = tokens.create("worker-7", "work", "ads")
        admin, other = tokens.create("alice", Scope.ADMIN)
        assert worker == Token(worker.id, "worker-7", Scope.WORK, "ads", clock.now)
        assert re.fullmatch("bb_[A-Za-z0-9_-]{43}", secret)
        assert secret != other
        assert (tokens.authenticate(secret), tokens.authenticate(other)) == (worker, admin)
        for wrong in ("", "bb_", secret[:-1], f"{secret} ", secret.lower(), digest_of(secret), "ä\ud800", new_secret()):
            assert tokens.authenticate(wrong) is None
        assert tokens.list() == (worker, admin)
        assert tokens.named("alice") == admin

    def test_nothing_of_the_secret_is_kept_but_its_digest(self, tmp_path: Path) -> None:
        with bb.open_store(f"sqlite:///{tmp_path}/a.db") as store:
            token, secret = StoreTokens(store.backend).create("worker-7", "work")
            [record] = store.backend.tokens().list()
            assert record.digest == hashlib.sha256(secret.encode()).hexdigest()
            kept = b"".join(file.read_bytes() for file in tmp_path.glob("a.db*"))
        assert record.digest.encode() in kept
        assert secret.encode() not in kept
        assert secret[3:].encode() not in kept
        assert secret not in repr(token)

    def test_a_revoked_one_is_refused_at_once_here_and_a_second_later_elsewhere(
        self, url: str, store: bb.Store, seconds: HandSeconds
    ) -> None:
        tokens = StoreTokens(store.backend, steady_clock=seconds)
        token, secret = tokens.create("worker-7", "work")
        with bb.open_store(url, read_only=True) as again:
            elsewhere = StoreTokens(again.backend, steady_clock=seconds)
            assert elsewhere.authenticate(secret) == token
            revoked = tokens.revoke(token.id)
            assert revoked.revoked is not None
            assert tokens.revoke(token.id) == revoked
            assert tokens.authenticate(secret) is None
            seconds.now += 1.01
            assert elsewhere.authenticate(secret) is None
        assert tokens.list() == (revoked,)
        with pytest.raises(NoSuchToken, match="there is no token named 'worker-7' that is in force"):
            tokens.named("worker-7")

    def test_most_requests_do_not_wait_for_the_database(
        self, url: str, store: bb.Store, seconds: HandSeconds, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tokens = StoreTokens(store.backend, steady_clock=seconds)
        _, secret = tokens.create("worker-7", "work")
        readings = count_readings(tokens, monkeypatch)
        for _ in range(100):
            assert tokens.authenticate(secret) is not None
            assert tokens.authenticate("bb_wrong") is None
            assert tokens.authenticate("") is None
        assert len(readings) == 1
        with bb.open_store(url) as again:
            _, new = StoreTokens(again.backend).create("worker-8", "work")
        assert tokens.authenticate(new) is None  # it was not there a moment ago
        seconds.now += 0.11
        assert tokens.authenticate(secret) is not None
        assert len(readings) == 1
        assert tokens.authenticate(new) is not None
        assert len(readings) == 2

    def test_many_that_come_at_once_wait_for_one_reading(
        self, store: bb.Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tokens = StoreTokens(store.backend)
        _, secret = tokens.create("worker-7", "work")
        table, is_read, may_go_on = tokens._table.list, threading.Event(), threading.Event()
        readings, found = list[None](), list[Token | None]()

        def slow(**which: Any) -> Any:
            readings.append(None)
            is_read.set()
            may_go_on.wait(10)
            return table(**which)

        monkeypatch.setattr(tokens._table, "list", slow)
        threads = [threading.Thread(target=lambda: found.append(tokens.authenticate(secret))) for _ in range(8)]
        for thread in threads:
            thread.start()
        assert is_read.wait(10)
        may_go_on.set()
        for thread in threads:
            thread.join()
        assert [token and token.name for token in found] == ["worker-7"] * 8
        assert len(readings) <= 2

    def test_many_tasks_that_come_at_once_share_one_reading(
        self, store: bb.Store, seconds: HandSeconds, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tokens = StoreTokens(store.backend, steady_clock=seconds)
        token, secret = tokens.create("a", "read")
        readings = count_readings(tokens, monkeypatch)

        async def come() -> list[Token | None]:  # more than there are threads, so that some begin when others are done
            return await asyncio.gather(*(tokens.authenticate_async(secret) for _ in range(50)))

        assert asyncio.run(come()) == 50 * [token]
        assert len(readings) == 1

    def test_nobody_is_let_in_while_they_cannot_be_read(
        self, store: bb.Store, seconds: HandSeconds, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tokens = StoreTokens(store.backend, steady_clock=seconds)
        _, secret = tokens.create("worker-7", "work")
        assert tokens.authenticate(secret) is not None

        def fail(**_: Any) -> Any:
            raise StoreUnavailable("the server is gone")

        with monkeypatch.context() as broken:
            broken.setattr(tokens._table, "list", fail)
            assert tokens.authenticate(secret) is not None
            seconds.now += 1.01
            for _ in range(2):
                with pytest.raises(StoreUnavailable, match="the tokens cannot be read now, and nobody is let in"):
                    tokens.authenticate(secret)
                with pytest.raises(StoreUnavailable, match="the tokens cannot be read now, and nobody is let in"):
                    asyncio.run(tokens.authenticate_async(secret))
        assert tokens.authenticate(secret) is not None

    def test_in_an_event_loop(self, store: bb.Store, seconds: HandSeconds) -> None:
        tokens = StoreTokens(store.backend, steady_clock=seconds)
        token, secret = tokens.create("worker-7", "work")

        async def loop() -> list[Token | None]:
            given = (secret, "", "bb_wrong", secret)
            return [await tokens.authenticate_async(each) for each in given]

        assert asyncio.run(loop()) == [token, None, None, token]

    def test_names_scopes_and_campaigns_are_checked(self, store: bb.Store) -> None:
        tokens = StoreTokens(store.backend)
        tokens.create("worker-7", "work")
        bad: list[tuple[type[Exception], str, tuple[Any, ...]]] = [
            (InvalidInput, "name is '': give a printable text of 1 to 255", ("", "work")),
            (InvalidInput, "name is 'a", ("a\n", "work")),
            (InvalidInput, "name is None", (None, "work")),
            (InvalidInput, "scope is 'all': give read, work, admin", ("a", "all")),
            (InvalidInput, "scope is None", ("a", None)),
            (InvalidInput, "scope is 'WORK'", ("a", "WORK")),
            (InvalidInput, "campaign is ''", ("a", "work", "")),
            (InvalidInput, "campaign is 5", ("a", "work", 5)),
            (NoSuchCampaign, "there is no campaign named 'ads'", ("a", "work", "ads")),
            (TokenExists, "there is a token named 'worker-7' already", ("worker-7", "read")),
        ]
        for error, message, given in bad:
            with pytest.raises(error, match=message):
                tokens.create(*given)
        wrong: Any
        for wrong in (0, -1, 2**31, 10**30, "1", None, True):
            with pytest.raises(NoSuchToken, match="there is no token"):
                tokens.revoke(wrong)
        assert len(tokens.list()) == 1

    def test_the_last_use_is_written_once_a_minute(self, store: bb.Store, seconds: HandSeconds) -> None:
        clock = HandClock()
        tokens = StoreTokens(store.backend, clock=clock, steady_clock=seconds)
        begin = clock.now
        (_, used), (_, unused) = tokens.create("used", "read"), tokens.create("unused", "read")

        def use_after(passed: float) -> timedelta | None:
            seconds.now += passed
            clock.advance(passed)
            assert tokens.authenticate(used) is not None
            seconds.now += 5
            clock.advance(5)
            tokens.note_uses()
            row, other = tokens.list()
            assert other.last_used is None
            return None if row.last_used is None else row.last_used - begin

        tokens.note_uses()
        assert use_after(10) == timedelta(seconds=10)
        assert use_after(20) == timedelta(seconds=10)
        assert use_after(36) == timedelta(seconds=76)
        assert tokens.authenticate(unused) is not None

    def test_to_read_only(self, url: str, store: bb.Store) -> None:
        token, secret = StoreTokens(store.backend).create("worker-7", "work")
        with bb.open_store(url, read_only=True) as again:
            tokens = StoreTokens(again.backend)
            assert tokens.authenticate(secret) == token
            for change in (tokens.note_uses, lambda: tokens.revoke(token.id), lambda: tokens.create("a", "read")):
                with pytest.raises(StoreUnavailable, match="opened for reading only"):
                    change()

    @pytest.mark.parametrize(
        "change", ["scope = 'wark'", "created = -5", "revoked = -1", "last_used = 9223372036854775807"]
    )
    def test_a_damaged_one_is_noticed(self, store: bb.Store, change: str, caplog: pytest.LogCaptureFixture) -> None:
        tokens = StoreTokens(store.backend)
        _, secret = tokens.create("worker-7", "work")
        assert isinstance(store.backend, SqlBackend)
        with store.backend.engine.begin() as connection:
            connection.execute(text(f"UPDATE tokens SET {change}"))
        with pytest.raises(WrongStore, match="damaged"):
            tokens.list()
        if "revoked" not in change:
            with pytest.raises(StoreUnavailable, match="the tokens cannot be read now"):
                tokens.authenticate(secret)
            assert "damaged" in caplog.text


class TestOfAFile:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "tokens.toml"

    def write(self, path: Path, *rows: dict[str, str]) -> None:
        lines = [line for row in rows for line in ("[[token]]", *(f"{key} = {row[key]!r}" for key in row))]
        path.write_text("\n".join(lines), encoding="utf-8")

    def test_whoever_has_the_secret_has_the_token(self, path: Path) -> None:
        one, two = new_secret(), "any other secret, ä"
        self.write(
            path,
            {"name": "worker-7", "scope": "work", "campaign": "spring", "sha256": digest_of(one)},
            {"name": "alice", "scope": "admin", "sha256": digest_of(two).upper()},
        )
        tokens: Tokens = FileTokens(path)
        worker = Token(int(digest_of(one), 16), "worker-7", Scope.WORK, "spring")
        alice = Token(int(digest_of(two), 16), "alice", Scope.ADMIN)
        assert tokens.authenticate(one) == worker
        assert tokens.authenticate(two) == alice
        assert asyncio.run(tokens.authenticate_async(two)) == alice
        assert [tokens.authenticate(wrong) for wrong in ("", new_secret(), digest_of(one))] == [None] * 3

    def test_the_whole_digest_counts(self, path: Path) -> None:
        secret = new_secret()
        digest = digest_of(secret)
        for changed in (digest[:-1] + "0123456789abcdef0"[int(digest[-1], 16) + 1], digest[:32] + "0" * 32):
            self.write(path, {"name": "worker-7", "scope": "work", "sha256": changed})
            assert FileTokens(path).authenticate(secret) is None

    def test_it_is_read_again_when_it_changes(
        self, path: Path, seconds: HandSeconds, caplog: pytest.LogCaptureFixture
    ) -> None:
        one, two = new_secret(), new_secret()
        self.write(path, {"name": "one", "scope": "work", "sha256": digest_of(one)})
        tokens = FileTokens(path, seconds)
        assert tokens.authenticate(one) is not None
        self.write(path, {"name": "two, a longer name", "scope": "read", "sha256": digest_of(two)})
        seconds.now += 1.01
        assert tokens.authenticate(one) is None
        assert tokens.authenticate(two) is not None
        path.write_text("[[token]", encoding="utf-8")
        seconds.now += 1.01
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="the tokens cannot be read now, and nobody is let in"):
                tokens.authenticate(two)
        assert "Nobody is let in until that is mended" in caplog.text  # which is not for everybody
        path.unlink()
        with pytest.raises(StoreUnavailable, match="the tokens cannot be read now"):
            tokens.authenticate(two)
        assert "No such file" in caplog.text
        self.write(path, {"name": "one", "scope": "work", "sha256": digest_of(one)})
        assert tokens.authenticate(one) is not None

    @pytest.mark.parametrize(
        ("contents", "message"),
        [
            ("", "give a table"),
            ("token = 5", "give a table"),
            ("token = [5]", "give a table"),
            ("[[tokens]]", "give a table"),
            ("[[token]", "tokens.toml: "),
            ("[[token]]", "token number 1: name is None: give a printable text"),
            ("[[token]]\nname = 5", "name is 5"),
            ("[[token]]\nname = 'a'\nscope = 'all'\nsha256 = '{digest}'", "scope is 'all': give read, work, admin"),
            ("[[token]]\nname = 'a'\nsha256 = '{digest}'", "scope is None"),
            ("[[token]]\nname = 'a'\nscope = 'read'", "its sha256 is none of a secret: give 64 digits and letters"),
            ("[[token]]\nname = 'a'\nscope = 'read'\nsha256 = 'bb_secret'", "its sha256 is none"),
            ("[[token]]\nname = 'a'\nscope = 'read'\nsecret = 'bb_secret'", "it has a key 'secret': give name, scope"),
            ("[[token]]\nname = 'a'\nscope = 'read'\nsha256 = '{digest}'\ncampaign = ''", "campaign is ''"),
            (
                "[[token]]\nname = 'a'\nscope = 'read'\nsha256 = '{digest}'\n"
                "[[token]]\nname = 'a'\nscope = 'read'\nsha256 = '{other}'",
                "token number 2: its name 'a' or its secret is that of another one",
            ),
            (
                "[[token]]\nname = 'a'\nscope = 'read'\nsha256 = '{digest}'\n"
                "[[token]]\nname = 'b'\nscope = 'read'\nsha256 = '{digest}'",
                "token number 2: its name 'b' or its secret is that of another one",
            ),
        ],
    )
    def test_what_is_wrong_in_it(self, path: Path, contents: str, message: str) -> None:
        path.write_text(contents.format(digest="0" * 64, other="1" * 64), encoding="utf-8")
        with pytest.raises(InvalidInput, match=re.escape(message)) as caught:
            FileTokens(path)
        assert str(path) in str(caught.value)
        assert "bb_secret" not in str(caught.value)

    def test_there_must_be_one_that_can_be_read(self, path: Path, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match=r"tokens\.toml: .*No such file"):
            FileTokens(path)
        with pytest.raises(InvalidInput, match="Is a directory"):
            FileTokens(tmp_path)
        path.write_bytes(b"\xff")
        with pytest.raises(InvalidInput, match=r"tokens\.toml: .*can't decode"):
            FileTokens(path)


def test_a_scope_includes_those_before_it() -> None:
    assert [[scope.includes(other) for other in Scope] for scope in Scope] == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]
