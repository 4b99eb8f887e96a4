"""The GPU: how fast it plays, and whether as the CPU does. Needs one, and the extra [cuda].

``python -m benchmarks cuda`` prints all of it; ``python -m benchmarks.cuda`` how fast threads play alone.
"""

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import budgetbandits as bb
from benchmarks.exactness import LITERAL, Case, exactness, plan_of
from budgetbandits.core.optional import is_installed

if TYPE_CHECKING:
    from budgetbandits.simulation.engine.cuda import Launch
    from budgetbandits.simulation.on_gpu import Stake

FEW = 2048  # runs of those that take long


def speed() -> None:
    """Print pulls a second in the kernel alone, and how long 10,000 runs take from call to result."""
    from budgetbandits.simulation.on_gpu import LARGEST

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
        stake = stake_of(Case(family, budget), LARGEST)
        for name, policy in named.items():
            print(f"{name:24} B = {budget:6.0e}  {kernel_speed(policy, stake)}", flush=True)
    for what, source in (("limits", limited_arms()), ("random costs", bb.families.RandomCostFamily(arms=100))):
        stake = stake_of(Case(source, 1e4), FEW)
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
    from budgetbandits.simulation.on_gpu import LARGEST

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
        print(f"{name:16} {what:22} {kernel_speed(policy, stake_of(case, LARGEST))}", flush=True)


def stake_of(case: Case, runs: int) -> "Stake":
    from budgetbandits.simulation.on_gpu import Stake

    plan = plan_of(case.source, runs)
    return Stake(replace(plan, skip=case.skip), plan.runs, plan.tables_of(plan.runs), case.budget, case.requests)


def launch_of(policy: bb.Policy, stake: "Stake") -> "Launch[Any]":
    from budgetbandits.simulation.engine.cuda import (
        bytes_of_stack,
        is_for_a_warp,
        kernel_of,
        launch_alone,
        launch_of_warps,
        most_pulls_of_worlds,
        with_host_clock,
    )
    from budgetbandits.simulation.engine.dispatch import parts_of

    if is_for_a_warp(policy, stake.kinds, stake.requests is not None):
        return launch_of_warps(kernel_of(policy, stake.batch), stake.batch)
    deciding, memory = parts_of(policy)
    assert stake.worlds is not None
    timed = with_host_clock(deciding, most_pulls_of_worlds(stake.worlds))
    notes = policy.note_count(stake.worlds.prices.shape[1])
    return launch_alone(timed, memory, stake.worlds, bytes_of_stack(stake.worlds, memory, policy.grid(), notes))


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


if __name__ == "__main__":
    speed_alone()
