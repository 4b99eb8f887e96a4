"""The chain of a journal: what was told and is gone again, or was changed, is noticed."""

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import bit_flips
import budgetbandits as bb
from budgetbandits.campaigns.export import export
from budgetbandits.campaigns.settings import CampaignSettings
from budgetbandits.campaigns.sql.database import SqlBackend
from budgetbandits.errors import HistoryLost, InvalidInput, InvalidState, JournalDamaged
from budgetbandits.live.player import Player
from budgetbandits.testing import new_campaign
from test_ledger import new_settings


@pytest.fixture
def store(url: str) -> Iterator[bb.Store]:
    with bb.open_store(url) as store:
        yield store


def execute(store: bb.Store, *statements: str) -> None:
    """Change what is stored behind everybody's back."""
    assert isinstance(store.backend, SqlBackend)
    with store.backend.engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            for verb in ("update", "delete"):
                connection.execute(text(f"DROP TRIGGER IF EXISTS entries_never_{verb}"))
        else:
            connection.execute(text("ALTER TABLE entries DISABLE TRIGGER entries_never_change"))
        for statement in statements:
            connection.execute(text(statement))


def go_back(store: bb.Store, act: Callable[[bb.Campaign], object]) -> tuple[bb.Campaign, str]:
    """Let something happen, and let the store forget it, as a restored copy does; return what was seen of it."""
    ads = store.open("ads")
    before = store.backend.find("ads").totals
    act(ads)
    head = ads.head
    assert head != before.head
    columns = ", ".join(
        f"{name} = {value}" if isinstance(value, int) else f"{name} = '{value}'"
        for name, value in before._asdict().items()
        if value is not None
    )
    execute(store, f"DELETE FROM entries WHERE number > {before.entries}", f"UPDATE campaigns SET {columns}")
    return ads, head


def busy(store: bb.Store) -> bb.Campaign:
    ads = new_campaign(store)
    for number in range(4):
        pull = ads.ask(key=f"ask {number}")
        assert pull
        ads.acting_as("worker-7").tell(pull, number / 4, "0.05" if number == 2 else None)
    return ads


def test_a_head_can_be_computed_by_anyone(store: bb.Store) -> None:
    """Another program, with nothing but JSON and SHA-256, comes to the same head."""
    ads = busy(store)
    record = store.backend.find("ads")

    def canonical(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)

    head = hashlib.sha256(canonical([1, "ads", record.created, record.settings, 0]).encode()).hexdigest()
    for entry in ads.journal():
        fields = [str(field) if isinstance(field, str) else field for field in entry]
        while fields[-1] is None:
            fields.pop()
        head = hashlib.sha256((head + canonical(fields)).encode()).hexdigest()
    assert ads.head == head == record.totals.head == ads.verify().head


def test_an_empty_journal_has_a_head_of_its_own(store: bb.Store) -> None:
    heads = {new_campaign(store, name).head for name in ("a", "b")}
    assert len(heads) == 2
    assert store.open("a").verify(store.open("a").head).entries == 0


def test_a_zero_has_no_sign(store: bb.Store) -> None:
    """SQLite does not keep it: the entry that is read would have another digest than the one that was written."""
    ads = busy(store)
    pull = ads.ask()
    assert pull
    ads.tell(pull, -0.0)
    ads.observe([(pull.arm, -0.0)], key="elsewhere")
    assert [math.copysign(1, entry.reward) for entry in ads.journal() if entry.reward == 0][-2:] == [1, 1]
    ads.verify()


def test_heads_that_were_kept_are_found_again(store: bb.Store) -> None:
    ads, heads = busy(store), list[str]()
    for number in range(3):
        heads.append(ads.head)
        ads.ask(key=f"more {number}")
    assert ads.verify(heads).entries == ads.verify(heads[1]).entries == ads.verify().entries
    with pytest.raises(HistoryLost, match=f"never had the head {'f' * 64}: it is sound by itself"):
        ads.verify([*heads, "f" * 64])
    assert ads.verify([f" {heads[0].upper()}\n"]).entries == ads.verify().entries
    wrong: Any
    for wrong in ("", "f" * 63, "g" * 64, 5, None, [5], [None]):
        with pytest.raises(InvalidInput, match=r"is no head: give what `campaign\.head` was"):
            ads.verify(wrong)


@pytest.mark.parametrize(
    "use",
    [
        lambda ads: ads.ask(),
        lambda ads: ads.ask(key="seen"),
        lambda ads: ads.tell(5, 0.5),
        lambda ads: ads.money,
        lambda ads: ads.pending,
        lambda ads: ads.is_closed,
        lambda ads: ads.head,
        lambda ads: ads.verify(),
    ],
    ids=["ask", "ask again", "tell", "money", "pending", "is_closed", "head", "verify"],
)
def test_a_lost_tail_is_noticed_at_the_next_request(store: bb.Store, use: Callable[[bb.Campaign], object]) -> None:
    busy(store)
    ads, _ = go_back(store, lambda ads: ads.ask(key="seen"))
    for _ in range(2):  # and not only once
        with pytest.raises(HistoryLost):
            use(ads)


def test_so_is_one_that_others_have_written_on(store: bb.Store, url: str) -> None:
    busy(store)
    ads, head = go_back(store, lambda ads: ads.ask(key="seen"))
    with bb.open_store(url) as again:
        other = again.open("ads")
        other.ask(key="somebody else's")
        for use in (ads.ask, lambda: ads.money, lambda: ads.arms):
            with pytest.raises(HistoryLost, match="an older copy was restored, or a failover lost the end"):
                use()
        other.ask(key="and one more")
        with pytest.raises(HistoryLost, match="Restore a newer copy; or open the store again, and go on from what is"):
            ads.ask()
        with pytest.raises(HistoryLost, match=f"never had the head {head}"):
            other.verify(head)
        assert other.verify().entries == 10


def test_whoever_opens_it_anew_goes_on_from_what_is_there(store: bb.Store, url: str) -> None:
    busy(store)
    go_back(store, lambda ads: ads.ask(n=2))
    with bb.open_store(url) as again:
        assert again.open("ads").ask()
        assert again.open("ads").verify().entries == 9


def test_a_campaign_that_is_gone(store: bb.Store) -> None:
    ads = busy(store)
    execute(store, "DELETE FROM entries", "DELETE FROM campaigns")
    with pytest.raises(HistoryLost, match="the store no longer has this campaign"):
        ads.ask()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entries SET reward = 0.7 WHERE number = 8",  # the last one, and as possible as the true one
        "UPDATE entries SET time = time + 1 WHERE number = 8",
        "UPDATE entries SET key = 'another' WHERE number = 7",
        "UPDATE entries SET actor = 'mallory' WHERE number = 7",
        "UPDATE entries SET actor = 'mallory' WHERE number = 8",
        "UPDATE entries SET actor = NULL WHERE number = 6",
        "UPDATE campaigns SET created = created + 1",
        "UPDATE campaigns SET adopted = 8",
        "UPDATE campaigns SET settings = REPLACE(settings, '\"decimal_places\": 2', '\"decimal_places\": 1')",
        "UPDATE campaigns SET settings = REPLACE(settings, '[0.0, 1.0]', '[0.0, 2.0]')",
        'UPDATE campaigns SET settings = REPLACE(settings, \'expire": "charge"\', \'expire": "release"\')',
    ],
)
def test_what_was_changed_into_something_possible(store: bb.Store, url: str, change: str, tmp_path: Path) -> None:
    ads = busy(store)
    before = list(ads.journal()), store.backend.find("ads")
    execute(store, change)
    assert (list(ads.journal()), store.backend.find("ads")) != before
    with bb.open_store(url, read_only=True) as again:
        ads = again.open("ads")
        for use in (ads.verify, lambda: ads.arms):
            with pytest.raises(JournalDamaged, match="does not add up: the campaign"):
                use()
        with pytest.raises(JournalDamaged, match="is not the one that was written"):
            export(ads, tmp_path / "history.csv")
        assert not list(tmp_path.glob("history*"))
        assert len(list(ads.history(limit=8))) == 8  # to look into it


def test_the_history_is_not_whole_without_its_end(store: bb.Store) -> None:
    ads = busy(store)
    assert len(list(ads.history())) == 8
    execute(store, "DELETE FROM entries WHERE number = 8")
    with pytest.raises(JournalDamaged, match="is not the one that was written"):
        list(ads.history())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"names": []}, "damaged"),
        ({"names": ["a", "b"]}, "no costs"),
        ({"names": ["a", "b", "a"]}, "'a' is given 2 times"),
        ({"names": ["a", "b", 1.5]}, "a name must be text or a whole number"),
        ({"prices": [10, 25]}, "no costs"),
        ({"prices": [0, 25, 100]}, "costs nothing"),
        ({"prices": [10, 25, -100]}, "a price is -100"),
        ({"least": [11, 25, 100]}, "no costs"),
        ({"decimal_places": 2.0}, "decimal places"),
        ({"reward_range": [0]}, "reward_range is"),
        ({"reward_range": [1, 0]}, "reward_range is"),
        ({"lease": 0}, "the lease is"),
        ({"on_expire": "forget"}, "on_expire cannot be"),
        ({"limitz": [1, 2, 3]}, "limitz cannot be"),
        ({"version": 3}, "version cannot be"),
        ({"limits": [None, None, None]}, "limits cannot be"),
    ],
)
def test_settings_are_validated_when_they_are_read(changed: dict[str, Any], message: str) -> None:
    data = json.loads(new_settings().to_json())
    with pytest.raises(InvalidState, match=message):
        CampaignSettings.from_json(json.dumps(data | changed))


def test_no_flipped_bit_does_harm_unnoticed(tmp_path: Path) -> None:
    outcomes = bit_flips.flip(tmp_path, seed=7, count=60)
    for file, counts in outcomes.items():
        assert all(outcome == "harmless" or outcome.startswith("noticed") for outcome in counts), (file, counts)
    assert outcomes["a.db-wal.live"]["noticed: HistoryLost"] > 30


def test_it_is_the_chain_that_notices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("backend.origin", "store.origin", "fold.linked"):
        monkeypatch.setattr(f"budgetbandits.campaigns.{place}", lambda *_: "")
    shown = bit_flips.busy_store(tmp_path)
    written = b'"decimal_places": '
    place_of_digit = 8 * ((tmp_path / "a.db").read_bytes().index(written) + len(written))
    assert bit_flips.outcome_of_flip(tmp_path, shown, "a.db", place_of_digit, with_heads=False) == "harm unnoticed"


def test_a_look_while_others_commit_finds_nothing_lost(
    store: bb.Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ads = busy(store)
    find = store.backend.find
    with bb.open_store(url) as another:

        def find_and_wait(name: str) -> Any:
            record = find(name)
            monkeypatch.undo()
            another.open("ads").ask()  # after the totals were read, and before anything is made of them
            return record

        monkeypatch.setattr(store.backend, "find", find_and_wait)
        assert ads.money.reserved == 0
        assert ads.money.reserved > 0


def test_verify_lets_the_policy_choose_again(store: bb.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ads = new_campaign(store)
    with monkeypatch.context() as somebody:
        somebody.setattr(Player, "choose", lambda player: 1)
        ads.ask()
    assert ads.money.reserved == Decimal("0.25")
    with pytest.raises(JournalDamaged, match="asks for arm number 1, where the policy had to choose arm 'a'"):
        ads.verify()


@pytest.mark.parametrize("arm", [3, 99, -1])
def test_the_history_ends_where_it_is_damaged(store: bb.Store, arm: int) -> None:
    ads = busy(store)
    execute(store, f"UPDATE entries SET arm = {arm} WHERE number = 3")
    rows = ads.history()
    assert [next(rows).number, next(rows).number] == [1, 2]
    with pytest.raises(JournalDamaged, match=f"entry 3 of the journal is about arm number {arm}, which there is not"):
        next(rows)
