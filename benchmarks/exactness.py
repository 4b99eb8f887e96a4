"""Whether the GPU plays as the CPU does, run by run. Needs one, and the extra [cuda].

``python -m benchmarks.exactness`` compares everything in a few minutes: to compile takes longer than to play, so each
policy and kind of run has a process of its own, and as many are at work as there are cores. What is not done in time
is said to be missing. ``python -m benchmarks.exactness --players warp`` compares only what a warp plays.
"""

import argparse
import contextlib
import json
import logging
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

import numpy as np

import budgetbandits as bb
from budgetbandits.simulation.plan import Plan

LITERAL = 1 / 40
RUNS = 600  # of each policy, problem and budget
MINUTES = 7.0
SPARE = 2  # cores that play nothing
WARP = "warp"
PLAYERS = ("resources", "requests", "money", WARP)  # who plays what; but for a warp, threads alone. The slowest first
ALONE = ("recommended", "kube", "KL-UCB, DensityGreedy, clip", "fractional_kube", "ucb1", "thompson")
"""Policies that are compared where threads play alone, too: to compile each takes one to three minutes."""


class Case(NamedTuple):
    """What runs are played on."""

    source: bb.Problem | bb.families.Family
    budget: Any
    requests: int | None = None
    skip: bool = False


def cases() -> dict[str, Case]:
    """Return problems of every law and kind, with budgets; some of them have ties all the time."""
    rng = np.random.default_rng(5)
    values = [rng.normal(0.5, 0.2, 7).clip(0, 1).round(2).tolist() for _ in range(6)]
    bernoulli = [bb.Bernoulli(p) for p in (0.3, 0.6, 0.6, 0.8, 0.3)]
    limited = bb.Problem([1, 2, 2, 3, 1], bernoulli, limits=[90, 1, 30, 60, 7])
    random_costs = bb.families.RandomCostFamily(arms=10)
    resources = bb.Problem([{"usd": usd, "s": s} for usd, s in ((1, 3), (2, 1), (2, 2), (3, 1), (1, 2))], bernoulli)
    random_resources = bb.Problem(
        [{"usd": bb.Uniform(0.5, 2), "s": 3}, {"usd": 2, "s": bb.Empirical([1, 2])}, {"usd": 1, "s": 1.5}],
        [bb.Uniform(0, 1), bb.Beta(9, 2), bb.Bernoulli(0.4)],
    )
    return {
        "Gaussian, K = 100": Case(bb.paper_family("moderate", arms=100), 1000),
        "Gaussian, K = 10": Case(bb.paper_family("extreme", arms=10), 3000),
        "Bernoulli with ties": Case(bb.Problem([1, 2, 2, 3, 1], bernoulli), 500),
        "ties on paper": Case(bb.Problem([1, 2, 2, 3], [bb.Bernoulli(p) for p in (0.2, 0.5, 0.5, 0.8)]), 60),
        "uniform": Case(bb.Problem([0.7, 1.3, 2.1, 0.4], [bb.Uniform(a, a + 0.5) for a in (0.1, 0.3, 0.5, 0.0)]), 300),
        "Beta": Case(bb.Problem(["0.5", "1.25", "2"], [bb.Beta(2, 6), bb.Beta(3, 3), bb.Beta(9, 2)]), 200),
        "empirical": Case(bb.Problem([1, 2, 3, 1.5, 2.5, 0.5], [bb.Empirical(each) for each in values]), 400),
        "all laws": Case(bb.sensor_problem(), 2000),
        "limits": Case(limited, 500),
        "random costs": Case(random_costs, 100),
        "random costs, Beta": Case(bb.families.RandomCostFamily(arms=3, concentration=4.0), 60),
        "random costs and limits": Case(
            bb.Problem(
                [bb.Uniform(0.5, 2), bb.Empirical([0.5, 1, 2.5]), 2, bb.Empirical([0.1, 0.7])],
                [bb.Uniform(0, 1), bb.Bernoulli(0.5), bb.Bernoulli(0.8), bb.Uniform(0.1, 0.3)],
                limits=[90, None, 33, 200],
            ),
            300,
        ),
        "rewards that change": Case(
            bb.Problem(
                [1, 2, 2, 3],
                [
                    bb.laws.Switching([(1, bb.Bernoulli(0.2)), (80, bb.Beta(5, 2))]),
                    bb.laws.Drifting(bb.Bernoulli(0.8), bb.Bernoulli(0.1), 20, 150),
                    bb.laws.Seasonal(bb.Uniform(0, 0.4), bb.Uniform(0.6, 1), 50, 3),
                    bb.Bernoulli(0.6),
                ],
            ),
            300,
        ),
        "requests": Case(bb.paper_family("moderate", arms=10), 1500, requests=300),
        "requests with ties": Case(bb.Problem([1, 2, 2, 3, 1], bernoulli), 400, requests=200),
        "requests that may be declined": Case(random_costs, 60, requests=200, skip=True),
        "requests and limits": Case(limited, 300, requests=150),
        "requests, random costs, too little": Case(random_costs, 40, requests=200),
        "two resources": Case(resources, {"usd": 200, "s": 150}),
        "two resources, requests": Case(resources, {"usd": 250, "s": 250}, requests=130),
        "two resources, too little": Case(resources, {"usd": 90, "s": 90}, requests=130),
        "two resources, random costs": Case(random_resources, {"usd": 100, "s": 150}, requests=80),
    }


def policies() -> dict[str, bb.Policy]:
    """Return all registered policies, with their usual parameters, and some variants."""
    return {name: definition.example() for name, definition in bb.policies.POLICIES.items()} | {
        "kube(1/40)": bb.kube(LITERAL),
        "fractional_kube(1/40)": bb.fractional_kube(LITERAL),
        "fractional_kube(0.3)": bb.fractional_kube(0.3),
        "Mean, DensityGreedy": bb.IndexPolicy(bb.indices.Mean(), bb.oracles.DensityGreedy()),
        "KL-UCB, DensityGreedy, clip": bb.IndexPolicy(
            bb.indices.KLUCB(), bb.oracles.DensityGreedy(), clip=True, lazy=True
        ),
    }


class Compared(NamedTuple):
    """Runs of a policy on one problem on both: what differed, and why the GPU has not played it, if it has not."""

    problem: str
    runs: int
    other_pulls: int
    other_sums: int
    largest_gap: float
    obstacle: str = ""


def player_of(policy: bb.Policy, case: Case) -> str:
    """Return what plays a case: each has a kernel of its own."""
    from budgetbandits.simulation.engine.cuda import is_for_a_warp

    tables = plan_of(case.source, 1).tables(0)
    if is_for_a_warp(policy, [tables], case.requests is not None):
        return WARP
    if len(tables.costs) > 1:
        return "resources"
    return "money" if case.requests is None else "requests"


def plan_of(source: bb.Problem | bb.families.Family, runs: int) -> Plan:
    return Plan(source, (), (), range(runs), 1, False, 0, False)


def compare(policy: bb.Policy, problem: str, case: Case, runs: int, engine: str | None) -> Compared:
    """Play a policy on the GPU and on one core of the CPU."""
    with obstacles() as in_the_way:
        ours, theirs = (
            bb.simulate(
                case.source,
                policy,
                case.budget,
                requests=case.requests,
                skip=case.skip,
                runs=runs,
                seed=11,
                workers=1,
                engine=each,
                arm_pulls=True,
                progress=False,
                exact_optimum=False,
            )
            for each in (engine, None)
        )
    if in_the_way:
        return Compared(problem, 0, 0, 0, 0.0, in_the_way[0])
    is_other = np.any(ours["arm_pulls"] != theirs["arm_pulls"], axis=1)
    spent = ["spent", *(f"spent_{name}" for name in case.budget)] if isinstance(case.budget, dict) else ["spent"]
    sums, expected = (
        np.stack([runs[column] for column in ("reward", *spent)])[:, ~is_other] for runs in (ours, theirs)
    )
    gap = float(np.max(np.abs(sums - expected) / np.abs(expected).clip(1e-300), initial=0.0))
    other_sums = int(np.any(sums != expected, axis=0).sum())
    return Compared(problem, len(ours), int(is_other.sum()), other_sums, gap)


@contextlib.contextmanager
def obstacles() -> Iterator[list[str]]:
    """Hear that the cores play what the GPU does not: that would be no comparison."""
    from budgetbandits.simulation import on_gpu

    heard: list[str] = []
    handler = logging.Handler()
    vars(handler)["emit"] = lambda record: heard.extend(record.getMessage().split("not on the GPU: ")[1:])
    log = logging.getLogger("budgetbandits")
    log.addHandler(handler)
    on_gpu._say.cache_clear()  # it is said once for each policy, not for each problem
    try:
        yield heard
    finally:
        log.removeHandler(handler)


def compare_all(name: str, player: str, runs: int, engine: str | None) -> None:
    """Compare a policy wherever such a player plays it, and print a line of JSON after each problem."""
    policy = policies()[name]
    for problem, case in cases().items():
        if player_of(policy, case) == player:
            print(json.dumps(compare(policy, problem, case, runs, engine)), flush=True)


def compared_apart(name: str, player: str, runs: int, engine: str | None, until: float) -> tuple[list[Compared], str]:
    """Let another process do that until a moment; return what it has compared by then, and how it ended otherwise."""
    command = [sys.executable, "-m", "benchmarks.exactness", "--one", name, player, "--runs", str(runs)]
    command += ["--engine", engine or "cpu"]
    try:
        left = until - time.monotonic()
        if left <= 0.0:
            return [], "no time left"
        ended = subprocess.run(command, capture_output=True, timeout=left, check=False)
        lines, errors = ended.stdout, ended.stderr.decode().strip().splitlines()
        end = "" if ended.returncode == 0 else f"ended with {ended.returncode}: {''.join(errors[-1:])}"
    except subprocess.TimeoutExpired as stopped:
        lines, end = stopped.stdout or b"", "stopped: no time left"
    # The last line may be half written.
    return [Compared(*json.loads(line)) for line in lines.decode().splitlines() if line.endswith("]")], end


def exactness(
    players: Sequence[str] = PLAYERS, runs: int = RUNS, minutes: float = MINUTES, engine: str | None = "cuda"
) -> None:
    """Compare all policies, and print a table."""
    print(f"\nThe GPU against the CPU: {runs} runs of each policy on {', '.join(cases())}")
    print(f"{'policy':28} {'by':10} {COLUMNS} {'seconds':>8}", flush=True)
    begin = time.monotonic()
    everything: list[Compared] = []
    are_missing = False
    with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)) - SPARE)) as pool:
        tasks = {
            pool.submit(compared_apart, *task, runs, engine, begin + 60 * minutes): task for task in tasks_of(players)
        }
        for task in as_completed(tasks):
            compared, end = task.result()
            everything += compared
            are_missing = are_missing or end != "" or any(each.obstacle for each in compared)
            print(
                line_of(*tasks[task], compared), f"{time.monotonic() - begin:8.0f}  {where(compared)} {end}", flush=True
            )
    print(line_of("in all", "", everything), "", "something is missing" if are_missing else "", flush=True)


def tasks_of(players: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Return which policies are compared, where which of the players play them."""
    every, problems = policies(), cases().values()
    for player in players:
        names = every if player == WARP else ALONE
        yield from (
            (name, player) for name in names if any(player_of(every[name], case) == player for case in problems)
        )


COLUMNS = f"{'runs':>7} {'other pulls':>12} {'other sums':>11} {'largest gap':>12}"


def line_of(name: str, player: str, compared: Sequence[Compared]) -> str:
    counts = [sum(column) for column in zip(*(each[1:4] for each in compared), strict=True)] or [0, 0, 0]
    gap = max((each.largest_gap for each in compared), default=math.nan)
    return f"{name:28} {player:10} {counts[0]:7} {counts[1]:12} {counts[2]:11} {gap:12.1e}"


def where(compared: Sequence[Compared]) -> str:
    """Return on which problems something differed, or was not played."""
    pulls = [f"{each.problem} (pulls)" for each in compared if each.other_pulls]
    sums = [each.problem for each in compared if each.other_sums]
    return ", ".join([*pulls, *sums, *(f"{each.problem}: {each.obstacle}" for each in compared if each.obstacle)])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exactness", description=__doc__)
    parser.add_argument("--players", nargs="+", choices=PLAYERS, default=PLAYERS)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--engine", choices=["cuda", "cpu"], default="cuda", help="cpu: try out the comparison itself")
    parser.add_argument("--one", nargs=2, metavar=("POLICY", "PLAYER"), help="compare one policy, and print JSON")
    options = parser.parse_args()
    engine = None if options.engine == "cpu" else options.engine
    if options.one:
        name, player = options.one
        compare_all(name, player, options.runs, engine)
    else:
        exactness(options.players, options.runs, options.minutes, engine)


if __name__ == "__main__":
    main()
