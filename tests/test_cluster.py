"""A simulation on a real Dask cluster of two worker processes: the same rows, also when one of them is killed."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from distributed import Client, LocalCluster

import budgetbandits as bb
from budgetbandits.cli import main
from budgetbandits.errors import InvalidInput, NotInstalled
from budgetbandits.studies.imports import import_files
from shared_policies import KUBE, WITH_A_PLAN

# Dask warns of the ports and connections that the killed worker leaves behind.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

FAMILY = bb.paper_family("moderate", arms=20)
POLICIES: dict[str, bb.Policy] = {"KUBE": KUBE, "eps-first": WITH_A_PLAN}


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    yield cluster
    cluster.close()


def rows(runs: int, engine: str | Client | None = None, **options: Any) -> list[dict[str, object]]:
    return bb.simulate(FAMILY, POLICIES, [1e3, 2e4], runs=runs, seed=1, engine=engine, **options).to_arrow().to_pylist()


def test_the_rows_are_those_of_threads(cluster: LocalCluster) -> None:
    expected = rows(6)  # first: what is compiled here, the workers find on the disk
    address = cluster.scheduler_address.removeprefix("tcp://")
    assert rows(6, engine=f"dask://{address}") == expected


def test_a_killed_worker_changes_nothing(cluster: LocalCluster) -> None:
    expected = rows(200)
    client = Client(cluster)
    victim = next(iter(client.run(os.getpid).values()))
    killed: list[int] = []

    def kill_once(_: int) -> None:
        if not killed:
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    assert rows(200, engine=client, progress=kill_once) == expected
    assert killed
    # The scheduler may not have noticed yet that it is gone.
    assert victim not in client.run(os.getpid, on_error="ignore").values()
    client.close()


def test_the_reproduction_is_the_same(cluster: LocalCluster, tmp_path: Path) -> None:
    address = cluster.scheduler_address.removeprefix("tcp://")
    options = ["--families", "moderate", "--readings", "literal", "--budget-max", "3000", "--budget-count", "2"]
    for name, engine in (("here", []), ("there", ["--engine", f"dask://{address}"])):
        out = str(tmp_path / name)
        assert main(["reproduce", "--out", out, "--runs", "3", "--arms", "10", *options, *engine]) == 0
    here, there = ((tmp_path / name / "regret.csv").read_bytes() for name in ("here", "there"))
    assert here == there


@pytest.fixture
def cards(cluster: LocalCluster) -> Iterator[str]:
    """Let each worker of the cluster have a GPU, made of threads, and play nothing else; return the address."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed: Linux and Python 3.11 have it in the lock")

    def let_threads_be_the_gpu() -> None:
        import gpu_of_threads

        gpu_of_threads.let_threads_be_the_gpu(lambda *what: mock.patch.object(*what).start())
        mock.patch("budgetbandits.simulation.rows._play", side_effect=AssertionError("a core was to play")).start()

    with closing(Client(cluster)) as client:
        client.run(let_threads_be_the_gpu)
        yield cluster.scheduler_address.removeprefix("tcp://")
        client.run(mock.patch.stopall)


def test_the_gpus_of_a_cluster_play_the_rows_of_cores(cards: str) -> None:
    played: list[int] = []
    here, there = (
        bb.simulate(
            bb.paper_family("moderate", arms=3),
            {"lines": bb.fractional_kube(0.3), "alone": WITH_A_PLAN},
            [20, 40],
            runs=3,
            first_run=2,
            seed=7,
            arm_pulls=True,
            engine=engine,
            progress=played.append if engine else False,
        )
        for engine in (None, f"cuda+dask://{cards}")
    )
    assert [*map(repr, there.rows())] == [*map(repr, here.rows())]
    assert sum(played) == 3


def test_a_worker_without_a_gpu_says_who_it_is(cluster: LocalCluster) -> None:
    address = cluster.scheduler_address.removeprefix("tcp://")
    without = "CUDA finds no GPU here|numba_cuda is not installed"
    with pytest.raises((InvalidInput, NotInstalled), match=rf"on the worker tcp://[\d.:]+: ({without})"):
        rows(3, engine=f"cuda+dask://{address}")


@pytest.mark.filterwarnings("ignore::budgetbandits.errors.SlowLawWarning")
def test_a_law_from_a_file_that_workers_cannot_import(cluster: LocalCluster, tmp_path: Path) -> None:
    """They compile it to see whether that can be done; a whole run would take one of them ten seconds."""

    def play_in_python() -> None:
        mock.patch("budgetbandits.simulation.engine.calls.call", lambda play, _, *given: play(*given)).start()

    path = tmp_path / "law_of_a_cluster.py"
    path.write_text(Path(__file__).with_name("own_laws.py").read_text())
    import_files([path.name], tmp_path)
    compiled, in_python = (
        bb.Problem([1, 2], [law(0, 1), bb.Bernoulli(0.5)])
        for law in (sys.modules[path.stem].Rising, sys.modules[path.stem].Spelled)
    )
    with closing(Client(cluster)) as client:
        client.run(play_in_python)
        there = bb.simulate(compiled, bb.policies.above_average(), 60, runs=1, seed=1, engine=client)
    here = bb.simulate(in_python, bb.policies.above_average(), 60, runs=1, seed=1)
    assert there.to_arrow().to_pylist() == here.to_arrow().to_pylist()
    del sys.modules[path.stem]


class Hasty(Client):
    """Waits for a scheduler for a moment only."""

    def __init__(self, address: str, timeout: float) -> None:
        super().__init__(address, timeout=timeout / 20)


def test_where_no_scheduler_answers_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("distributed.Client", Hasty)
    with pytest.raises(InvalidInput, match="no Dask scheduler answers there"):
        rows(1, engine="dask://127.0.0.1:9")
