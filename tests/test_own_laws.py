"""Laws of a user's own: compiled where Numba can, in plain Python where not, and the same draws either way."""

import math
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import budgetbandits as bb
from budgetbandits.core.registry import Registry
from budgetbandits.core.specs import classes_of
from budgetbandits.core.streams import CHARGE, REWARD, uniform
from budgetbandits.errors import InvalidInput, OutputError, SlowLawWarning
from budgetbandits.problems.laws import SteadyLaw
from budgetbandits.problems.laws.table import draw_from, tabulate
from budgetbandits.simulation.engine import laws as engine_laws
from budgetbandits.simulation.engine.compiler import compile_entry
from budgetbandits.simulation.engine.laws import compiled, laws_in
from budgetbandits.studies.leaderboard.suite import read_suite
from budgetbandits.studies.own_study.run import run_study
from budgetbandits.studies.own_study.study_file import CASE, read
from own_laws import Rising, Shifted, Spelled, rising

SOONEST = bb.policies.above_average()  # no policy compiles sooner, and a law of one's own is compiled with each
LEVELS = [2.0**-53, 1e-9, 0.1, 0.25, 0.5, 0.7, 0.99, 1 - 2.0**-53]
SHIFTED = [
    Shifted(bb.Uniform(0, 1), 2, False),
    Shifted(bb.Beta(2, 3), 1, True),
    Shifted(bb.TruncatedGaussian(0.5, 0.04, 0, 1), 3, True),
    Shifted(bb.Empirical([0.2, 0.4, 0.9]), 1, False),
    Shifted(Rising(0, 1), 1, False),
]

COSTS: list[SteadyLaw | float] = [Rising(1, 3), 2]
SECOND = Shifted(bb.Uniform(0, 0.5), 1, True)
# All runs are on costs and rewards of these classes, and share their machine code: with others it would be compiled
# once more.
PROBLEM = bb.Problem(COSTS, [Rising(0, 1), SECOND])


def runs_of(problem: bb.Problem, policy: bb.Policy, budget: float = 60, **options: Any) -> bb.Runs:
    return bb.simulate(problem, policy, budget, runs=3, seed=7, arm_pulls=True, workers=1, **options)


def rows_of(runs: bb.Runs) -> list[Any]:
    return [[np.asarray(value).tolist() for value in runs[name]] for name in ("reward", "spent", "pulls", "arm_pulls")]


class TestDraws:
    def test_a_table_draws_the_quantile(self) -> None:
        laws: list[SteadyLaw] = [Rising(0, 2), bb.Bernoulli(0.3), Rising(1, 4), Rising(0, 2), Spelled(0, 3)]
        table = tabulate(laws)
        for row, law in enumerate(laws):
            assert [draw_from(table, row, u) for u in LEVELS] == [law.quantile(u) for u in LEVELS]
        assert [draw_from(table, 2, u) for u in LEVELS] == [rising(1, 4, u) for u in LEVELS]

    @pytest.mark.parametrize("law", [Rising(0.5, 3), *SHIFTED], ids=repr)
    def test_compiled_draws_are_pythons(self, law: SteadyLaw) -> None:
        table = compiled(tabulate([law]))
        assert laws_in(table) == (law,)
        entry: Any = compile_entry(engine_laws.draw_once, frozenset(classes_of(law)))
        draws = [entry(table.others, table.parameters[0], u) for u in LEVELS]
        # In Python, too, where another law of the problem cannot be compiled.
        assert draws == [law.quantile(u) for u in LEVELS] == [draw_from(table, 0, u) for u in LEVELS]

    def test_a_field_may_be_named_as_a_method_of_another_spec_is(self) -> None:
        @dataclass(frozen=True)
        class Listed(Rising):
            choose: tuple[float, ...] = (0.5, 0.75)

            def quantile(self, u: float) -> float:
                return self.choose[int(u * len(self.choose))]

        runs_of(PROBLEM, SOONEST)  # its `choose` is a method
        law = Listed(0, 1)
        table = compiled(tabulate([law]))
        entry: Any = compile_entry(engine_laws.draw_once, frozenset(classes_of(law)))
        assert [entry(table.others, table.parameters[0], u) for u in LEVELS] == [law.quantile(u) for u in LEVELS]

    def test_laws_of_one_class_share_their_machine_code(self) -> None:
        laws = [Rising(0, 1 + i) for i in range(20)]
        table = compiled(tabulate([bb.Bernoulli(0.5), *laws, Shifted(Rising(0, 1), 1, False)]))
        assert sorted(type(law).__name__ for law in laws_in(table)) == ["Rising", "Shifted"]
        assert len(set(table.kinds.tolist())) == 3
        assert table.parameters[3, :4].tolist() == [0.0, 3.0, 0.0, 3.0]

    def test_the_packages_laws_are_untouched(self) -> None:
        table = tabulate([bb.Bernoulli(0.5), bb.Uniform(0, 1)])
        assert compiled(table) is table
        assert laws_in(table) == ()

    def test_rounding_is_kept_in_the_support(self) -> None:
        @dataclass(frozen=True)
        class Loose(Rising):
            def quantile(self, u: float) -> float:
                return rising(self.low, self.high, u) + 1e-12

        problem = bb.Problem([1], [Loose(0, 1)])
        assert max(problem.reward(0, count, seed=1) for count in range(50)) <= 1.0
        assert draw_from(problem.tables.rewards, 0, 1 - 2.0**-53) == 1.0


class TestSimulations:
    def test_rewards_are_the_twins(self) -> None:
        runs = runs_of(PROBLEM, SOONEST)
        for run in range(3):
            rising_pulls, shifted_pulls = runs["arm_pulls"][run]
            rewards = [rising(0, 1, uniform(7, REWARD, run, 0, count)) for count in range(rising_pulls)]
            rewards += [0.5 + 0.5 * uniform(7, REWARD, run, 1, count) for count in range(shifted_pulls)]
            assert min(rising_pulls, shifted_pulls) > 0
            assert runs["reward"][run] == pytest.approx(math.fsum(rewards), rel=1e-12)

    def test_costs_are_the_twins(self) -> None:
        assert PROBLEM.price_list(10).unit.base == 2
        runs = runs_of(PROBLEM, SOONEST)
        for run in range(3):
            rising_pulls, known_pulls = runs["arm_pulls"][run]
            costs = [rising(1, 3, uniform(7, CHARGE, run, 0, count)) for count in range(rising_pulls)]
            assert rising_pulls > 0
            assert runs["spent"][run] == pytest.approx(math.fsum(costs) + 2 * known_pulls, rel=1e-9)

    def test_a_run_is_the_live_learners(self) -> None:
        problem = PROBLEM
        runs = runs_of(problem, SOONEST)
        for run in range(3):
            learner = bb.Learner.for_problem(problem, SOONEST, 60, seed=7, run=run)
            done = Counter[int]()
            total = 0.0
            while pull := learner.ask():
                arm = int(pull.arm)
                reward = problem.reward(arm, done[arm], seed=7, run=run)
                cost = {"cost": problem.cost(arm, done[arm], seed=7, run=run)} if arm == 0 else {}
                learner.tell(pull, reward, **cost)
                done[arm] += 1
                total += reward
            assert [done[0], done[1]] == runs["arm_pulls"][run].tolist()
            assert total == pytest.approx(runs["reward"][run], rel=1e-12)

    def test_what_cannot_be_compiled_runs_in_python_with_one_warning(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(engine_laws, "_warned", set())
        engine_laws._rewritten.cache_clear()
        slow = bb.Problem(COSTS, [Spelled(0, 1), SECOND])
        with pytest.warns(
            SlowLawWarning, match=r"Spelled\(low=0, high=1\) cannot be compiled, .*plain Python"
        ) as caught:
            runs = runs_of(slow, SOONEST)
        assert len(caught) == 1
        reason = str(caught[0].message).partition("slower: ")[2]
        assert reason.endswith("(own_laws.py, line 62)")
        assert "\n" not in reason
        assert rows_of(runs) == rows_of(runs_of(PROBLEM, SOONEST))

    def test_a_law_with_many_numbers_runs_in_python(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(engine_laws, "_warned", set())
        law = Shifted(bb.Empirical([i / 100 for i in range(100)]), 1, False)
        with pytest.warns(SlowLawWarning, match="it holds 104 numbers, and compiled code takes 62 at most"):
            assert compiled(tabulate([law])).others == tabulate([law]).others

    def test_laws_that_change(self) -> None:
        def changing(law: type[Rising]) -> bb.Problem:
            rewards = [
                bb.laws.Switching([(1, law(0, 0.5)), (20, bb.Bernoulli(0.5))]),
                bb.laws.Drifting(law(0, 1), bb.Uniform(0, 0.5), start=5, end=30),
                bb.laws.Seasonal(bb.Bernoulli(0.2), law(0.5, 1), period=12),
                bb.laws.Switching([(1, SECOND), (20, bb.Bernoulli(0.5))]),
            ]
            return bb.Problem([Rising(1, 3), 1, 1, 1], rewards)

        runs = runs_of(changing(Rising), SOONEST)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SlowLawWarning)
            assert rows_of(runs) == rows_of(runs_of(changing(Spelled), SOONEST))


@dataclass(frozen=True)
class Wrong(Rising):
    mistake: str = ""

    def quantile(self, u: float) -> float:
        return {"falls": 1 - u, "leaves": 2 * u, "jumps": math.nan}.get(self.mistake, u)

    @property
    def true_mean(self) -> float:
        return 0.7 if self.mistake == "mean" else 0.5

    @property
    def support(self) -> Any:
        return {"support": (1, 0), "ends": 3}.get(self.mistake, (0, 1))


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ("falls", r"quantile\(0.0234375\) is 0.97\d*, less than 0.99\d* before it: it must not fall"),
        ("leaves", r"quantile\(0.5078125\) is 1.015625: it must lie in the support, \(0.0, 1.0\)"),
        ("jumps", r"quantile\(0.0078125\) is nan: it must lie in the support"),
        ("mean", r"true_mean is 0.7: by the quantile function it must lie in \[0.484375, 0.515625\]"),
        ("support", r"support is \(1, 0\): it must be the least and the greatest value"),
        ("ends", r"support is 3: it must be the least and the greatest value"),
    ],
)
def test_a_law_that_contradicts_itself_is_refused(mistake: str, message: str) -> None:
    law = Wrong(0, 1, mistake)
    with pytest.raises(InvalidInput, match=message):
        bb.Problem([1], [law])
    with pytest.raises(InvalidInput, match=message):
        bb.laws.Seasonal(law, bb.Bernoulli(0.5), period=4)


def test_the_variance_follows_from_the_quantiles() -> None:
    assert Rising(0, 3).true_variance == pytest.approx(9 / 18, rel=1e-3)


# --- In files -----------------------------------------------------------------------------------------------

MODULE = '''
import math
from dataclasses import dataclass
import budgetbandits as bb

@bb.laws.register("climbing", usual={"low": 0.0, "high": 1.0})
@dataclass(frozen=True)
class Climbing(bb.laws.SteadyLaw):
    """Rises."""
    low: float
    high: float

    def quantile(self, u):
        return self.low + (self.high - self.low) * math.sqrt(u)

    @property
    def true_mean(self):
        return (self.low + 2 * self.high) / 3

    @property
    def support(self):
        return self.low, self.high

@bb.families.register("climbers")
@dataclass(frozen=True)
class Climbers:
    """Two arms."""
    high: float = 1.0

    def problem(self, seed, run):
        return bb.Problem([1, 2], [Climbing(0, self.high), bb.Bernoulli(0.5)])

@bb.policies.register()
def half_kube():
    """KUBE of half the width."""
    return bb.kube(0.5)
'''
POLICY = 'policies.mine = { policy = "half_kube" }\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a user's module; what it registers is forgotten afterwards."""
    registries: list[Registry[Any]] = [bb.laws.LAWS, bb.families.FAMILIES, bb.policies.POLICIES]
    for registry in registries:
        monkeypatch.setattr(registry, "_definitions", dict(registry._definitions))
    (tmp_path / "own_module_of_a_test.py").write_text(MODULE)
    yield tmp_path
    sys.modules.pop("own_module_of_a_test", None)


def study(folder: Path, text: str) -> Any:
    file = folder / "mine.toml"
    file.write_text('import = ["own_module_of_a_test.py"]\nbudgets = [20, 40]\nruns = 3\n' + POLICY + text)
    return read(file)


def test_a_study_may_name_what_its_module_registers(folder: Path) -> None:
    half = '{ law = "climbing", low = 0, high = 0.5 }'
    arms = f"""
[[arms]]
name = "a"
cost = {{ law = "climbing", low = 1, high = 2 }}
reward = {half}
[[arms]]
name = "b"
cost = 1
reward = {{ law = "seasonal", before = {half}, after = {{ law = "bernoulli", probability = 0.2 }}, period = 9 }}
"""
    file = study(folder, arms)
    problem = file.study.cases[CASE].source
    assert [type(law).__name__ for law in problem.rewards] == ["Climbing", "Seasonal"]
    assert problem.cost_laws[0].true_mean == pytest.approx(5 / 3)
    assert file.study.policies == {"mine": bb.kube(0.5)}
    assert list(file.imports) == ["own_module_of_a_test.py"]


def test_a_family_of_the_module_nested_as_well(folder: Path) -> None:
    plain = study(folder, 'problem = { family = "climbers", high = 2 }\n').study.cases[CASE].source
    assert repr(plain) == "Climbers(high=2)"
    wide = study(folder, 'problem = { family = "wide_range", of = { type = "climbers" }, factor = 2 }\n')
    assert wide.study.cases[CASE].source.problem(0, 0).reward_range == (0.0, 2.0)


def test_a_list_of_a_leaderboard_imports_as_well(folder: Path) -> None:
    file = folder / "list.toml"
    text = '[problems.own]\nfamily = "climbers"\n[policies.mine]\npolicy = "half_kube"\n'
    file.write_text('import = ["own_module_of_a_test.py"]\n' + text)
    suite = read_suite(file)
    assert repr(suite.problems["own"]) == "Climbers(high=1.0)"
    before = suite.digest
    (folder / "own_module_of_a_test.py").write_text(MODULE + "\n")
    assert read_suite(file).digest != before


def test_a_changed_module_is_another_study(folder: Path) -> None:
    text = 'problem.family = "bernoulli"\n'  # whose laws need no compilation of their own
    study(folder, text)
    run_study(folder / "mine.toml", folder / "out")
    (folder / "own_module_of_a_test.py").write_text(MODULE + "\n")
    with pytest.raises(OutputError, match="imports"):
        run_study(folder / "mine.toml", folder / "out")


def test_observations_are_found_beside_the_file(folder: Path) -> None:
    (folder / "seen.csv").write_text("arm,cost,reward\na,1,0\na,1,1\nb,2,1\n")
    file = study(folder, 'problem = { observations = "seen.csv", reward_range = [0, 2] }\n')
    problem = file.study.cases[CASE].source
    assert (problem.names, problem.means.tolist(), problem.reward_range) == (["a", "b"], [0.5, 1.0], (0.0, 2.0))
    listed = folder / "list.toml"
    listed.write_text('[problems.seen]\nobservations = "seen.csv"\n')
    found = read_suite(listed).problems["seen"]
    assert isinstance(found, bb.Problem)
    assert found.reward_range == (0.0, 1.0)


def test_a_module_that_fails_or_collides_is_named(folder: Path) -> None:
    file = folder / "mine.toml"
    (folder / "own_failing_module.py").write_text("1 / 0")
    file.write_text('import = ["own_failing_module.py"]\nbudgets = [20]\nproblem.family = "bernoulli"\n' + POLICY)
    with pytest.raises(
        InvalidInput, match=r"import\[0\] is 'own_failing_module.py': running it raised ZeroDivisionErr"
    ):
        read(file)
    assert "own_failing_module" not in sys.modules
    (folder / "json.py").write_text("")
    file.write_text('import = ["json.py"]\nbudgets = [20]\nproblem.family = "bernoulli"\n' + POLICY)
    with pytest.raises(InvalidInput, match=r"there is a module named 'json' already; give the file another name"):
        read(file)


@pytest.mark.parametrize("name", ["own_law", "observations", "paper_family"])
def test_the_examples_are_read(name: str, folder: Path) -> None:
    found = read(Path(__file__).parents[1] / "examples" / f"{name}.toml")
    assert found.study.policies
    sys.modules.pop("own_law", None)
