"""Learners and campaigns are asked and told in one way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.testing import AskTellContract


class TestLearner(AskTellContract):
    def start(self, policy: bb.Policy, costs: Any, budget: Any, **further: Any) -> bb.AskTell:
        return bb.Learner(policy, costs, budget, (0, 1), 7, **further)

    def test_it_shows_its_requests(self) -> None:
        arms = self.start(bb.kube(), {"a": 1, "b": 2}, 10, requests=5, skip=True)
        arms.ask(arm=bb.SKIP)
        assert "2 arms, 1 pulls of 5, 0 spent and 0 reserved of 10" in repr(arms)


class TestRestoredLearner(TestLearner):
    """The same, but a copy takes over at the beginning of each call."""

    def start(self, policy: bb.Policy, costs: Any, budget: Any, **further: Any) -> bb.AskTell:
        return Relay(bb.Learner(policy, costs, budget, (0, 1), 7, **further))


class TestCampaign(AskTellContract):
    store: bb.Store

    @pytest.fixture(autouse=True)
    def _store(self, tmp_path: Path) -> Iterator[None]:
        with bb.open_store(f"sqlite:///{tmp_path}/a.db") as self.store:
            yield

    def start(self, policy: bb.Policy, costs: Any, budget: Any, **further: Any) -> bb.AskTell:
        name = f"campaign {len(self.store.list())}"
        return self.store.create(
            name, policy=policy, costs=costs, budget=budget, reward_range=(0, 1), seed=7, **further
        )

    def test_what_a_client_directed_is_verified_too(self) -> None:
        arms = self.start(bb.kube(), {"a": 1, "b": 2}, 10)
        assert isinstance(arms, bb.Campaign)
        for pull in (arms.ask(arm="b"), arms.ask(), arms.ask(arm="b", key="k")):
            assert pull
            arms.tell(pull, 0.5)
        assert [row.kind for row in arms.history()] == ["directed", "asked", "directed", "told", "told", "told"]
        assert arms.verify().spent == 5

    def test_it_shows_its_requests(self) -> None:
        arms = self.start(bb.kube(), {"a": 1, "b": 2}, 10, requests=5)
        assert repr(arms).endswith("2 arms, a budget of 10 for 5 requests>")

    def test_a_journal_of_declined_requests_is_verified_too(self) -> None:
        arms = self.start(bb.kube(), {"a": 1, "b": 2}, 3, requests=7, skip=True)
        assert isinstance(arms, bb.Campaign)
        directed, *others = [*arms.ask(arm=bb.SKIP, n=1), *arms.ask(n=9)]
        arms.cancel(others[0])
        for pull in [directed, *others[1:]]:
            arms.tell(pull, 0 if pull.arm == bb.SKIP else 0.5)
        assert next(arms.history()).arm == bb.SKIP
        assert arms.requests_left == 1
        arms.verify()


class Relay(bb.Learner):
    """A learner that is saved and restored before each ask and tell."""

    def __init__(self, learner: bb.Learner) -> None:
        self._set_up(learner._player)

    def _hand_over(self) -> None:
        self._set_up(bb.Learner.from_json(self.to_json())._player)

    def ask(self, **wishes: Any) -> Any:
        self._hand_over()
        return super().ask(**wishes)

    def tell(self, pull: bb.Pull | int, reward: float, cost: Any = None) -> None:
        self._hand_over()
        super().tell(pull, reward, cost)

    def cancel(self, pull: bb.Pull | int) -> None:
        self._hand_over()
        super().cancel(pull)
