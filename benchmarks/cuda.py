"""The GPU: whether it plays as the CPU does, and how fast. Needs one, and the extra [cuda]."""

import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import budgetbandits as bb
from budgetbandits.core.optional import is_installed
from budgetbandits.simulation.plan import Plan

if TYPE_CHECKING:
    from budgetbandits.simulation.engine.cuda import Launch
    from budgetbandits.simulation.on_gpu import Stake

LITERAL = 1 / 40
RUNS = 1200  # of each policy, problem and budget
BATCH = 16_384
WARP = "warp"
PLAYERS = (WARP, "money", "requests", "resources")  # who plays what; but for a warp, threads alone
ALONE = ("kube", "fractional_kube", "recommended", "thompson", "ucb1", "KL-UCB, DensityGreedy, clip")
"""Policies that are compared where threads play alone, too: to compile each takes up to a minute."""


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
        "Mean, DensityGreedy": bb.IndexPolicy(bb.indices.Mean(), bb.oracles.DensityGreedy()),
        "KL-UCB, DensityGreedy, clip": bb.IndexPolicy(
            bb.indices.KLUCB(), bb.oracles.DensityGreedy(), clip=True, lazy=True
        ),
    }


class Compared(NamedTuple):
    """Runs of one policy on both, and on which problems a sum of rewards or costs is another one."""

    policy: str
    player: str
    runs: int
    other_pulls: int
    other_sums: int
    largest_gap: float
    seconds: float
    where: str


def player_of(policy: bb.Policy, case: Case) -> str:
    """Return what plays a case: each has a kernel of its own."""
    from budgetbandits.simulation.engine.cuda import is_for_a_warp

    tables = plan_of_family(case.source, 1).tables(0)
    if is_for_a_warp(policy, [tables], case.requests is not None):
        return WARP
    if len(tables.costs) > 1:
        return "resources"
    return "money" if case.requests is None else "requests"


def compare(name: str, player: str, policy: bb.Policy, runs: int) -> Compared:
    """Play a policy on the GPU and on one core of the CPU."""
    begin = time.perf_counter()
    played, other_pulls, other_sums, gap = 0, 0, 0, 0.0
    where = []
    for problem, case in cases().items():
        if player_of(policy, case) != player:
            continue
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
                engine=engine,
                arm_pulls=True,
                progress=False,
                exact_optimum=False,
            )
            for engine in ("cuda", None)
        )
        is_other = np.any(ours["arm_pulls"] != theirs["arm_pulls"], axis=1)
        spent = ["spent", *(f"spent_{name}" for name in case.budget)] if isinstance(case.budget, dict) else ["spent"]
        sums, expected = (
            np.stack([runs[column] for column in ("reward", *spent)])[:, ~is_other] for runs in (ours, theirs)
        )
        played += len(ours)
        other_pulls += int(is_other.sum())
        other_sums += int(np.any(sums != expected, axis=0).sum())
        where += [f"{problem} (pulls)"] if np.any(is_other) else []
        where += [problem] if np.any(sums != expected) else []
        gap = max(gap, float(np.max(np.abs(sums - expected) / np.abs(expected).clip(1e-300), initial=0.0)))
    return Compared(name, player, played, other_pulls, other_sums, gap, time.perf_counter() - begin, ", ".join(where))


def exactness(runs: int = RUNS, players: Sequence[str] = PLAYERS) -> None:
    """Compare all policies, each in a process of its own: to compile them takes longer than to play."""
    print(f"\nThe GPU against the CPU: {runs} runs of each policy on {', '.join(cases())}")
    names = f"{'runs':>7} {'other pulls':>12} {'other sums':>11} {'largest gap':>12} {'seconds':>8}"
    print(f"{'policy':28} {'by':10} {names}", flush=True)
    total = other = 0
    cores = len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(cores, multiprocessing.get_context("spawn")) as pool:
        chosen = [
            (name, player, policy)
            for player in players
            for name, policy in policies().items()
            if (player == WARP or name in ALONE) and any(player_of(policy, case) == player for case in cases().values())
        ]
        tasks = {pool.submit(compare, *each, runs): each for each in chosen}
        for task in as_completed(tasks):
            name, player, _ = tasks[task]
            if task.exception() is not None:
                print(f"{name:28} {player:10} {task.exception()!r}", flush=True)
                continue
            of = task.result()
            total, other = total + of.runs, other + of.other_pulls
            figures = f"{of.runs:7} {of.other_pulls:12} {of.other_sums:11} {of.largest_gap:12.1e} {of.seconds:8.1f}"
            print(f"{name:28} {player:10} {figures}  {of.where}", flush=True)
    print(f"{'in all':39} {total:7} {other:12}", flush=True)


def speed() -> None:
    """Print pulls a second in the kernel alone, and how long 10,000 runs take from call to result."""
    print("\nPulls a second of the kernel alone, K = 100, moderate family")
    family = bb.paper_family("moderate", arms=100)
    named = {
        "recommended": bb.recommended(),
        "fractional_kube(1/40)": bb.fractional_kube(LITERAL),
        "kube(1/40)": bb.kube(LITERAL),
        "fractional_kube(1)": bb.fractional_kube(),
        "kube(1)": bb.kube(),
    }
    for budget in (1e5, 1e4):
        stake = stake_of(Case(family, budget), BATCH)
        for name, policy in named.items():
            print(f"{name:24} B = {budget:6.0e}  {kernel_speed(policy, stake)}", flush=True)
    for what, source in (("limits", limited_arms()), ("random costs", bb.families.RandomCostFamily(arms=100))):
        stake = stake_of(Case(source, 1e4), 2048)
        for name in ("recommended", "fractional_kube(1/40)"):
            print(f"{name:24} B =  1e+04  {kernel_speed(named[name], stake)}, {what}", flush=True)
    for budget in (1e5, 1e4, 1e5, 1e4):
        begin = time.perf_counter()
        bb.simulate(family, bb.recommended(), budget, runs=10_000, seed=1, engine="cuda", exact_optimum=False)
        print(
            f"10,000 runs of recommended(), B = {budget:.0e}, call to result: {time.perf_counter() - begin:.2f} s",
            flush=True,
        )


def limited_arms() -> bb.Problem:
    return bb.Problem(
        [1 + i % 9 for i in range(100)],
        [bb.Bernoulli(0.1 + 0.008 * i) for i in range(100)],
        limits=[500] * 100,
    )


def speed_alone() -> None:
    """Print the same of threads that play alone."""
    print("\nPulls a second where each thread plays a run alone")
    ten, hundred = (
        bb.Problem([1 + i % 9 for i in range(k)], [bb.Bernoulli(0.1 + 0.8 * i / k) for i in range(k)])
        for k in (10, 100)
    )
    charged = bb.Problem(
        [bb.Uniform(0.5, 1 + i % 9) for i in range(100)], [bb.Bernoulli(0.1 + 0.008 * i) for i in range(100)]
    )
    resources = bb.Problem(
        [{"usd": 1 + i % 9, "s": 1 + i % 4} for i in range(10)], [bb.Bernoulli(0.1 + 0.08 * i) for i in range(10)]
    )
    for name, policy, what, case in (
        ("kube", bb.kube(), "limits, K = 100", Case(limited_arms(), 2000)),
        ("kube", bb.kube(), "random costs, K = 100", Case(charged, 2000)),
        ("kube", bb.kube(), "requests, K = 10", Case(ten, 3000, requests=1000)),
        ("kube", bb.kube(), "requests, K = 100", Case(hundred, 3000, requests=1000)),
        ("recommended", bb.recommended(), "requests, K = 10", Case(ten, 3000, requests=1000)),
        ("recommended", bb.recommended(), "requests, K = 100", Case(hundred, 3000, requests=1000)),
        ("fractional_kube", bb.fractional_kube(), "two resources, K = 10", Case(resources, 2000, requests=1000)),
        ("recommended", bb.recommended(), "two resources, K = 10", Case(resources, 2000, requests=1000)),
        ("thompson", bb.thompson(), "K = 10", Case(ten, 2000)),
    ):
        print(f"{name:16} {what:22} {kernel_speed(policy, stake_of(case, 4 * BATCH))}", flush=True)


def stake_of(case: Case, runs: int) -> "Stake":
    from budgetbandits.simulation.on_gpu import Stake

    plan = plan_of_family(case.source, runs)
    return Stake(replace(plan, skip=case.skip), plan.runs, plan.tables_of(plan.runs), False, case.budget, case.requests)


def plan_of_family(family: bb.Problem | bb.families.Family, runs: int) -> Plan:
    return Plan(family, (), (), range(runs), 1, False, 0, False)


def launch_of(policy: bb.Policy, stake: "Stake") -> "Launch[Any]":
    from budgetbandits.simulation.engine.cuda import (
        bytes_of_stack,
        is_for_a_warp,
        kernel_of,
        launch_alone,
        launch_of_warps,
    )
    from budgetbandits.simulation.engine.dispatch import parts_of

    if is_for_a_warp(policy, stake.tables, stake.requests is not None):
        return launch_of_warps(kernel_of(policy, stake.batch), stake.batch)
    deciding, memory = parts_of(policy)
    assert stake.worlds is not None
    return launch_alone(deciding, memory, stake.worlds, bytes_of_stack(stake.worlds, memory, policy.grid()))


def kernel_speed(policy: bb.Policy, stake: "Stake") -> str:
    begin = time.perf_counter()
    launch = launch_of(policy, stake)
    launch.play()
    first = time.perf_counter() - begin
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        launch.play()
        seconds.append(time.perf_counter() - begin)
    pulls = int(launch.results().pulls.sum())
    speed = f"{pulls / min(seconds):10.3g} pulls/s  {min(seconds):7.3f} s"
    return f"{speed} for a batch of {len(stake.runs)}, the first time {first:5.1f} s"


def cuda() -> None:
    """Print both, or one line where there is no GPU."""
    if not is_installed("numba_cuda"):
        print("\nnumba-cuda is not installed: pip install 'budgetbandits[cuda]'")
        return
    from budgetbandits.simulation.engine.cuda import check_gpu, gpu_name

    try:
        check_gpu()
    except bb.errors.InvalidInput as error:
        print(f"\n{error}")
        return
    print(f"\n{gpu_name()}")
    speed()
    speed_alone()
    exactness()


if __name__ == "__main__":  # speed, or who plays: see `PLAYERS`
    if "speed" in sys.argv:
        speed_alone()
    else:
        exactness(players=sys.argv[1:] or PLAYERS)
