"""A user's experiment as a TOML file: what it means, and what a mistake in it is told."""

from pathlib import Path
from typing import Any

import pytest

import budgetbandits as bb
from budgetbandits.errors import InvalidInput
from budgetbandits.studies.own_study.study_file import CASE, StudyFile, read

FAMILY = 'problem = { family = "paper", name = "moderate", arms = 5 }\n'
POLICY = 'policies.KUBE = { policy = "kube" }\n'
BUDGETS = "budgets = [100, 1000]\n"
ARM = '[[arms]]\nname = "a"\ncost = 2\nreward = { law = "bernoulli", probability = 0.2 }\n'
PLAIN = BUDGETS + POLICY


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mine.toml"


def read_text(file: Path, text: str) -> StudyFile:
    file.write_text(text, encoding="utf-8")
    return read(file)


def test_a_short_file_has_defaults(file: Path) -> None:
    text = PLAIN + FAMILY
    found = read_text(file, text)
    assert (found.path, found.text, found.title) == (file, text, "mine")
    assert (found.runs, found.study.seed, found.against, found.per_log) == (100, 0, "optimum", False)
    assert found.study.budgets == (100.0, 1000.0)
    assert found.study.policies == {"KUBE": bb.kube()}
    assert found.study.cases[CASE].source == bb.paper_family("moderate", 5)
    assert found.study.exact_optimum


def test_a_family_has_a_hundred_arms_unless_told_otherwise(file: Path) -> None:
    found = read_text(file, PLAIN + 'problem = { family = "paper", name = "extreme" }\n')
    assert found.study.cases[CASE].source == bb.paper_family("extreme", 100)


def test_a_long_file_says_it_all(file: Path) -> None:
    found = read_text(
        file,
        """
title = "All of it"
seed = 7
runs = 12
budgets = ["50.5", 20, 1e3]
against = "fractional"
per_log = true
reward_range = [0, 3]

[[arms]]
name = "a"
cost = "0.10"
reward = { law = "uniform", low = 0.5, high = 2 }

[[arms]]
name = "b"
cost = 3
reward = { law = "empirical", values = [1, 2, 3] }

[policies."eps-first .1"]
policy = "epsilon_first"
epsilon = 0.1
exploit = "Exact"

[policies.own]
policy = "index_policy"
index = { type = "UCB1", width = 0.5 }
oracle = "Fractional"
""",
    )
    assert (found.title, found.study.seed, found.runs) == ("All of it", 7, 12)
    assert (found.against, found.per_log, found.study.exact_optimum) == ("fractional", True, False)
    assert found.study.budgets == (20.0, 50.5, 1000.0)
    problem = found.study.cases[CASE].source
    assert isinstance(problem, bb.Problem)
    assert (problem.names, problem.costs.tolist(), problem.reward_range) == (["a", "b"], [0.1, 3.0], (0.0, 3.0))
    assert problem.rewards == (bb.Uniform(0.5, 2), bb.Empirical([1, 2, 3]))
    assert list(found.study.policies) == ["eps-first .1", "own"]
    assert found.study.policies["own"] == bb.IndexPolicy(bb.indices.UCB1(0.5), bb.oracles.Fractional())


def test_budgets_can_be_spread_evenly_over_their_logarithm(file: Path) -> None:
    found = read_text(file, "budgets = { from = 1e3, to = 1e6, count = 4 }\n" + POLICY + FAMILY)
    assert found.study.budgets == (1e3, 1e4, 1e5, 1e6)
    found = read_text(file, "budgets = { from = 100, to = 1000, count = 3 }\n" + POLICY + FAMILY)
    assert found.study.budgets == (100.0, 316.0, 1000.0)


def test_the_range_of_rewards_is_that_of_the_arms_unless_it_is_given(file: Path) -> None:
    problem = read_text(file, PLAIN + ARM).study.cases[CASE].source
    assert isinstance(problem, bb.Problem)
    assert problem.reward_range == (0.0, 1.0)


LIMITED = ARM + "limit = 50\n"
CHANGING = (
    '[[arms]]\nname = "b"\ncost = 1\n[arms.reward]\nlaw = "drifting"\nstart = 1\nend = 9\n'
    'before = { law = "bernoulli", probability = 0.1 }\nafter = { law = "bernoulli", probability = 0.9 }\n'
)


def test_arms_may_have_limits(file: Path) -> None:
    found, plain = read_text(file, PLAIN + LIMITED).study.cases[CASE], read_text(file, PLAIN + ARM).study.cases[CASE]
    assert isinstance(found.source, bb.Problem)
    assert found.source.limits.tolist() == [50]
    assert found.description["arms"][0]["limit"] == 50
    assert "limit" not in plain.description["arms"][0]  # so that older experiments go on


def test_where_rewards_change_the_regret_is_against_the_fractional_optimum(file: Path) -> None:
    found = read_text(file, PLAIN + CHANGING)
    assert found.against == "fractional"
    assert not found.study.exact_optimum
    with pytest.raises(
        InvalidInput, match="against is 'optimum': rewards change or costs are random, and there is no exact"
    ):
        read_text(file, 'against = "optimum"\n' + PLAIN + CHANGING)


@pytest.mark.parametrize("limit", ["0", "-1", "2.5", '"3"', "true"])
def test_a_bad_limit_is_named(file: Path, limit: str) -> None:
    with pytest.raises(InvalidInput, match=r"arms\['a'\].limit is "):
        read_text(file, PLAIN + ARM + f"limit = {limit}\n")


def test_runs_and_seed_can_be_changed(file: Path) -> None:
    found = read_text(file, PLAIN + FAMILY)
    assert found.changed() == found
    changed = found.changed(runs=3, seed=9)
    assert (changed.runs, changed.study.seed, changed.study.budgets) == (3, 9, found.study.budgets)
    with pytest.raises(InvalidInput, match="runs is 0: give a whole number from 1"):
        found.changed(runs=0)
    with pytest.raises(InvalidInput, match="seed is -1: give a whole number from 0"):
        found.changed(seed=-1)


def arms(**changes: Any) -> str:
    keys = {"name": '"a"', "cost": "2", "reward": '{ law = "bernoulli", probability = 0.2 }'} | changes
    return PLAIN + "[[arms]]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items() if value)


def budgets(value: str) -> str:
    return f"budgets = {value}\n" + POLICY + FAMILY


def policies(text: str) -> str:
    return BUDGETS + FAMILY + text


MISTAKES = {
    "line": ("seed = 1\nruns 3\n", "this is not TOML: Expected '=' after a key in a key/value pair (at line 2"),
    "twice": ("seed = 1\nseed = 2\n", "this is not TOML: Cannot overwrite a value (at line 2"),
    "digits": (f"seed = {'9' * 5000}", "this is not TOML: "),
    "nested": ("seed = " + "[" * 5000, "this is not TOML: "),
    "parts": ("a." * 20_000 + "b = 1", "this is not TOML: a key has a hundred parts or more"),
    "table": ("[" + "a . " * 20_000 + "b]", "this is not TOML: a key has a hundred parts or more"),
    "empty": (
        "",
        "budgets is missing: it has no default; allowed are title, seed, runs, budgets, requests, skip, against",
    ),
    "no policies": (BUDGETS + FAMILY, "policies is missing"),
    "no source": (PLAIN, 'problem and arms are both missing: give either [problem] with family = "bernoulli"'),
    "two sources": (PLAIN + FAMILY + ARM, "problem and arms are both there: give either [problem]"),
    "unknown key": (
        PLAIN + FAMILY.replace("problem", "problm"),
        "problm is {'family': 'paper', 'name': 'moderate', 'arms': 5}, but there is",
    ),
    "nearest key": (
        "budget = [1]\n" + POLICY + FAMILY,
        "budget is [1], but there is no such key: did you mean 'budgets'?",
    ),
    "title": ("title = 3\n" + PLAIN + FAMILY, "title is 3: give one line of text"),
    "title of two lines": ('title = "a\\nb"\n' + PLAIN + FAMILY, "title is 'a\\nb': give one line of text"),
    "blank title": ('title = " "\n' + PLAIN + FAMILY, "title is ' ': give one line of text"),
    "seed": ("seed = -1\n" + PLAIN + FAMILY, "seed is -1: give a whole number from 0 to 9223372036854775807"),
    "runs": ("runs = 0\n" + PLAIN + FAMILY, "runs is 0: give a whole number from 1 to 4294967295"),
    "real runs": ("runs = 1e3\n" + PLAIN + FAMILY, "runs is 1000.0: give a whole number from 1"),
    "true runs": ("runs = true\n" + PLAIN + FAMILY, "runs is true: give a whole number from 1"),
    "against": ('against = "best"\n' + PLAIN + FAMILY, "against is 'best': it must be one of optimum, fractional"),
    "per_log": ("per_log = 1\n" + PLAIN + FAMILY, "per_log is 1: it must be true or false"),
    # Budgets
    "budget": (budgets("1000"), "budgets is 1000: give at least one amount, such as [1000, 10000]"),
    "no budgets": (budgets("[]"), "budgets is []: give at least one amount"),
    "same budget": (
        budgets('[100, 200, "100.0"]'),
        "budgets[2] is '100.0', and so is budgets[0]: give each budget once",
    ),
    "text budget": (budgets('["much"]'), "budgets[0] is 'much': give a number, or text such as '2.50'"),
    "true budget": (budgets("[true]"), "budgets[0] is True: give a number, or text such as '2.50'"),
    "negative budget": (budgets("[100, -5]"), "budgets[1] is -5: a budget must be 0 or more, and finite"),
    "infinite budget": (budgets("[inf]"), "budgets[0] is inf: a budget must be 0 or more, and finite"),
    "no number": (budgets("[nan]"), "budgets[0] is nan: give a number"),
    "family's cost": (budgets("[100, 10]"), "budgets[1] is 10: it must be greater than 10, so that it buys something"),
    "arms' cost": ("budgets = [2]\n" + POLICY + ARM, "budgets[0] is 2: it must be greater than 2, the least cost"),
    "vast": ("budgets = [1e17]\n" + POLICY + ARM, "budgets[0]: 1E+17 is more than 2^53 units"),
    "spread key": (budgets("{ from = 1, to = 9, number = 3 }"), "budgets.number is 3, but there is no such key"),
    "spread from": (budgets("{ to = 9, count = 3 }"), "budgets.from is missing: it has no default"),
    "spread text": (budgets('{ from = "1", to = 9, count = 3 }'), "budgets.from is '1': give a number"),
    "spread zero": (budgets("{ from = 0, to = 9, count = 3 }"), "budgets.from is 0: it must be greater than 0"),
    "spread down": (
        budgets("{ from = 9, to = 1, count = 3 }"),
        "budgets.to is 1: it must be greater than budgets.from, 9",
    ),
    "spread far": (
        budgets("{ from = 9, to = inf, count = 3 }"),
        "budgets.to is inf: it must be greater than budgets.from",
    ),
    "spread count": (
        budgets("{ from = 1, to = 9, count = 1 }"),
        "budgets.count is 1: give a whole number from 2 to 1000",
    ),
    "spread dense": (
        budgets("{ from = 20, to = 22, count = 9 }"),
        "budgets[1] is 20, and so is budgets[0]: give each budget once; {'from': 20, 'to': 22, 'count': 9} is too",
    ),
    # Family
    "problem": (PLAIN + 'problem = "moderate"\n', "problem is 'moderate': give a table, such as [problem] with family"),
    "family": (
        PLAIN + 'problem.family = "papers"\n',
        "problem.family is 'papers': did you mean 'paper'? it must be one of",
    ),
    "family key": (
        PLAIN + 'problem = { family = "paper", name = "moderate", arm = 5 }\n',
        "problem.arm is 5, but there is no such key: did you",
    ),
    "family's name": (
        PLAIN + 'problem = { family = "paper", name = "modest" }\n',
        "problem.name is 'modest': did you mean 'moderate'? it must be one of 'homogeneous', 'moderate', 'extreme'",
    ),
    "nameless problem": (PLAIN + "problem.arms = 5\n", "problem.family is missing: it must be one of paper, "),
    "nameless family": (PLAIN + 'problem.family = "paper"\n', "problem.name is missing: it has no default"),
    "family's arms": (
        PLAIN + 'problem = { family = "paper", name = "extreme", arms = 0 }\n',
        "problem.arms is 0: give at least one arm",
    ),
    "nested family": (
        PLAIN + 'problem = { family = "wide_range", of = { type = "betta" }, factor = 2 }\n',
        "problem.of.type is 'betta': did you mean 'beta'?",
    ),
    "cost in a family": (
        'budgets = [100, 0.5]\npolicies.a = { policy = "kube" }\nproblem.family = "bernoulli"\n',
        "budgets[1] is 0.5: it must be greater than 1.",
    ),
    "no exact optimum in a family": (
        PLAIN + 'against = "optimum"\nproblem.family = "random_costs"\n',
        "against is 'optimum': rewards change or costs are random",
    ),
    "observations that are not there": (
        PLAIN + 'problem.observations = "none.csv"\n',
        "problem.observations: ",
    ),
    "observations that are no text": (PLAIN + "problem.observations = 3\n", "problem.observations is 3: give one line"),
    "observations of a family": (
        PLAIN + 'problem = { observations = "a.csv", family = "bernoulli" }\n',
        "problem.family is 'bernoulli', but there is no such key: allowed are observations, reward_range",
    ),
    "range of observations": (
        PLAIN + 'problem = { observations = "a.csv", reward_range = 3 }\n',
        "problem.reward_range is 3: give the least and the greatest possible reward",
    ),
    # Python files
    "imports": ('import = "mine.py"\n' + PLAIN + FAMILY, "import is 'mine.py': give a list of Python files"),
    "import by name": ('import = ["mine"]\n' + PLAIN + FAMILY, "import[0] is 'mine': give the path of a Python file"),
    "import of nothing": ('import = ["none.py"]\n' + PLAIN + FAMILY, "import[0] is 'none.py': "),
    "family's range": ("reward_range = [0, 1]\n" + PLAIN + FAMILY, "reward_range is [0, 1]: it goes with [[arms]]"),
    # Arms
    "no arms": ("arms = []\n" + PLAIN, "arms is []: give at least one [[arms]] with name"),
    "arms table": (PLAIN + "arms.a = 1\n", "arms is {'a': 1}: give at least one [[arms]] with name"),
    "arm": ("arms = [1]\n" + PLAIN, "arms[0] is 1: give a table, such as [[arms]] with name"),
    "arm key": (arms(price="1"), "arms[0].price is 1, but there is no such key: allowed are name, cost"),
    "arm's name": (arms(name="1"), "arms[0].name is 1: give one line of text"),
    "nameless arm": (arms(name=""), "arms[0].name is missing: it has no default; allowed are name, cost, reward"),
    "same name": (PLAIN + ARM + ARM, "arms[1].name is 'a', and so is arms[0].name: give each arm a name of its own"),
    "no cost": (arms(cost=""), "arms[0].cost is missing"),
    "cost of 0": (arms(cost="0"), "arms['a'].cost is 0: a cost must be greater than 0"),
    "negative cost": (arms(cost='"-2.5"'), "arms['a'].cost is -2.5: a cost must be 0 or more"),
    "text cost": (arms(cost='"free"'), "arms['a'].cost is 'free': give a number, or text such as '2.50'"),
    "list cost": (arms(cost="[1]"), "arms['a'].cost is [1]: give a number, or text such as '2.50'"),
    "range of costs": (
        arms(cost="[0.5, 2]"),
        "arms['a'].cost is the range 0.5..2: a study draws its costs; give a law, such as "
        '{ law = "uniform", low = 0.5, high = 2 }, or an amount',
    ),
    "text range of costs": (
        arms(cost='"0.05..0.40"'),
        "arms['a'].cost is the range 0.05..0.40: a study draws its costs",
    ),
    "date cost": (arms(cost="2024-05-01"), "arms['a'].cost is datetime.date(2024, 5, 1): give a number"),
    "lawless cost": (
        arms(cost="{ low = 1 }"),
        "arms['a'].cost.law is missing: it must be one of bernoulli, beta",
    ),
    "negative cost law": (
        arms(cost='{ law = "uniform", low = -1, high = 1 }'),
        "arms['a'].cost is Uniform(low=-1.0, high=1.0): a law must draw costs of 0 or more",
    ),
    "exact optimum of random costs": (
        'against = "optimum"\n' + arms(cost='{ law = "uniform", low = 1, high = 3 }'),
        "against is 'optimum': rewards change or costs are random, and there is no exact optimum",
    ),
    "budget for random costs": (
        arms(cost='{ law = "uniform", low = 1, high = 1e4 }'),
        "budgets[0] is",
    ),
    "no reward": (arms(reward=""), "arms[0].reward is missing"),
    "bare reward": (arms(reward="0.5"), "arms['a'].reward is 0.5: give a table, such as { law = \"bernoulli\""),
    "lawless reward": (
        arms(reward="{ probability = 0.5 }"),
        "arms['a'].reward.law is missing: it must be one of bernoulli, beta",
    ),
    "reward": (
        arms(reward='{ law = "bernoulli", probability = 2 }'),
        "arms['a'].reward.probability is 2.0: it must lie in",
    ),
    "negative reward": (
        arms(reward='{ law = "uniform", low = -1, high = 1 }'),
        "arms['a'].reward may pay -1.0: rewards below",
    ),
    "one reward": (
        arms(reward='{ law = "empirical", values = [1] }'),
        "arms: all arms pay 1.0 and nothing else: declare a",
    ),
    "range": (
        "reward_range = 1\n" + arms(),
        "reward_range is 1: give the least and the greatest possible reward, such as",
    ),
    "range of 3": ("reward_range = [0, 1, 2]\n" + arms(), "reward_range is [0, 1, 2]: give the least and the greatest"),
    "range of text": ('reward_range = [0, "1"]\n' + arms(), "reward_range[1] is '1': give a number"),
    "range down": (
        "reward_range = [1, 0]\n" + arms(),
        "reward_range is (1, 0): give the least and the greatest possible",
    ),
    "narrow range": (
        "reward_range = [0, 0.5]\n" + arms(),
        "reward_range: arm 'a' pays rewards in (0.0, 1.0): they must lie",
    ),
    # Policies
    "empty policies": (policies("[policies]\n"), "policies is empty: give at least one, such as [policies.KUBE]"),
    "listed policies": (
        policies('[[policies]]\npolicy = "kube"\n'),
        "policies is [{'policy': 'kube'}]: give a table, such",
    ),
    "bare policy": (
        policies('policies.KUBE = "kube"\n'),
        "policies.KUBE is 'kube': give a table, such as [policies.KUBE]",
    ),
    "nameless policy": (
        policies('policies."" = { policy = "kube" }\n'),
        "a name in policies is '': give one line of text",
    ),
    "no policy": (policies("policies.KUBE.width = 1\n"), "policies.KUBE.policy is missing: it must be one of kube,"),
    "policy": (
        policies('policies."my own".policy = "kub"\n'),
        "policies.\"my own\".policy is 'kub': did you mean 'kube'?",
    ),
    "parameter": (
        policies('policies.KUBE = { policy = "kube", width = -1 }\n'),
        "policies.KUBE.width is -1: it must be",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_file_key_value_and_what_is_allowed(mistake: str, file: Path) -> None:
    text, message = MISTAKES[mistake]
    with pytest.raises(InvalidInput) as caught:
        read_text(file, text)
    assert str(caught.value).startswith(f"{file}: {message}")


def test_a_cost_may_be_a_law(file: Path) -> None:
    study = read_text(file, arms(cost='{ law = "uniform", low = 0.5, high = 1.5 }'))
    assert study.against == "fractional"
    assert not study.study.exact_optimum
    assert "Uniform(low=0.5, high=1.5)" in str(study.study.identity())


def test_a_file_that_is_not_there_or_cannot_be_read_is_named(tmp_path: Path) -> None:
    absent = tmp_path / "absent.toml"
    with pytest.raises(InvalidInput) as caught:
        read(absent)
    assert str(caught.value).startswith(f"{absent}: the file cannot be read (No such file or directory): give an")
    with pytest.raises(InvalidInput, match="the file cannot be read"):
        read(tmp_path)


def test_a_file_in_another_encoding_is_named_with_the_line(file: Path) -> None:
    file.write_bytes("seed = 1\ntitle = 'Grüße'\n".encode("latin-1"))
    with pytest.raises(InvalidInput, match="line 2 is not UTF-8"):
        read(file)


def test_what_decides_the_rows_decides_the_identity(file: Path) -> None:
    plain = read_text(file, PLAIN + ARM).study.identity()
    assert read_text(file, "title = 'x'\nruns = 3\n" + PLAIN + ARM).study.identity() == plain
    for changed in (
        PLAIN + ARM.replace("cost = 2", "cost = 3"),
        PLAIN + ARM.replace("0.2", "0.3"),
        PLAIN + ARM.replace('"a"', '"b"'),
        "reward_range = [0, 2]\n" + PLAIN + ARM,
        "seed = 1\n" + PLAIN + ARM,
        PLAIN.replace("100,", "101,") + ARM,
        PLAIN.replace('"kube"', '"ucb1"') + ARM,
        PLAIN + FAMILY,
    ):
        assert read_text(file, changed).study.identity() != plain


RESOURCES = """
budgets = [50]
runs = 2

[[arms]]
name = "small"
costs = { usd = "0.5", gpu_s = 1 }
reward = { law = "bernoulli", probability = 0.4 }

[[arms]]
name = "large"
costs = { usd = 2, gpu_s = { law = "uniform", low = 1, high = 3 } }
reward = { law = "bernoulli", probability = 0.9 }

[policies.recommended]
policy = "recommended"
"""


def test_an_arm_may_cost_several_resources(file: Path) -> None:
    problem = read_text(file, RESOURCES).study.cases[CASE].source
    assert isinstance(problem, bb.Problem)
    assert problem.resources == ("usd", "gpu_s")
    assert problem.costs_of("gpu_s").tolist() == [1, 2]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('costs = { usd = "0.5", gpu_s = 1 }', "costs = 3", "arms['small'].costs is 3"),
        ('costs = { usd = "0.5", gpu_s = 1 }', "cost = 1\ncosts = { usd = 1 }", "arms[0].cost is 1, but there is no"),
        ("gpu_s = 1 }", "eur = 1 }", "names the resource"),
        (
            'runs = 2\n\n[[arms]]\nname = "small"\ncosts = { usd = "0.5", gpu_s = 1 }',
            'runs = 2\nreward_range = [0, 1]\n[[arms]]\nname = "small"\ncosts = { usd = 1 }',
            "toml: arms: cost of arm 'large' names the resource 'gpu_s', which arm 'small' does not have",
        ),
        ("gpu_s = 1 }", "gpu_s = -1 }", "-1"),
    ],
)
def test_resources_that_are_wrong(file: Path, before: str, after: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_text(file, RESOURCES.replace(before, after))
    assert message in str(caught.value)
