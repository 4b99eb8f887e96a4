"""Kernels play the runs of the CPU, on a GPU or by a warp of threads where there is none; and they compile for one."""

import logging
import re
import sys
from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest

import budgetbandits as bb
from budgetbandits.core.arrays import copy_into
from budgetbandits.core.money import pay
from budgetbandits.core.registry import Definition
from budgetbandits.core.specs import Spec
from budgetbandits.errors import InvalidInput, NotInstalled
from budgetbandits.policies.index_policy import first_fresh
from budgetbandits.policies.indices import ScalarIndex
from budgetbandits.policies.memories import Everything, Memory
from budgetbandits.policies.state import Arm, Arms, Now, arm_of
from budgetbandits.simulation import engine
from budgetbandits.simulation.engine.dispatch import parts_of
from budgetbandits.simulation.engine.play import play_any
from budgetbandits.simulation.engine.world import Outcomes, World, world_of
from budgetbandits.simulation.plan import plan_of

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed: Linux and Python 3.11 have it in the lock")

from numba import cuda

import budgetbandits.simulation.on_gpu as on_gpu
from budgetbandits.simulation.engine.batch import results_for
from budgetbandits.simulation.engine.cuda import alone, batches, clocks, gpu, registration
from gpu_of_threads import let_threads_be_the_gpu
from states import arms_of, now_of

TIES = bb.Problem([1, 2, 2, 3], [bb.Bernoulli(p) for p in (0.2, 0.5, 0.5, 0.8)])
UNLIKE = bb.Problem([0.1, 5, 5], [bb.Bernoulli(0.5)] * 3)
GAUSSIAN = bb.paper_family("moderate", arms=3)
WIDE = bb.paper_family("moderate", arms=37)
LIMITED = bb.Problem([1, 2, 2, 3], [bb.Bernoulli(p) for p in (0.2, 0.5, 0.5, 0.8)], limits=[None, 1, 7, 5])
CHARGED = bb.families.RandomCostFamily(arms=3)
CHARGED_AND_LIMITED = bb.Problem(
    [bb.Uniform(0.5, 2), bb.Empirical([0.5, 1, 2.5]), 2],
    [bb.Uniform(0, 1), bb.Bernoulli(0.5), bb.Bernoulli(0.8)],
    limits=[9, None, 3],
)
RESOURCES = bb.Problem(
    [{"usd": 1, "s": 3}, {"usd": 2, "s": 2}, {"usd": 3, "s": 1}], [bb.Bernoulli(p) for p in (0.2, 0.5, 0.8)]
)


@dataclass(frozen=True)
class LimitedOtherwise:
    """Coins whose limits differ from run to run."""

    def problem(self, seed: int, run: int) -> bb.Problem:
        return bb.Problem(TIES.costs, [bb.Bernoulli(0.5)] * 4, limits=[1 + run, 2, None, 9 - run])


GREEDY_RATIO = bb.IndexPolicy(bb.indices.OptimisticRatio(bb.indices.OmegaUCB()), bb.oracles.DensityGreedy())


@pytest.fixture
def a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads be the GPU where there is none, and play in Python by the scan of all arms what the CPU plays."""
    if not cuda.is_available():
        let_threads_be_the_gpu(monkeypatch.setattr)
    monkeypatch.setattr(
        engine, "play_runs", lambda policy, worlds, *_: (play_any(*parts_of(policy), world) for world in worlds)
    )


def assert_same(ours: bb.Runs, theirs: bb.Runs) -> None:
    """Compare all rows: to the last bit, but for sums of a real GPU, whose logarithms are its own."""
    assert ours.column_names == theirs.column_names
    for name in ours.column_names:
        is_sum = cuda.is_available() and theirs[name].dtype == np.float64
        if is_sum:
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-13, atol=1e-12, err_msg=name)
        else:
            np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)


def assert_played_on_the_gpu(caplog: pytest.LogCaptureFixture) -> None:
    assert "not on the GPU" not in caplog.text


@pytest.mark.usefixtures("a_gpu")
@pytest.mark.parametrize(
    ("source", "policy", "budget", "runs"),
    [
        (GAUSSIAN, bb.policies.kl_ucb_plus_plus(), 150, 1),
        (GAUSSIAN, bb.kube(0.3), 60, 1),
        (GAUSSIAN, bb.IndexPolicy(bb.indices.UCB1(0.3), bb.oracles.DensityGreedy(), lazy=True), 40, 1),
        (WIDE, bb.fractional_kube(1 / 40), 400, 1),
        (TIES, bb.kube(1 / 40), 60, 2),
        (TIES, bb.policies.ucb1(0.2), 40, 1),
        (TIES, bb.IndexPolicy(bb.indices.KLUCB(), bb.oracles.CostBlind(), clip=True, lazy=True), 20, 1),
        (UNLIKE, bb.policies.m_ucb(), 25, 1),  # of which arms that were tried are infinite still
        (LIMITED, bb.policies.kl_ucb_plus_plus(), 40, 1),
        (LIMITED, bb.policies.ucb1(0.2), 20, 1),
        (CHARGED, bb.fractional_kube(0.3), 15, 1),
        (CHARGED_AND_LIMITED, bb.policies.kl_ucb_plus_plus(), 30, 1),
    ],
)
def test_a_kernel_plays_as_the_cpu_does(
    source: Any, policy: bb.Policy, budget: float, runs: int, caplog: pytest.LogCaptureFixture
) -> None:
    ours, theirs = (
        bb.simulate(
            source,
            policy,
            budget,
            runs=runs,
            first_run=3,
            seed=7,
            trace=5,
            arm_pulls=True,
            workers=1,
            engine=engine,
            exact_optimum=False,  # to compile what finds it would be said, too
        )
        for engine in ("cuda", None)
    )
    assert_same(ours, theirs)
    assert_played_on_the_gpu(caplog)


@pytest.mark.usefixtures("a_gpu")
@pytest.mark.parametrize(
    ("source", "policy", "budget", "more"),
    [
        (LIMITED, bb.kube(0.3), 30, {"trace": 5}),
        (LimitedOtherwise(), bb.kube(0.3), 25, {}),
        (CHARGED, bb.kube(0.3), 8, {}),
        (GAUSSIAN, bb.policies.kl_ucb_plus_plus(), 60, {"requests": 12, "trace": 3}),
        (TIES, bb.kube(), 20, {"requests": 15, "skip": True}),
        (RESOURCES, bb.kube(), {"usd": 30, "s": 35}, {"requests": 14}),
        (RESOURCES, bb.policies.kl_ucb_plus_plus(), {"usd": 20, "s": 30}, {}),
        (UNLIKE, bb.policies.Forgetful(bb.fractional_kube(), bb.policies.memories.Window(7)), 20, {}),
    ],
)
def test_a_thread_plays_alone_as_the_cpu_does(
    source: Any, policy: bb.Policy, budget: Any, more: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    more = more | {"exact_optimum": False}
    ours, theirs = (
        bb.simulate(source, policy, budget, runs=2, first_run=3, seed=7, arm_pulls=True, workers=1, engine=each, **more)
        for each in ("cuda", None)
    )
    assert_same(ours, theirs)
    assert_played_on_the_gpu(caplog)


@pytest.mark.usefixtures("a_gpu")
@pytest.mark.parametrize(
    ("source", "oracle"),
    [(TIES, bb.oracles.Fractional()), (LIMITED, bb.oracles.Fractional()), (LIMITED, bb.oracles.DensityGreedy())],
)
def test_kernels_read_the_clock_of_the_host(
    source: bb.Problem, oracle: bb.oracles.Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pulls_of(index: bb.indices.Index) -> Any:
        policy = bb.IndexPolicy(index, oracle)
        return bb.simulate(source, policy, 15, runs=1, seed=4, arm_pulls=True, workers=1, engine="cuda")["arm_pulls"]

    moving = pulls_of(bb.indices.UCB1())
    monkeypatch.setattr(clocks, "_clocks_of", lambda _, size: np.zeros(size))
    standing = pulls_of(bb.indices.UCB1())
    assert np.array_equal(standing, pulls_of(bb.indices.Mean()))
    assert not np.array_equal(standing, moving)


@dataclass(frozen=True)
class Doubled(bb.indices.UCB1):
    """Not only a line in a clock."""

    def value(self, arm: Arm, now: Now) -> float:
        return 2.0 * arm.mean


def test_only_what_is_read_of_a_clock_is_in_a_table() -> None:
    index = bb.indices.UCB1()
    timed = clocks.with_host_clock(bb.kube(), 10).index
    assert isinstance(timed, clocks.HostClock)
    assert [timed.clock(pull) for pull in (1, 2.5, 50, 10_000)] == [index.clock(pull) for pull in (1, 2.5, 50, 10_000)]
    assert 50 < len(timed.clocks) < 10_000
    assert clocks.with_host_clock(Doubled(), 10) == Doubled()
    assert clocks.with_host_clock(unlike := bb.policies.kl_ucb_plus_plus(), 10) is unlike
    assert clocks._size_for(np.inf) == clocks._LARGEST


def test_runs_have_no_more_pulls_than_their_tables_have_clocks() -> None:
    for source, pulls in ((TIES, 20), (CHARGED_AND_LIMITED, 40)):
        stake = stake_of(source, bb.kube())
        assert stake.worlds is not None
        assert clocks.most_pulls(stake.batch) == clocks.most_pulls_of_worlds(stake.worlds) == pulls


@pytest.mark.usefixtures("a_gpu")
def test_what_no_kernel_plays_is_played_on_the_cpu_and_said_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_gpu, "_FIRST", 1)
    on_gpu._say.cache_clear()
    with caplog.at_level(logging.WARNING, "budgetbandits"):
        runs = bb.simulate(GAUSSIAN, bb.fractional_kube(1 / 40), 20, runs=3, seed=1, delay=1, engine="cuda")
    assert len(runs) == 3
    assert [record.getMessage() for record in caplog.records] == [
        "budgetbandits plays IndexPolicy(index=UCB1(width=0.025), oracle=Fractional()) on this machine's cores, not on "
        "the GPU: kernels do not play rewards that are told late yet"
    ]


@pytest.mark.usefixtures("a_gpu")
def test_a_run_that_an_error_ends_is_played_on_the_cpu(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(_: bb.Policy, __: Memory, worlds: World, ___: int) -> Outcomes:
        outcomes = alone.outcomes_for(np.zeros, worlds)
        outcomes.culprit[0] = alone.STOPPED
        return outcomes

    monkeypatch.setattr(on_gpu, "play_alone", stopped)
    with caplog.at_level(logging.WARNING, "budgetbandits"):
        runs = bb.simulate(LIMITED, bb.kube(0.7), 20, runs=2, seed=1, workers=1, engine="cuda")
    assert runs["pulls"].min() > 0
    assert "a run of it came to no end there" in caplog.text


@pytest.mark.usefixtures("a_gpu")
def test_a_stack_that_does_not_fit_the_card_is_not_asked_for(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_gpu, "bytes_free", lambda: 10**6)
    with caplog.at_level(logging.WARNING, "budgetbandits"):
        bb.simulate(LIMITED, bb.kube(0.8), 20, runs=1, seed=1, workers=1, engine="cuda")
    assert "take more of the card's memory than there is" in caplog.text


@pytest.mark.usefixtures("a_gpu")
def test_what_does_not_compile_is_played_on_the_cpu(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise TypeError("\x1b[1mcannot compile \x1b[0mthis")

    monkeypatch.setattr(on_gpu, "play_by_warps", fail)
    monkeypatch.setattr(on_gpu, "arose_in_compiler", lambda _: True)
    monkeypatch.setattr(on_gpu, "_uncompilable", {})
    with caplog.at_level(logging.WARNING, "budgetbandits"):
        runs = bb.simulate(GAUSSIAN, bb.fractional_kube(0.7), [10, 20], runs=2, seed=1, engine="cuda")
    assert len(runs) == 4
    assert [record.getMessage() for record in caplog.records] == [
        "budgetbandits plays IndexPolicy(index=UCB1(width=0.7), oracle=Fractional()) on this machine's cores, not on "
        "the GPU: it cannot be compiled for it: cannot compile this"
    ]


def test_what_a_warp_plays() -> None:
    def is_for_a_warp(policy: bb.Policy, source: Any, has_requests: bool = False) -> bool:
        return batches.is_for_a_warp(policy, [source.tables], has_requests)

    assert is_for_a_warp(bb.kube(), TIES)
    assert is_for_a_warp(bb.fractional_kube(), LIMITED)
    assert not is_for_a_warp(bb.kube(), LIMITED)
    assert not is_for_a_warp(bb.kube(), TIES, has_requests=True)
    assert not is_for_a_warp(bb.kube(), RESOURCES)
    assert not is_for_a_warp(bb.thompson(), TIES)


def test_obstacles_are_named() -> None:
    assert "rewards that are told late" in str(batches.obstacle_in([TIES.tables], True))
    assert "different numbers of arms" in str(batches.obstacle_in([TIES.tables, UNLIKE.tables]))
    assert batches.obstacle_in([TIES.tables]) is None


def test_worlds_of_different_shapes_are_not_put_together() -> None:
    stop, marks = np.zeros(1, np.int64), np.zeros(0)
    worlds = [world_of(each.tables, each.tables.bill(9), 1, 0, marks, stop) for each in (TIES, UNLIKE)]
    assert alone.put_together(worlds, range(2)) is None


def test_without_a_gpu_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "is_available", lambda: False)
    with pytest.raises(InvalidInput, match="CUDA finds no GPU here"):
        bb.simulate(TIES, bb.policies.kl_ucb_plus_plus(), 20, engine="cuda")


def test_without_the_extra_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba_cuda", None)
    with pytest.raises(NotInstalled, match=r"pip install 'budgetbandits\[cuda\]'"):
        bb.simulate(TIES, bb.policies.kl_ucb_plus_plus(), 20, engine="cuda")


def ptx_of(function: Any, *arguments: Any, inlined: bool = False) -> str:
    with registration.as_on_the_cpu(inlined):
        return cuda.compile_ptx(function, tuple(map(numba.typeof, arguments)), cc=(9, 0))[0]


def numbers_in(argument: Any) -> int:
    """Return with how many numbers numba-cuda launches a kernel for an argument."""
    if isinstance(argument, np.ndarray):
        return 5 + 2 * argument.ndim  # two that a GPU does not use, sizes, where it begins, shape and strides
    if isinstance(argument, Spec):
        argument = tuple(getattr(argument, field.name) for field in fields(argument))
    return sum(map(numbers_in, argument)) if isinstance(argument, tuple) else 1


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile for a GPU that is not there."""
    pytest.importorskip("nvidia.cu13", reason="nvidia-nvvm is not installed")
    monkeypatch.setattr("numba.cuda.cudadrv.nvrtc.get_arch_option", lambda *_: "compute_90")
    monkeypatch.setattr("numba.cuda.cuda_paths._get_nvrtc_path", lambda: None)
    h200 = SimpleNamespace(compute_capability=(9, 0))
    monkeypatch.setattr("numba.cuda.dispatcher.get_current_device", lambda: h200)


@pytest.mark.usefixtures("no_driver")
def test_products_are_rounded_before_they_are_added() -> None:
    def paid(numbers: Any) -> None:
        numbers[0], numbers[1] = pay(numbers[0], numbers[1], numbers[2] * numbers[3])

    ptx = ptx_of(paid, np.zeros(4))
    assert "fma" not in ptx
    assert "mul.rn.f64" in ptx


def test_no_kernel_is_optimised_at_the_link_which_would_not_round_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.cuda.decorators._have_nvjitlink", lambda: True)

    def nothing() -> None: ...

    assert gpu.compiled(nothing, 64).targetoptions["lto"] is False


@pytest.mark.usefixtures("no_driver")
def test_arrays_are_made_on_a_stack_that_is_given_back() -> None:
    def places(numbers: Any) -> None:
        for _ in range(3):
            numbers[0] += first_fresh(np.where(numbers > 1.0, numbers, 0.0), numbers - 3.0, numbers[1] % numbers[2])

    ptx = ptx_of(places, np.zeros(4))
    assert ".extern .func" not in ptx
    # What is in use is read before the function, and is that again after it.
    assert ptx.count("st.shared.u64") > ptx.count("ld.shared.u64") // 2 > 0


@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize(
    ("source", "policy"),
    [
        (TIES, bb.policies.kl_ucb_plus_plus()),
        (GAUSSIAN, GREEDY_RATIO),
        (TIES, bb.kube()),
        (CHARGED_AND_LIMITED, bb.policies.kl_ucb_plus_plus()),
    ],
)
def test_kernels_compile_for_a_gpu(source: Any, policy: bb.IndexPolicy) -> None:
    batch = stake_of(source, policy).batch
    kernel = batches.kernel_of(policy, batch)
    results = results_for(np.zeros, batch)
    arguments = (*kernel.policy, batch, results, *kernel.notes(np.zeros, *results.pulls.shape))
    check_kernel(kernel.function, *arguments)


@pytest.mark.usefixtures("no_driver")
def test_what_threads_play_alone_compiles_for_a_gpu() -> None:
    worlds, policy = stake_of(LIMITED, bb.kube()).worlds, clocks.with_host_clock(bb.kube(), 20)
    assert worlds is not None
    arguments = policy, Everything(), worlds, alone.outcomes_for(np.zeros, worlds)
    ptx = check_kernel(alone.player_with(16384), *arguments, inlined=True)
    assert ".extern .func" not in ptx  # it calls nothing that would have to be linked
    assert ".extern .shared .align 8 .b8 budgetbandits_stacks[]" in ptx


@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize("definition", bb.indices.INDICES.values(), ids=lambda definition: definition.name)
def test_every_index_compiles_for_a_gpu(definition: Definition[bb.indices.Index]) -> None:
    def values_of_one(index: ScalarIndex, arms: Arms, now: Now, values: Any) -> None:
        arm = arm_of(arms, 0)
        values[0] = index.value(arm, now)
        values[1] = index.untried(arm.mean_cost, now)
        values[2] = index.top(arm.mean_cost, arm.cost_low, now)

    def values_of_all(index: bb.indices.Index, arms: Arms, now: Now, values: Any) -> None:
        copy_into(values, index.bounds(arms, now))

    index, arms = definition.example(), arms_of([1, 2, 3], [0.2, 0.4, 0.5], [3, 4, 5])
    function = values_of_one if isinstance(index, ScalarIndex) else values_of_all
    ptx = ptx_of(function, index, arms, now_of(13, 500.0), np.zeros(3))
    assert ".extern .func" not in ptx  # it calls nothing that a GPU lacks


def stake_of(source: Any, policy: bb.Policy) -> on_gpu.Stake:
    plan = plan_of(source, policy, 20, 2, 1, False, 0, 0, False, None, False, 1, 0)
    return on_gpu.Stake(plan, plan.runs, plan.tables_of(plan.runs), 20, None)


def check_kernel(function: Any, *arguments: Any, inlined: bool = False) -> str:
    """Compile a kernel, and check that it takes as many numbers as it is launched with."""
    ptx = ptx_of(function, *arguments, inlined=inlined)
    (parameters,) = re.findall(r"\.entry [^(]+\(([^)]*)\)", ptx)
    assert ".param .align" not in parameters  # numba-cuda launches a kernel with numbers, and not with structures
    assert parameters.count(".param") == sum(map(numbers_in, arguments))
    return ptx
