"""The command `budgetbandits campaign`, as people use it."""

import csv
import importlib
import json
import re
import sqlite3
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import budgetbandits as bb
from budgetbandits.campaigns.export import export
from budgetbandits.cli import main
from budgetbandits.core import specs
from budgetbandits.errors import InvalidInput
from budgetbandits.testing import new_campaign

PLAIN_COLUMNS = ("number", "time", "kind", "pull", "arm", "amount", "reward", "key", "note", "terms", "actor")


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Return the address of a store with two campaigns."""
    address = f"sqlite:///{tmp_path}/a.db"
    with bb.open_store(address) as store:
        spring = new_campaign(store, "spring")
        pulls = spring.ask(n=3, key="k")
        spring.tell(pulls[0], 0.5)
        spring.cancel(pulls[1])
        new_campaign(store, "empty", costs=[1, 2], budget=5).close()
    return address


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["campaign", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("budgetbandits: error: ")
    assert output.err.count("\n") == 1
    return output.err


def test_list(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", "list", url]) == 0
    header, spring, empty = capsys.readouterr().out.splitlines()
    assert header.split() == ["name", "created", "budget", "spent", "reserved", "entries", "is_closed"]
    assert spring.split()[-5:] == ["10.00", "0.10", "1.00", "5", "False"]
    assert empty.split()[-5:] == ["5", "0", "0", "1", "True"]


def test_show(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", "show", url, "spring"]) == 0
    output = capsys.readouterr().out
    assert "budget 10.00: spent 0.10, reserved 1.00, left 8.90" in output
    assert "pending pulls: 1" in output
    assert "upper_bound" in output
    assert main(["campaign", "show", url, "empty"]) == 0
    assert "closed" in capsys.readouterr().out


def test_show_a_rate_of_requests(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with bb.open_store(url) as store:
        settings = {"requests_rate": "6 per minute", "until": "2500-01-01T00:00:00Z", "refill": "3 hours"}
        new_campaign(store, "asked", skip=True, **settings).ask()
    assert main(["campaign", "show", url, "asked"]) == 0
    line, refilled = capsys.readouterr().out.splitlines()[3:5]
    assert refilled == "refilled every 3 hours: 0.00 available"
    assert line.startswith("requests until 2500-01-01 00:00:00 UTC, which may be declined: 6 per minute declared, ")
    assert re.search(r" declared, 6 estimated, \d{10} expected from now on$", line)
    assert main(["campaign", "verify", url, "asked"]) == 0


def test_show_requests(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with bb.open_store(url) as store:
        ads = new_campaign(store, "asked", requests=20, skip=True)
        ads.ask(n=2)
        ads.ask(arm=bb.SKIP)
    assert main(["campaign", "show", url, "asked"]) == 0
    output = capsys.readouterr().out
    assert "\n20 requests, which may be declined: left 17\n3 pulls, rewards of 0\n" in output
    assert " skip " in output.splitlines()[-1]
    assert main(["campaign", "export", url, "asked", str(tmp_path / "x.jsonl")]) == 0
    assert json.loads((tmp_path / "x.jsonl").read_text().splitlines()[-1])["arm"] == bb.SKIP
    assert main(["campaign", "export", url, "asked", str(tmp_path / "x.parquet")]) == 0
    assert pq.read_table(tmp_path / "x.parquet").to_pylist()[-1]["arm"] == bb.SKIP
    assert main(["campaign", "verify", url, "asked"]) == 0
    assert main(["campaign", "show", url, "spring"]) == 0
    assert " requests" not in capsys.readouterr().out


def test_several_resources(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    costs = {"a": {"usd": "0.10", "time": 3}, "b": {"usd": "0.25", "time": (0, 2)}}
    with bb.open_store(url) as store:
        ads = new_campaign(store, "jobs", costs=costs, budget={"usd": 10, "time": 60}, unit={"time": 1})
        for arm in ("a", "b", "a"):
            ads.ask(arm=arm)
        ads.tell(2, 0.5, {"time": 1})
        ads.cancel(1)
        history = list(ads.history())
    amounts = [("0.10", "3"), ("0.25", "2"), ("0.10", "3"), ("0.25", "1"), ("0.00", "0")]
    assert [row.amounts for row in history] == [
        dict(zip(("usd", "time"), map(Decimal, each), strict=True)) for each in amounts
    ]
    assert main(["campaign", "list", url]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[-5:] == ["10.00", "0.25", "0.10", "5", "False"]
    assert main(["campaign", "show", url, "jobs"]) == 0
    output = capsys.readouterr().out
    assert "\nusd 10.00: spent 0.25, reserved 0.10, left 9.65\ntime 60: spent 1, reserved 3, left 56\n" in output
    assert main(["campaign", "verify", url, "jobs"]) == 0
    assert capsys.readouterr().out.startswith("jobs: ok, 5 entries, spent 0.25 of 10.00 usd, 1 of 60 time, head ")
    assert main(["campaign", "export", url, "jobs", str(tmp_path / "x.jsonl")]) == 0
    lines = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert [(line["amount"], tuple(line["amounts"].values())) for line in lines] == [
        (each[0], each) for each in amounts
    ]
    assert list(lines[0]["amounts"]) == ["usd", "time"]
    assert main(["campaign", "export", url, "jobs", str(tmp_path / "x.parquet")]) == 0
    table = pq.read_table(tmp_path / "x.parquet")
    assert table.column_names == [*PLAIN_COLUMNS, "amount_usd", "amount_time"]
    assert [str(table.schema.field(f"amount_{name}").type) for name in ("usd", "time")] == [
        "decimal128(17, 2)",
        "decimal128(17, 0)",
    ]
    rows = [tuple(str(row[f"amount_{name}"]) for name in ("usd", "time")) for row in table.to_pylist()]
    assert rows == amounts


def test_refills_of_several_resources(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    settings = {"requests_rate": "6 per minute", "until": "2500-01-01T00:00:00Z", "refill": "3 hours"}
    with bb.open_store(url) as store:
        new_campaign(store, "jobs", costs={"a": {"usd": 1, "s": 1}}, budget={"usd": 10, "s": 10}, skip=True, **settings)
    assert main(["campaign", "show", url, "jobs"]) == 0
    assert "\nrefilled every 3 hours: 0 usd, 0 s available\n" in capsys.readouterr().out


def test_deposit_withdraw_pause_resume_and_close(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert main(["campaign", "deposit", url, "spring", "5.00", "--key", "i1", "--reason", "a good month"]) == 0
    money = "spring: open\nbudget 15.00: spent 0.10, reserved 1.00, left 13.90\n"
    assert capsys.readouterr().out == money * 2
    assert main(["campaign", "withdraw", url, "spring", "13.90", "--key", "o1"]) == 0
    assert "budget 1.10: spent 0.10, reserved 1.00, left 0.00\n" in capsys.readouterr().out
    assert "is more than is left, 0.00" in refused(capsys, "withdraw", url, "spring", "0.01", "--key", "o2")
    assert "the budget is a plain number" in refused(capsys, "withdraw", url, "spring", "usd=1", "--key", "o2")
    assert "'5' is no amount: give one, such as" in refused(capsys, "deposit", url, "spring", "5", "5", "--key", "o2")
    for verb, state in (("pause", "paused"), ("resume", "open"), ("close", "closed")):
        assert main(["campaign", verb, url, "spring"]) == 0
        assert capsys.readouterr().out.startswith(f"spring: {state}\n")
        assert main(["campaign", "show", url, "spring"]) == 0
        assert capsys.readouterr().out.splitlines()[0].endswith(f", {state}")
    assert main(["campaign", "verify", url, "spring"]) == 0
    assert "spent 0.10 of 1.10, head" in capsys.readouterr().out
    missing = f"sqlite:///{tmp_path}/none.db"
    refused(capsys, "deposit", missing, "spring", "5", "--key", "i1")
    assert not (tmp_path / "none.db").exists()


def test_a_range_of_two_words_is_refused_with_how_to_write_one(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "reprice", url, "spring", "b", "0.2", "0.3")
    assert "'0.2' is no amount" in said
    assert "or a range such as 0.05..0.40" in said


def test_add_reprice_limit_and_retire_arms(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    commands = [
        ["add-arm", url, "spring", "d", "0.05..0.40", "--limit", "3"],
        ["reprice", url, "spring", "b", "0.50"],
        ["limit", url, "spring", "a", "9"],
        ["limit", url, "spring", "a", "none"],
        ["retire", url, "spring", "c"],
        ["retire", url, "empty", "1"],
    ]
    for command in commands[:-1]:
        for _ in range(2):
            assert main(["campaign", *command]) == 0
    capsys.readouterr()
    assert "the campaign is closed, and pulls no arm" in refused(capsys, *commands[-1])
    assert main(["campaign", "show", url, "spring"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "retired: c" in lines
    assert [line.split()[:3] for line in lines if line[:2] in ("b ", "d ")] == [["b", "0.5", "0"], ["d", "0.05", "0"]]
    with bb.open_store(url) as store:
        kinds = [row.kind for row in store.open("spring").history()]
        assert kinds[5:] == ["added", "repriced", "limited", "limited", "retired"]
    assert "limit is 'few': give a number of pulls, or none" in refused(capsys, "limit", url, "spring", "a", "few")
    assert "there is no arm 7" in refused(capsys, "retire", url, "spring", "7")
    assert "there is an arm 'd' already" in refused(capsys, "add-arm", url, "spring", "d", "1")
    assert main(["campaign", "verify", url]) == 0


@pytest.mark.parametrize("words", [["0.05..0.40"], ["0.05 to 0.40"], ["0.05", "to", "0.40"], ["0.05", "..", "0.40"]])
def test_a_range_of_costs_on_the_command_line(words: list[str], url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", "add-arm", url, "spring", "d", *words]) == 0
    with bb.open_store(url) as store:
        new_campaign(store, "jobs", costs={"a": {"usd": 1, "gpu s": "0.05"}}, budget={"usd": 10, "gpu s": 60})
    first, *rest = words
    assert main(["campaign", "add-arm", url, "jobs", "d", "usd=1", f"gpu s={first}", *rest]) == 0
    with bb.open_store(url) as store:
        added, other = store.open("spring").ask(arm="d"), store.open("jobs").ask(arm="d")
        assert added
        assert other
        assert (added.cost, other.costs["gpu s"]) == (Decimal("0.40"), Decimal("0.40"))
    capsys.readouterr()
    said = refused(capsys, "add-arm", url, "spring", "e", "0.05-0.40")
    assert (
        "cost of arm 'e' is '0.05-0.40': give a number, or text such as '2.50', or a range such as '0.05..0.4" in said
    )


def test_observe(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "before.csv"
    file.write_text("arm,reward,cost\na,0.5,\nb,1,0.25\n", encoding="utf-8")
    for _ in range(2):
        assert main(["campaign", "observe", url, "spring", str(file), "--key", "before.csv"]) == 0
    assert "spent 0.10" in capsys.readouterr().out
    with bb.open_store(url) as store:
        ads = store.open("spring")
        assert [(row.kind, row.arm, row.reward) for row in ads.history()][5:] == [
            ("observed", "a", 0.5),
            ("observed", "b", 1.0),
        ]
        jobs = new_campaign(store, "jobs", costs={1: {"usd": 1, "s": (0, 5)}}, budget={"usd": 10, "s": 10})
        assert jobs.pulls == 0
    file.write_text("arm,reward,s\n1,0.5,2\n", encoding="utf-8")
    assert main(["campaign", "observe", url, "jobs", str(file), "--key", "k"]) == 0
    capsys.readouterr()
    for text, message in (
        ("arm,reward\nz,1\n", "observation 1: there is no arm 'z'"),
        ("arm,reward\na,much\n", "observation 1: reward of arm 'a' is 'much'"),
        ("arm,price\na,1\n", "has no column 'reward': its first line must name arm and reward"),
        ("", "there are 0 observations"),
    ):
        file.write_text(text, encoding="utf-8")
        assert message in refused(capsys, "observe", url, "spring", str(file), "--key", "k")
    assert "cannot be read" in refused(capsys, "observe", url, "spring", str(tmp_path / "none.csv"), "--key", "k")
    assert main(["campaign", "verify", url]) == 0


def test_bills_are_settled(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with bb.open_store(url) as store:
        ads = new_campaign(store, "scored", costs={"a": ("0.05", "0.25")}, unit="0.01", lease=None)
        jobs = new_campaign(store, "jobs", costs={"a": {"usd": 1, "s": 1}}, budget={"usd": 10, "s": 10}, lease=None)
        ads.ask(n=2)
        jobs.ask(n=2)
    for _ in range(2):
        assert main(["campaign", "settle", url, "scored", "1", "0.08", "--actor", "alice"]) == 0
        assert capsys.readouterr().out == "scored: open\nbudget 10.00: spent 0.08, reserved 0.25, left 9.67\n"
    assert "pull 1 was settled before, and cost 0.08" in refused(capsys, "settle", url, "scored", "1", "0.09")
    assert "cost of pull 2 is missing" in refused(capsys, "settle", url, "scored", "2")
    assert main(["campaign", "settle", url, "jobs", "1", "usd=0", "s=1"]) == 0
    assert main(["campaign", "settle", url, "jobs", "2"]) == 0
    assert "usd 10: spent 1, reserved 0, left 9\ns 10: spent 2, reserved 0, left 8\n" in capsys.readouterr().out
    with bb.open_store(url) as store:
        assert [(row.kind, row.actor) for row in store.open("scored").history()][2:] == [("settled", "alice")]


def test_deposits_of_several_resources(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with bb.open_store(url) as store:
        new_campaign(store, "jobs", costs={"a": {"usd": 1, "s": 1}}, budget={"usd": 10, "s": 10})
    assert main(["campaign", "deposit", url, "jobs", "usd=5", "s=2", "--key", "i1"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "usd 15: spent 0, reserved 0, left 15",
        "s 12: spent 0, reserved 0, left 12",
    ]


def test_verify(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaign", "verify", url, "spring"]) == 0
    line, head = capsys.readouterr().out.split(", head ")
    assert line == "spring: ok, 5 entries, spent 0.10 of 10.00"
    with bb.open_store(url) as store:
        assert store.open("spring").head == head.strip()
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("DROP TRIGGER entries_never_update")
    connection.execute("UPDATE entries SET reward = 0.75, amount = 9 WHERE kind = 'told'")
    connection.commit()
    connection.close()
    assert main(["campaign", "verify", url]) == 1
    output = capsys.readouterr()
    assert output.out.startswith("empty: ok, 1 entries, spent 0 of 5, head ")
    message = "the journal of 'spring' does not add up: the campaign's row says spent 10, and its entries 9; head "
    assert output.err.startswith(f"budgetbandits: spring: {message}")


def test_verify_expects_heads_that_were_kept(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with bb.open_store(url) as store:
        spring = store.open("spring")
        heads = [spring.head]
        spring.tell(3, 0.5)
        heads.append(spring.head)
    for expected in (heads[:1], heads[1:], heads):
        assert main(["campaign", "verify", url, "spring", *(f"--expect={head}" for head in expected)]) == 0
    capsys.readouterr()
    assert main(["campaign", "verify", url, "spring", "--expect", heads[0], "--expect", "0" * 64]) == 1
    assert f"never had the head {'0' * 64}" in capsys.readouterr().err
    assert "is no head: give what `campaign.head` was" in refused(capsys, "verify", url, "spring", "--expect", "0")
    assert "without a name: say whose head it is" in refused(capsys, "verify", url, "--expect", heads[0])


@pytest.mark.parametrize("form", [[], ["--format", "jsonl"]])
def test_export_json_lines(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: list[str]) -> None:
    file = tmp_path / ("x" if form else "x.jsonl")
    assert main(["campaign", "export", url, "spring", str(file), *form]) == 0
    assert capsys.readouterr().out == f"{file}: 5 entries\n"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [row["kind"] for row in rows] == ["asked", "asked", "asked", "told", "cancelled"]
    assert (rows[0]["arm"], rows[0]["amount"], rows[0]["key"], rows[3]["reward"]) == ("a", "0.10", "k", 0.5)
    assert all(tuple(row) == PLAIN_COLUMNS for row in rows)
    assert list(tmp_path.glob("*.part")) == []


def test_export_parquet(url: str, tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    assert main(["campaign", "export", url, "spring", str(file)]) == 0
    with bb.open_store(url) as store:
        history = list(store.open("spring").history())
    rows = pq.read_table(file).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        tuple(getattr(row, column) for column in PLAIN_COLUMNS) for row in history
    ]
    assert all(tuple(row) == PLAIN_COLUMNS for row in rows)
    assert rows[0]["amount"] == Decimal("0.10")
    assert main(["campaign", "export", url, "empty", str(tmp_path / "y.parquet")]) == 0


def test_export_replaces_nothing_unasked(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text("mine")
    assert "is there already: give another name, or --force" in refused(capsys, "export", url, "spring", str(file))
    assert file.read_text() == "mine"
    assert main(["campaign", "export", url, "spring", str(file), "--force"]) == 0
    assert file.read_text() != "mine"


def test_bad_input(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(tmp_path.iterdir())
    assert "there is no campaign named 'x'" in refused(capsys, "show", url, "x")
    assert "there is no file" in refused(capsys, "list", f"sqlite:///{tmp_path}/typo.db")
    assert "there is no store of the kind 'redis'" in refused(capsys, "list", "redis://host")
    assert "says no format" in refused(capsys, "export", url, "spring", str(tmp_path / "x.xls"))
    assert "cannot be written" in refused(capsys, "export", url, "spring", str(tmp_path / "none" / "x.jsonl"))
    (tmp_path / "empty.db").touch()
    assert "is empty: there are no campaigns" in refused(capsys, "list", f"sqlite:///{tmp_path}/empty.db")
    (tmp_path / "empty.db").unlink()
    assert [path for path in sorted(tmp_path.iterdir()) if "empty.db" not in path.name] == before
    with bb.open_store(url) as store, pytest.raises(InvalidInput, match="says no format"):
        export(store.open("spring"), tmp_path / "x", "xls")


def test_help_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ([], ["list"], ["show"], ["verify"], ["export"], ["backup"]):
        with pytest.raises(SystemExit) as caught:
            main(["campaign", *verb, "--help"])
        assert caught.value.code == 0
        assert "store" in capsys.readouterr().out


def test_verify_goes_on_after_a_campaign_that_it_cannot_read(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "house_policies.py").write_text(
        "from dataclasses import dataclass\n"
        "import budgetbandits as bb\n\n\n"
        "@dataclass(frozen=True)\n"
        "class House(bb.IndexPolicy):\n"
        "    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with bb.open_store(url) as store:
        new_campaign(store, "own", policy=importlib.import_module("house_policies").House()).ask()
        new_campaign(store, "zebra").ask()
    for name in [name for name in specs._CLASSES if name.startswith("house_policies")]:
        monkeypatch.delitem(specs._CLASSES, name)
    monkeypatch.delitem(sys.modules, "house_policies")
    assert main(["campaign", "verify", url]) == 1
    output = capsys.readouterr()
    assert "own: " in output.err
    assert "zebra: ok" in output.out
    assert main(["campaign", "--import", "house_policies", "verify", url]) == 0
    assert main(["campaign", "--import", "no_such_module", "verify", url]) == 2
    assert "--import no_such_module: it cannot be imported" in capsys.readouterr().err


def test_an_exported_table_gives_no_orders(tmp_path: Path) -> None:
    arms = ["=1+1", "+x", "-y", "@z", "\t=tab", "\r=cr", "\x1b[31mred", "plain"]
    url, path = f"sqlite:///{tmp_path}/a.db", tmp_path / "o.csv"
    with bb.open_store(url) as store:
        ads = store.create(
            "ads", policy=bb.kube(), costs=dict.fromkeys(arms, 1), budget=100, reward_range=(0, 1), seed=1
        )
        for arm in arms:
            ads.ask(arm=arm, key=f"={arms.index(arm)}")
    assert main(["campaign", "export", url, "ads", str(path)]) == 0
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    shown = ["'=1+1", "'+x", "'-y", "'@z", r"\t=tab", r"\r=cr", r"\x1b[31mred", "plain"]
    assert [row["arm"] for row in rows] == shown
    assert [row["key"] for row in rows] == [f"'={number}" for number in range(len(arms))]
