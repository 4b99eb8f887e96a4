"""Settings of Hypothesis, both ways of SQLite to keep a journal, a PostgreSQL server and a browser, for all tests.

Builds are repeatable: the same examples each time. To look further, run ``pytest --hypothesis-profile=wide``.
"""

import asyncio
import atexit
import functools
import gc
import inspect
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from budgetbandits.testing import PostgresqlServer
from old_sqlite import pretend_old_sqlite

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from xdist.workermanage import WorkerController

settings.register_profile("workshop", deadline=None, derandomize=True)
settings.register_profile("wide", deadline=None, max_examples=2000)
settings.load_profile("workshop")


# Three workers share two cores, since tests wait for processes, servers and databases. A process that has compiled one
# policy has much of the next one's machine code already. So one worker, which the others let go first, gets all files
# that compile, in this order;
COMPILING = (
    *("test_play.py", "test_ceilings.py", "test_memory.py", "test_random_costs.py", "test_study.py", "test_kept.py"),
    *("test_requests_study.py", "studies.md", "regret.py", "simulate.py", "test_requested_policies.py"),
    *("test_resources_simulated.py",),
    *(
        "test_own_study.py",
        "test_leaderboard.py",
        "test_limits.py",
        "test_own_laws.py",
        "test_oracles.py",
        "test_whole_pulls.py",
    ),
    *("warm_up.py", "test_warm_up.py"),  # what finds optima: a part of what the one before compiles
    *("test_indices.py", "test_tournament.py", "test_late.py", "test_empirical.py"),
    "test_learned_prior.py",
    *("study_for_a_paper.md", "test_free_arms.py", "test_few.py"),
)
# one gets those that wait most, and nothing else;
WAITING = tuple(
    f"test_{name}.py"
    for name in (
        *("dashboard", "remote", "crowds", "service_kills", "stores", "simulator", "disasters", "interference"),
        *("service_openapi", "serve_command", "waiting", "service_events", "service_basics", "service_access"),
        *("opening", "snapshots", "ask_tell", "chain", "backups", "restarts", "under_the_lock"),
    )
)
# the third one gets all others, those that take longest first;
LONGEST = tuple(
    f"test_{name}.py"
    for name in (
        *("cuda", "contract_random_costs", "contract", "package", "compiler", "contract_index_policy", "changing"),
        *("index_values", "knapsack", "figures"),
    )
)
# and what finds on disk what others have compiled comes last.
COMPILED = ("test_reproduction.py", "test_cluster.py", "test_examples.py")


class Work(Enum):
    """What a file is, to those who share out the files."""

    COMPILING = "compiling"
    WAITING = "waiting"
    OTHER = "other"
    COMPILED = "compiled"

    @classmethod
    @functools.cache
    def of(cls, file: str) -> "Work":
        """Return it by the name of the file."""
        named = {cls.COMPILING: COMPILING, cls.WAITING: WAITING, cls.COMPILED: COMPILED}
        return next((work for work, files in named.items() if file in files), cls.OTHER)


PREFERRED = {
    "gw0": (Work.COMPILING, Work.COMPILED, Work.OTHER, Work.WAITING),
    "gw1": (Work.OTHER, Work.WAITING, Work.COMPILED),
    "gw2": (Work.WAITING,),
}
"""What each worker takes, and what first; any other one takes whatever comes."""

ENOUGH = 2  # tests, until a worker is given its next file

POLITE = 5  # how much the others let the worker go first that compiles: it has most to do without a pause

MEMORY = Path("/dev/shm")
MEMORY_LEAST = 6 << 30  # bytes: several times what all tests write


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no worker has such a one left when the others are done."""
    order = {name: place for place, name in enumerate((*COMPILING, *WAITING, *LONGEST, "others", *COMPILED))}
    items.sort(key=lambda item: order.get(item.path.name, order["others"]))


class ByWork(LoadFileScheduling):
    """Gives one worker all files that compile, and each of the others a file at a time, of those that it prefers."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return "compiling" if Work.of(Path(file).name) is Work.COMPILING else file

    def _assign_work_unit(self, node: "WorkerController") -> None:
        preferred = self._preferred(node)
        if preferred is not None:
            self.workqueue.move_to_end(preferred, last=False)
        super()._assign_work_unit(node)

    def _reschedule(self, node: "WorkerController") -> None:
        if self._pending_of(self.assigned_work[node]) > ENOUGH:  # asked after every test: look no further
            return
        others = [other for other in self.nodes if other is not node and not other.shutting_down]
        if self.workqueue and self._preferred(node) is None and any(map(self._preferred, others)):
            node.shutdown()
        else:
            super()._reschedule(node)

    def _preferred(self, node: "WorkerController") -> str | None:
        """Return which of the waiting files a worker takes next; None if it takes none of them."""
        kinds = {scope: Work.of(Path(next(iter(tests)).split("::")[0]).name) for scope, tests in self.workqueue.items()}
        for wanted in PREFERRED.get(node.gateway.id, Work):
            for scope, kind in kinds.items():
                if kind is wanted:
                    return scope
        return None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByWork:
    """Say which worker gets which tests."""
    return ByWork(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Keep the order of the files, and let all processes share bytecode where none may be written beside the sources.

    Otherwise each of hundreds of processes would compile NumPy, Numba and all else that it imports once more. And look
    for garbage seldom: to collect tests and to compile makes much that lives on.
    """
    gc.set_threshold(50_000, 20, 50)
    # Thousands of commits and hundreds of databases of 7 MB wait for the disk otherwise, and no test cuts the power.
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > MEMORY_LEAST:
        for name in ("PYTEST_DEBUG_TEMPROOT", "TMPDIR"):
            os.environ.setdefault(name, str(MEMORY))
        tempfile.tempdir = None  # and so it reads TMPDIR
    if hasattr(config, "workerinput"):
        if config.workerinput["workerid"] != "gw0":
            os.nice(POLITE)
        atexit.register(os._exit, 0)  # to take apart all that a worker has compiled would take seconds
    if find_spec("numba_cuda") is None:  # none of these could be imported
        without = ("*/engine/cuda/*", "*/simulation/on_gpu.py", "*/gpu_of_threads.py")
        config.option.ignore_glob = [*(config.option.ignore_glob or ()), *without]
    config.option.loadscopereorder = False  # pytest-xdist would begin with the files that have most tests
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(config.rootpath / ".pytest_cache" / "bytecode")
        sys.dont_write_bytecode = False


def pytest_collection_finish() -> None:
    """Spare the collector of garbage thousands of tests and all modules, which live on anyway; and be quick."""
    let_figures_share_formulas()
    let_servers_end_soon()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Look for garbage, also for what the first look let go, and spare pytest that: it would look five times."""
    gc.collect()
    gc.collect()
    gc.freeze()


def let_figures_share_formulas() -> None:
    """Let Matplotlib parse the label of a tick once, and not for each figure: that takes over a quarter of its time."""
    if "matplotlib.figure" not in sys.modules:
        return
    from matplotlib import textpath
    from matplotlib.backends import backend_agg
    from matplotlib.mathtext import MathTextParser

    patch, parse = pytest.MonkeyPatch(), inspect.unwrap(vars(MathTextParser)["_parse_cached"])
    patch.setattr(MathTextParser, "_parse_cached", functools.cache(parse))
    for module in (textpath, backend_agg):
        patch.setattr(module, "MathTextParser", functools.cache(MathTextParser))


def let_servers_end_soon() -> None:
    """Let uvicorn look more often whether it is to end: each of a hundred servers would take 0.15 seconds for that."""
    if "uvicorn" in sys.modules:
        hurried = ModuleType("asyncio")
        vars(hurried).update(vars(asyncio), sleep=lambda seconds: asyncio.sleep(seconds / 8))
        pytest.MonkeyPatch().setattr("uvicorn.server.asyncio", hurried)


@pytest.fixture
def in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs be played by the source of the machine code, in Python: a whole run takes seconds to compile."""
    called = "budgetbandits.simulation.engine.calls.call"
    monkeypatch.setattr(called, lambda function, _, *arguments: function(*arguments))


@pytest.fixture
def heeded_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C raise, also where a shell started the tests in the background and had it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def old_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let campaigns have Python's own SQLite, and take it for one that is not safe with a write-ahead log."""
    pretend_old_sqlite(monkeypatch)


@pytest.fixture(params=["log", "rollback"])
def journal(request: pytest.FixtureRequest) -> str:
    """Let new SQLite files have a write-ahead log, and a rollback journal."""
    if request.param == "rollback":
        request.getfixturevalue("old_sqlite")
    return str(request.param)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresqlServer]:
    """Return a PostgreSQL server of the tests' own.

    Where there is none to be had, its tests are skipped, unless BUDGETBANDITS_POSTGRESQL=required forbids that.
    """
    if PostgresqlServer.binaries() is None:
        do_without("there is no PostgreSQL server here: install it (Debian: apt-get install postgresql)", "POSTGRESQL")
    server = PostgresqlServer()
    yield server
    server.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of an empty store, of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/a.db"
    server: PostgresqlServer = request.getfixturevalue("postgresql")
    return server.new_database(tmp_path.name[:40])


@pytest.fixture(scope="module")  # while it runs, its thread has an event loop, and other tests start their own there
def browser() -> "Iterator[Browser]":
    """Return a real browser without a window.

    Where there is none to be had, its tests are skipped, unless BUDGETBANDITS_BROWSER=required forbids that.
    """
    chromium = shutil.which("chromium")
    if chromium is None:
        do_without("there is no browser here: install it (Debian: apt-get install chromium)", "BROWSER")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_OPTIONS)
        yield browser
        browser.close()


CHROMIUM_OPTIONS = [
    f"--{option}"
    for option in (
        *("no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking"),
        *("disable-component-update", "disable-sync"),
        *("process-per-site", "renderer-process-limit=1"),  # to start a process takes longest
    )
]


def do_without(missing: str, what: str) -> NoReturn:
    """Skip a test for want of something, or fail where BUDGETBANDITS_... says that it is required."""
    if os.environ.get(f"BUDGETBANDITS_{what}") == "required":
        pytest.fail(missing)
    pytest.skip(missing)
