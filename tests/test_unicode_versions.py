"""A text that a newer Python has written is neither damage nor refused, although this one's Unicode tables lack it."""

from pathlib import Path

import pytest

import budgetbandits as bb
from budgetbandits.campaigns.store import Store
from budgetbandits.errors import InvalidInput
from budgetbandits.testing import new_campaign

UNASSIGNED = "\u0378"  # in every version so far: stands for a character of the next one
UNPRINTABLE = "\u200b"


def use(store: Store, text: str, name: str) -> str:
    """Write a text into every field of a journal that takes one; return the head."""
    ads = new_campaign(store, name, costs={text: {text: 1}, "b": {text: 2}}, budget={text: 100}).acting_as(text)
    pull = ads.ask(key=text)
    assert pull
    ads.expire(pull)
    ads.adjust(pull, {text: 0}, reason=text)
    ads.deposit({text: 1}, key=f"{text} deposit", reason=text)
    ads.observe([("b", 0.5)], key=f"{text} observed")
    ads.add_arm(f"{text} d", {text: 1})
    assert ads.ask(key=text) == pull
    return ads.head


def test_characters_that_are_newer_than_this_python_can_be_used(url: str) -> None:
    with bb.open_store(url) as store:
        head = use(store, UNASSIGNED, UNASSIGNED)
    with bb.open_store(url) as store:
        assert store.open(UNASSIGNED).verify(head).entries == 6


def test_a_journal_is_read_whatever_this_python_takes_for_printable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    with bb.open_store(url) as store, monkeypatch.context() as another_python:
        for module in ("checks", "resources"):
            another_python.setattr(f"budgetbandits.core.{module}.is_printable", lambda _: True)
        head = use(store, UNPRINTABLE, "ads")
    with bb.open_store(url) as store:
        ads = store.open("ads")
        assert ads.verify(head).entries == 6
        assert next(ads.history()).actor == UNPRINTABLE
        with pytest.raises(InvalidInput, match=r"key is '\\u200b': give a printable text"):
            ads.ask(key=UNPRINTABLE)
