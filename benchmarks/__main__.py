"""Print how fast the package is: one core, warm, best of several, ratios of figures taken in this very run."""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from unittest import mock

import numpy as np

import budgetbandits as bb
from benchmarks.campaigns import campaigns, long_journal
from benchmarks.cuda import cuda
from benchmarks.numpy_policies import NumpyFractionalKube, NumpyKube
from budgetbandits.core.registry import Definition
from budgetbandits.simulation import this_machine
from budgetbandits.studies.leaderboard.suite import read_suite

LITERAL = 1 / 40
VARIANTS: dict[str, bb.Policy] = {
    "kube(1/40)": bb.kube(LITERAL),
    "fractional_kube(1/40)": bb.fractional_kube(LITERAL),
    "omega_ucb(lazy=True)": bb.policies.omega_ucb(lazy=True),
    "thompson(coin=True)": bb.thompson(coin=True),
    "fractional KUBE, clip and lazy": bb.IndexPolicy(bb.indices.UCB1(), bb.oracles.Fractional(), clip=True, lazy=True),
    "recommended, Window(1000)": bb.Forgetful(bb.recommended(), bb.memories.Window(1000)),
    "recommended, Discount(0.999)": bb.Forgetful(bb.recommended(), bb.memories.Discount(0.999)),
    "kube(1/40), Window(1000)": bb.Forgetful(bb.kube(LITERAL), bb.memories.Window(1000)),
    "Mean with DensityGreedy": bb.IndexPolicy(bb.indices.Mean(), bb.oracles.DensityGreedy()),
    "UCB1 with Exact (B = 1e3)": bb.IndexPolicy(bb.indices.UCB1(), bb.oracles.Exact()),
}
"""What is measured beside every policy with its usual parameters."""


def every_policy() -> dict[str, bb.Policy]:
    """Return all policies that are registered, with their usual parameters, and the variants."""
    return {call_text(definition): definition.example() for definition in bb.policies.POLICIES.values()} | VARIANTS


def call_text(definition: Definition[bb.Policy]) -> str:
    return f"{definition.name}({', '.join(f'{key}={value}' for key, value in definition.usual.items())})"


def cpu_seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the CPU time of the fastest of several repeats."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def numpy_pull(kind: type[NumpyKube], problem: bb.Problem, budget: float, width: float, pulls: int) -> float:
    """Return the CPU time of one pull of a NumPy policy, well into its run."""
    policy = kind(problem, budget, width, seed=1)
    for _ in range(pulls // 10):
        policy.step()

    def work() -> None:
        for _ in range(pulls):
            policy.step()

    return cpu_seconds(work, 3) / pulls


def engine_pull(
    policy: bb.Policy,
    source: bb.Problem | bb.families.Family,
    budget: float,
    repeats: int = 5,
    *,
    requests: int | None = None,
) -> float:
    """Return the CPU time of one pull in `simulate`, set-up included."""
    pulls = 0

    def work() -> None:
        nonlocal pulls
        runs = bb.simulate(
            source, policy, budget, runs=1, seed=1, workers=1, requests=requests, exact_optimum=requests is None
        )
        pulls = int(runs["pulls"][0])

    work()  # compile, or load what was compiled
    return cpu_seconds(work, repeats) / pulls


def live_pair(policy: bb.Policy, arms: int, pairs: int = 500) -> float:
    """Return the CPU time of an ask with its tell, after every arm was pulled once."""
    return cpu_seconds(live_work(policy, arms, pairs)) / pairs


def live_work(policy: bb.Policy, arms: int, pairs: int, requests: int | None = None) -> Callable[[], None]:
    """Return what makes so many asks and tells, after every arm was pulled once; with requests, for 5 each."""
    rng = np.random.default_rng(1)
    budget = 1e9 if requests is None else 5.0 * requests
    learner = bb.Learner(policy, rng.uniform(1, 10, arms), budget, (0, 40), seed=1, requests=requests)
    for arm in range(arms):
        pull = learner.ask(arm=arm)
        assert pull
        learner.tell(pull, rng.uniform(10, 20))

    def work() -> None:
        for _ in range(pairs):
            pull = learner.ask()
            assert pull
            learner.tell(pull, 15.0)

    work()  # compile, or load what was compiled
    return work


def in_turns(works: Sequence[Callable[[], object]], rounds: int = 10) -> list[float]:
    """Return the CPU time of each work, the best of several rounds: they take turns, so that noise meets all alike."""
    return [
        min(times) for times in zip(*([cpu_seconds(work, 1) for work in works] for _ in range(rounds)), strict=True)
    ]


def first_pairs(arms: int, is_equal: bool, pairs: int = 1000) -> float:
    """Return the CPU time of an ask with its tell of the default, on average over the first: coins of any chance.

    They cost 1 to 10, or all the same; then many are worth the same, too. The first ask of all is left out.
    """
    rng = np.random.default_rng(1)
    costs, chances = np.ones(arms) if is_equal else rng.uniform(1, 10, arms), rng.uniform(0, 1, arms)
    luck = rng.uniform(0, 1, pairs + 1)

    def seconds() -> float:
        learner = bb.Learner(bb.recommended(), costs, 1e5, (0, 1), seed=1)

        def work(places: range) -> None:
            for place in places:
                pull = learner.ask()
                assert pull
                learner.tell(pull, float(luck[place] < chances[int(pull.arm)]))

        work(range(1))  # compile, or load what was compiled, and sort the arms
        return cpu_seconds(lambda: work(range(1, pairs + 1)), 1) / pairs

    return min(seconds() for _ in range(3))


def row(name: str, ours: float, theirs: float, goal: float, unit: float = 1e9, word: str = "ns") -> None:
    """Print how many times faster ours is than theirs."""
    ratio = theirs / ours
    verdict = "ok" if ratio >= goal else "BELOW THE GOAL"
    figures = f"{ours * unit:10.1f} {word}  {theirs * unit:12.0f} {word}  {ratio:8.0f}x"
    print(f"{name:58} {figures}  (goal {goal:g}x: {verdict})")


def slower(name: str, large: float, small: float, limit: float, unit: float, word: str) -> None:
    """Print how many times slower the large case is than the small one."""
    ratio = large / small
    verdict = "ok" if ratio <= limit else "ABOVE THE LIMIT"
    figures = f"{large * unit:10.1f} {word}  {small * unit:12.1f} {word}  {ratio:8.2f}x"
    print(f"{name:58} {figures}  (at most {limit:g}x: {verdict})")


def within(name: str, seconds: float, limit: float) -> None:
    """Print a time beside the most that it may be."""
    verdict = "ok" if seconds <= limit else "ABOVE THE LIMIT"
    print(f"{name:58} {seconds * 1e6:10.1f} us  (at most {limit * 1e6:g} us: {verdict})", flush=True)


def against_numpy() -> None:
    print("\nOne pull: ours, NumPy's, and how many times faster")
    moderate = bb.paper_problem("moderate", arms=100, seed=1)
    budget = 1e6
    for width, goals in ((LITERAL, (200, 120)), (1.0, (120, 80))):
        label = "1/40" if width == LITERAL else "1"
        for policy, kind, goal, name in (
            (bb.kube(width), NumpyKube, goals[0], "KUBE"),
            (bb.fractional_kube(width), NumpyFractionalKube, goals[1], "fractional KUBE"),
        ):
            theirs = numpy_pull(kind, moderate, budget, width, 2000)
            row(f"{name}, K = 100, B = 1e6, width {label}", engine_pull(policy, moderate, budget), theirs, goal)
    large = bb.paper_problem("moderate", arms=10_000, seed=1)
    theirs = numpy_pull(NumpyKube, large, 1e7, LITERAL, 100)
    row("KUBE, K = 10,000, B = 1e7, width 1/40", engine_pull(bb.kube(LITERAL), large, 1e7, 3), theirs, 3000)


def growth() -> None:
    print("\nGrowth with the number of arms")
    small = engine_pull(bb.kube(LITERAL), bb.paper_family("moderate", 100), 1e6)
    large = engine_pull(bb.kube(LITERAL), bb.paper_family("moderate", 1_000_000), 1e8, 1)
    slower("a KUBE pull in simulate, K = 1e6 (B = 1e8, set-up in)", large, small, 10, 1e9, "ns")
    million, hundred = (live_pair(bb.kube(LITERAL), arms) for arms in (1_000_000, 100))
    slower("live ask + tell, K = 1e6 against K = 100", million, hundred, 5, 1e6, "us")
    print("a KUBE pull by K, width 1/40 and width 1, B = max(1e6, 100 K):")
    for arms in (10, 100, 1_000, 10_000, 100_000):
        source = bb.paper_family("moderate", arms)
        pulls = [engine_pull(bb.kube(width), source, max(1e6, 100.0 * arms), 3) for width in (LITERAL, 1.0)]
        print(f"  K = {arms:>7}: {pulls[0] * 1e9:8.1f} ns  {pulls[1] * 1e9:8.1f} ns")


def policies() -> None:
    print("\nPulls a second of every policy, one core, K = 100, B = 1e5, moderate family")
    family = bb.paper_family("moderate", 100)
    for name, policy in every_policy().items():
        budget = 1e3 if isinstance(policy, bb.IndexPolicy) and isinstance(policy.oracle, bb.oracles.Exact) else 1e5
        seconds = engine_pull(policy, family, budget, 3)
        print(f"  {name:36} {seconds * 1e9:10.0f} ns {1e-6 / seconds:10.2f} million a second", flush=True)


def short() -> None:
    print("\nShort runs in simulate, optimum and rows included: together, one by one, and how many times faster")
    family = bb.paper_family("moderate", 10)
    for budget, goal in ((100, 15), (1000, 10)):
        for name in ("kube", "fractional_kube", "recommended"):
            policy = bb.policies.POLICIES[name].example()
            together, alone = run_time(policy, family, budget, 10_000), run_time(policy, family, budget, 500, 1)
            row(f"{name}, K = 10, B = {budget}, {1 / together:,.0f} runs a second", together, alone, goal, 1e6, "us")


def run_time(
    policy: bb.Policy, family: bb.families.Family, budget: float, runs: int, together: int | None = None
) -> float:
    """Return the CPU time of a run among many, of which so many are played together at most."""
    with mock.patch.object(this_machine, "_RUNS_PER_BATCH", together or this_machine._RUNS_PER_BATCH):

        def work() -> None:
            bb.simulate(family, policy, budget, runs=runs, seed=1, workers=1, progress=False)

        work()  # compile, or load what was compiled
        return cpu_seconds(work, 3) / runs


def random_costs() -> None:
    print("\nPulls a second where costs are random, one core, RandomCostFamily, K = 100, B = 1e3")
    for name, entrant in read_suite(name="random").policies.items():
        seconds = engine_pull(entrant.policy, bb.families.RandomCostFamily(arms=100), 1e3, 3)
        print(f"  {name:36} {seconds * 1e9:10.0f} ns {1e-6 / seconds:10.2f} million a second", flush=True)


def live() -> None:
    sizes = (10, 100, 1000, 10_000)
    print("\nAn ask with its tell in a live learner, microseconds, K = " + ", ".join(map(str, sizes)))
    for name in ("recommended", "kube", "kl_ucb", "bayes_ucb", "imed", "above_average", "thompson"):
        seconds = [live_pair(bb.policies.POLICIES[name].example(), arms, 20) for arms in sizes]
        print(f"  {name:36}" + "".join(f"{each * 1e6:10.0f}" for each in seconds), flush=True)
    for arms, limit in ((100, 100e-6), (1_000_000, 1e-3)):
        within(f"live ask + tell of the default, K = {arms:,}", live_pair(bb.recommended(), arms, 20), limit)
        within("  the first 1,000", first_pairs(arms, is_equal=False), limit)
        within("  the first 1,000, all costs equal", first_pairs(arms, is_equal=True), limit)


def campaign_pairs(policy: bb.Policy, arms: int, requests: int, places: Sequence[int]) -> list[tuple[float, float]]:
    """Return the CPU time of an ask with its tell at some places of a campaign, with requests and without.

    Arms pay 10 to 20 on average, and each time up to 5 less or more.
    """
    rng = np.random.default_rng(3)
    costs, means = rng.uniform(1, 10, arms), rng.uniform(10, 20, arms).tolist()
    noise = rng.uniform(-5, 5, requests).tolist()
    budget = 5.0 * requests
    learners = [
        bb.Learner(policy, costs, budget, (0, 40), seed=1, requests=requests),
        bb.Learner(policy, costs, 20 * budget, (0, 40), seed=1),
    ]

    def play(learner: bb.Learner, pairs: int) -> None:
        for _ in range(pairs):
            pull = learner.ask()
            assert pull
            learner.tell(pull, means[int(pull.arm)] + noise[pull.id % requests])

    found = []
    for place in places:
        for learner in learners:
            play(learner, place - learner.pulls)
        with_requests, without = in_turns([partial(play, one, 100) for one in learners])
        found.append((with_requests / 100, without / 100))
    return found


def requests() -> None:
    print("\nWith requests against without, K = 100, live ask + tell")
    places = {"start": 1000, "middle": 10_000, "end": 18_000}
    for policy, name in (
        (bb.fractional_kube(), "fractional_kube()"),
        (bb.kube(), "kube()"),
        (bb.recommended(), "recommended()"),
    ):
        for place, (with_requests, without) in zip(
            places, campaign_pairs(policy, 100, 20_000, list(places.values())), strict=True
        ):
            slower(f"{name}, {place} of 20,000 requests", with_requests, without, 1.5, 1e6, "us")
        with_requests, without = in_turns([live_work(policy, 100, 500, requests=10**6), live_work(policy, 100, 500)])
        with_requests, without = with_requests / 500, without / 500
        slower(f"{name}, a million, all arms pay the same", with_requests, without, 1.5, 1e6, "us")
    print("fractional_kube(1/40) in simulate with requests, 5 each, moderate family:")
    for arms, count in ((100, 20_000), (10_000, 100_000)):
        family = bb.paper_family("moderate", arms)
        seconds = engine_pull(bb.fractional_kube(LITERAL), family, 5.0 * count, 3, requests=count)
        print(f"  K = {arms:>6}: {seconds * 1e9:8.0f} ns {1e-6 / seconds:8.2f} million a second", flush=True)


def workers() -> None:
    print("\nTwo workers against one (wall clock, 200 runs)")
    cores = len(os.sched_getaffinity(0))

    def wall(count: int) -> float:
        start = time.perf_counter()
        bb.simulate(bb.paper_family("moderate"), bb.kube(LITERAL), 1e6, runs=200, seed=1, workers=count)
        return time.perf_counter() - start

    one, two = min(wall(1) for _ in range(2)), min(wall(2) for _ in range(2))
    print(f"  {one:.2f} s and {two:.2f} s: {one / two:.2f}x on {cores} cores (goal 1.7x on two free ones)")


def starts() -> None:
    print("\nStarts: import, first compilation (cold), and from the cache on disk (warm)")
    code = "import budgetbandits as bb; bb.simulate(bb.paper_family('moderate'), bb.kube(), 1e3, runs=1, workers=1)"
    with tempfile.TemporaryDirectory() as cache:
        for name, program in (("import", "import budgetbandits"), ("cold", code), ("warm", code)):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | {"NUMBA_CACHE_DIR": cache})
            print(f"  {name:8} {time.perf_counter() - start:6.2f} s")


def memory() -> None:
    print("\nMemory (peak of the process, after what it takes without)")
    code = (
        "import budgetbandits as bb\n"
        "def peak():\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    return next(int(line.split()[1]) for line in lines if line.startswith('VmHWM'))\n"
        "bb.simulate(bb.paper_family('moderate', 100), bb.kube(), 1e4, runs=1, workers=1)\n"
        "open('/proc/self/clear_refs', 'w').write('5')\n"  # forget the peak: what loads or compiles code needs more
        "before = peak()\n"
        "family = bb.paper_family('moderate', {arms})\n"
        "runs = bb.simulate(family, bb.kube(), 1e4, runs={runs}, workers=1, exact_optimum=False)\n"
        "print(peak() - before)\n"
    )
    for label, arms, runs, parts in (("arm", 1_000_000, 1, 1_000_000), ("run", 10, 20_000, 20_000)):
        command = [sys.executable, "-c", code.format(arms=arms, runs=runs)]
        kilobytes = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(f"  per {label}: {kilobytes * 1024 / parts:.0f} bytes")


SECTIONS: dict[str, Callable[[], None]] = {
    "numpy": against_numpy,
    "growth": growth,
    "policies": policies,
    "short": short,
    "random_costs": random_costs,
    "live": live,
    "requests": requests,
    "workers": workers,
    "starts": starts,
    "memory": memory,
    "campaigns": campaigns,
    "long_journal": long_journal,
    "cuda": cuda,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("section", nargs="*", metavar="section", help="what to measure; all by default")
    chosen = parser.parse_args(arguments).section or list(SECTIONS)
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}, {len(os.sched_getaffinity(0))} cores")
    for section in chosen:
        SECTIONS[section]()
    print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
