"""``budgetbandits token``: tokens at a terminal."""

from pathlib import Path

import pytest

import budgetbandits as bb
from budgetbandits.cli import main
from budgetbandits.service.tokens import Scope, StoreTokens
from budgetbandits.testing import new_campaign


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Return the address of a store with a campaign."""
    address = f"sqlite:///{tmp_path}/a.db"
    with bb.open_store(address) as store:
        new_campaign(store, "spring")
    return address


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["token", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("budgetbandits: error: ")
    assert output.err.count("\n") == 1
    return output.err


def create(capsys: pytest.CaptureFixture[str], url: str, *options: str) -> tuple[str, str]:
    """Return the secret, and what was said beside it."""
    assert main(["token", "create", url, *options]) == 0
    output = capsys.readouterr()
    assert output.out.count("\n") == 1
    return output.out.strip(), output.err


def test_the_secret_stands_alone_on_standard_output(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    secret, said = create(capsys, url, "--name", "worker-7", "--scope", "work", "--campaign", "spring")
    assert said == "token 'worker-7', scope work, for the campaign 'spring'. Its secret is shown this once:\n"
    other, said = create(capsys, url, "--name", "alice", "--scope", "admin")
    assert "scope admin, for all campaigns" in said
    with bb.open_store(url, read_only=True) as store:
        worker, alice = map(StoreTokens(store.backend).authenticate, (secret, other))
    assert worker is not None
    assert alice is not None
    assert (worker.name, worker.scope, worker.campaign) == ("worker-7", Scope.WORK, "spring")
    assert (alice.name, alice.scope, alice.campaign) == ("alice", Scope.ADMIN, None)


def test_they_are_listed_without_their_secrets_and_revoked_by_name(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["token", "list", url]) == 0
    assert capsys.readouterr().out == "(no rows)\n"
    secret, _ = create(capsys, url, "--name", "worker-7", "--scope", "work", "--campaign", "spring")
    assert main(["token", "revoke", url, "worker-7"]) == 0
    assert capsys.readouterr().out == "token 'worker-7' is revoked\n"
    create(capsys, url, "--name", "worker-7", "--scope", "read")
    assert main(["token", "list", url]) == 0
    header, first, second = (line.split() for line in capsys.readouterr().out.splitlines())
    assert header == ["id", "name", "scope", "campaign", "created", "last_used", "revoked"]
    assert first[:4] == ["1", "worker-7", "work", "spring"]
    assert second[:4] == ["2", "worker-7", "read", "-"]
    assert (first[-1], second[-1]) != ("-", "-")
    assert second[-2:] == ["-", "-"]
    with bb.open_store(url, read_only=True) as store:
        assert StoreTokens(store.backend).authenticate(secret) is None


def test_what_is_wrong_is_said_in_a_line(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create(capsys, url, "--name", "worker-7", "--scope", "work")
    new = ("create", url, "--scope", "work", "--name")
    assert "there is a token named 'worker-7' already: revoke it" in refused(capsys, *new, "worker-7")
    assert "there is no campaign named 'autumn'" in refused(capsys, *new, "worker-8", "--campaign", "autumn")
    assert "name is ''" in refused(capsys, *new, "")
    assert "there is no token named 'worker-8' that is in force" in refused(capsys, "revoke", url, "worker-8")
    with pytest.raises(SystemExit):
        main(["token", "create", url, "--name", "worker-8", "--scope", "all"])
    assert "invalid choice: 'all' (choose from" in capsys.readouterr().err


def test_they_create_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{tmp_path}/none.db"
    for arguments in (["create", url, "--name", "a", "--scope", "read"], ["list", url], ["revoke", url, "a"]):
        assert "there is no file" in refused(capsys, *arguments)
    assert list(tmp_path.iterdir()) == []


def test_help_says_what_the_scopes_are() -> None:
    from budgetbandits.cli import token

    assert tuple(Scope) == token._SCOPES
    assert all(f"\n  {scope} " in token._CREATE for scope in Scope)
