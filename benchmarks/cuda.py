"""The GPU: whether it plays as the CPU does, and how fast. Needs one, and the extra [cuda]."""

import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import budgetbandits as bb
from budgetbandits.core.optional import is_installed
from budgetbandits.simulation.plan import Plan

if TYPE_CHECKING:
    from budgetbandits.simulation.engine.batch import Batch

LITERAL = 1 / 40
RUNS = 1200  # of each policy, problem and budget
BATCH = 16_384


def problems() -> dict[str, tuple[bb.Problem | bb.families.Family, list[float]]]:
    """Return problems of every law, with budgets; some of them have ties all the time."""
    rng = np.random.default_rng(5)
    values = [rng.normal(0.5, 0.2, 7).clip(0, 1).round(2).tolist() for _ in range(6)]
    return {
        "Gaussian, K = 100": (bb.paper_family("moderate", arms=100), [1000.0]),
        "Gaussian, K = 10": (bb.paper_family("extreme", arms=10), [3000.0]),
        "Bernoulli with ties": (
            bb.Problem([1, 2, 2, 3, 1], [bb.Bernoulli(p) for p in (0.3, 0.6, 0.6, 0.8, 0.3)]),
            [500.0],
        ),
        "uniform": (bb.Problem([0.7, 1.3, 2.1, 0.4], [bb.Uniform(a, a + 0.5) for a in (0.1, 0.3, 0.5, 0.0)]), [300.0]),
        "Beta": (bb.Problem(["0.5", "1.25", "2"], [bb.Beta(2, 6), bb.Beta(3, 3), bb.Beta(9, 2)]), [200.0]),
        "empirical": (bb.Problem([1, 2, 3, 1.5, 2.5, 0.5], [bb.Empirical(each) for each in values]), [400.0]),
        "all laws": (bb.sensor_problem(), [2000.0]),
        "limits": (
            bb.Problem(
                [1, 2, 2, 3, 1], [bb.Bernoulli(p) for p in (0.3, 0.6, 0.6, 0.8, 0.3)], limits=[90, 1, 30, 60, 7]
            ),
            [500.0],
        ),
        "random costs": (bb.families.RandomCostFamily(arms=10), [100.0]),
        "random costs, Beta": (bb.families.RandomCostFamily(arms=3, concentration=4.0), [60.0]),
        "random costs and limits": (
            bb.Problem(
                [bb.Uniform(0.5, 2), bb.Empirical([0.5, 1, 2.5]), 2, bb.Empirical([0.1, 0.7])],
                [bb.Uniform(0, 1), bb.Bernoulli(0.5), bb.Bernoulli(0.8), bb.Uniform(0.1, 0.3)],
                limits=[90, None, 33, 200],
            ),
            [300.0],
        ),
    }


def policies() -> dict[str, bb.Policy]:
    """Return all registered policies that a kernel plays, with their usual parameters, and some variants."""
    from budgetbandits.simulation.engine.cuda import obstacle_to

    named = {name: definition.example() for name, definition in bb.policies.POLICIES.items()} | {
        "kube(1/40)": bb.kube(LITERAL),
        "fractional_kube(1/40)": bb.fractional_kube(LITERAL),
        "Mean, DensityGreedy": bb.IndexPolicy(bb.indices.Mean(), bb.oracles.DensityGreedy()),
        "KL-UCB, DensityGreedy, clip": bb.IndexPolicy(
            bb.indices.KLUCB(), bb.oracles.DensityGreedy(), clip=True, lazy=True
        ),
    }
    return {name: policy for name, policy in named.items() if obstacle_to(policy, bb.sensor_problem().tables) is None}


class Compared(NamedTuple):
    """Runs of one policy on both, and on which problems a sum of rewards or costs is another one."""

    policy: str
    runs: int
    other_pulls: int
    other_sums: int
    largest_gap: float
    seconds: float
    where: str


def compare(name: str, policy: bb.Policy, runs: int) -> Compared:
    """Play a policy on the GPU and on one core of the CPU."""
    from budgetbandits.simulation.engine.cuda import obstacle_to

    begin = time.perf_counter()
    played, other_pulls, other_sums, gap = 0, 0, 0, 0.0
    where = []
    for problem, (source, budgets) in problems().items():
        if obstacle_to(policy, plan_of_family(source, 1).tables(0)) is not None:
            continue
        ours, theirs = (
            bb.simulate(
                source,
                policy,
                budgets,
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
        sums, expected = (np.stack([runs["reward"], runs["spent"]])[:, ~is_other] for runs in (ours, theirs))
        played += len(ours)
        other_pulls += int(is_other.sum())
        other_sums += int(np.any(sums != expected, axis=0).sum())
        where += [problem] if np.any(sums != expected) else []
        gap = max(gap, float(np.max(np.abs(sums - expected) / np.abs(expected).clip(1e-300), initial=0.0)))
    return Compared(name, played, other_pulls, other_sums, gap, time.perf_counter() - begin, ", ".join(where))


def exactness(runs: int = RUNS, without: Sequence[str] = ()) -> None:
    """Compare all policies, each in a process of its own: to compile them takes longer than to play."""
    print(f"\nThe GPU against the CPU: {runs} runs of each policy on {', '.join(problems())}")
    print(
        f"{'policy':34} {'runs':>8} {'other pulls':>12} {'other sums':>11} {'largest gap':>12} {'seconds':>8}",
        flush=True,
    )
    total = other = 0
    cores = len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(cores, multiprocessing.get_context("spawn")) as pool:
        chosen = {name: policy for name, policy in policies().items() if name not in without}
        tasks = {pool.submit(compare, name, policy, runs): name for name, policy in chosen.items()}
        for task in as_completed(tasks):
            if task.exception() is not None:
                print(f"{tasks[task]:34} {task.exception()!r}", flush=True)
                continue
            of = task.result()
            total, other = total + of.runs, other + of.other_pulls
            figures = f"{of.runs:8} {of.other_pulls:12} {of.other_sums:11} {of.largest_gap:12.1e} {of.seconds:8.1f}"
            print(f"{of.policy:34} {figures}  {of.where}", flush=True)
    print(f"{'in all':34} {total:8} {other:12}", flush=True)


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
        batch = batch_of_family(family, budget)
        for name, policy in named.items():
            print(f"{name:24} B = {budget:6.0e}  {kernel_speed(policy, batch)}", flush=True)
    limited = bb.Problem(
        [1 + i % 9 for i in range(100)],
        [bb.Bernoulli(0.1 + 0.008 * i) for i in range(100)],
        limits=[500] * 100,
    )
    for what, source in (("limits", limited), ("random costs", bb.families.RandomCostFamily(arms=100))):
        batch = batch_of_family(source, 1e4, 2048)
        for name in ("recommended", "fractional_kube(1/40)"):
            print(f"{name:24} B =  1e+04  {kernel_speed(named[name], batch)}, {what}", flush=True)
    for budget in (1e5, 1e4, 1e5, 1e4):
        begin = time.perf_counter()
        bb.simulate(family, bb.recommended(), budget, runs=10_000, seed=1, engine="cuda", exact_optimum=False)
        print(
            f"10,000 runs of recommended(), B = {budget:.0e}, call to result: {time.perf_counter() - begin:.2f} s",
            flush=True,
        )


def batch_of_family(family: bb.Problem | bb.families.Family, budget: float, runs: int = BATCH) -> "Batch":
    from budgetbandits.simulation.engine.batch import batch_of
    from budgetbandits.simulation.on_gpu import games_of

    plan = plan_of_family(family, runs)
    return batch_of(games_of(plan.tables_of(plan.runs), budget, False), np.zeros((runs, 0)), 1, 0)


def plan_of_family(family: bb.Problem | bb.families.Family, runs: int) -> Plan:
    return Plan(family, (), (), range(runs), 1, False, 0, False)


def kernel_speed(policy: bb.Policy, batch: "Batch") -> str:
    from budgetbandits.simulation.engine.cuda import Launch, kernel_of

    begin = time.perf_counter()
    launch = Launch(kernel_of(policy, batch), batch)
    launch.play()
    first = time.perf_counter() - begin
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        launch.play()
        seconds.append(time.perf_counter() - begin)
    pulls = int(launch.results().pulls.sum())
    speed = f"{pulls / min(seconds):10.3g} pulls/s  {min(seconds):7.3f} s"
    return f"{speed} for a batch of {len(batch.budgets)}, the first time {first:5.1f} s"


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
    exactness()


if __name__ == "__main__":
    exactness(without=sys.argv[1:])
