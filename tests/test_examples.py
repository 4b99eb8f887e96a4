"""Every program in `examples/` runs as a user would run it, and says what it promises to say."""

import io
import re
import runpy
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import pytest

import budgetbandits as bb

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

SPENT_OF_BUDGET = re.compile(r"spent ([\d.]+) of ([\d.]+)")
POLICY_ROW = re.compile(
    r"^(?P<policy>\S.*?) +(?P<done>\d+) +(?P<spent>[\d.]+) +(?P<left>[\d.]+) +(?P<earned>[\d.]+)", re.M
)


def run(example: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = ROOT / "examples" / example
    command = [sys.executable, "-W", "error", str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def run_here(example: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Do the same in this process: to start one takes longer than most examples do."""
    said, complained, code = io.StringIO(), io.StringIO(), 0
    command = [str(ROOT / "examples" / example), *arguments]
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(said), redirect_stderr(complained):
        patched.setattr(sys, "argv", command)
        try:
            runpy.run_path(command[0], run_name="__main__")
        except SystemExit as end:
            code = int(end.code or 0)
    return subprocess.CompletedProcess(command, code, said.getvalue(), complained.getvalue())


def output_of(example: str, *arguments: str) -> str:
    return output_in(run_here(example, *arguments))


def output_in(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    # What has been compiled before is not announced again.
    assert [line for line in done.stderr.splitlines() if not line.startswith("budgetbandits compiles ")] == []
    return done.stdout


@cache
def usual_output_of(example: str) -> str:
    """Return what an example says without arguments, in a process of its own: once for all tests that look at it."""
    return output_in(run(example))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_it_says_what_it_shows_runs_without_arguments_and_stays_within_its_budget(example: Path) -> None:
    assert example.read_text(encoding="utf-8").startswith('"""')
    output = usual_output_of(example.name)
    assert output
    for spent, budget in SPENT_OF_BUDGET.findall(output):
        assert float(spent) <= float(budget)


def sensor_rows(output: str) -> dict[str, dict[str, float]]:
    rows = (match.groupdict() for match in POLICY_ROW.finditer(output.partition("Best possible")[0]))
    return {row.pop("policy"): {name: float(value) for name, value in row.items()} for row in rows}


@pytest.mark.parametrize("battery", ["2000", "350.7"])
def test_every_policy_of_the_sensor_node_spends_the_battery_and_no_more(battery: str) -> None:
    output = output_of("sensor_node.py", "--battery", battery, "--seed", "3")
    rows = sensor_rows(output)
    assert {"recommended", "KUBE", "fractional KUBE", "eps-first, 10%"} <= rows.keys()
    for row in rows.values():
        assert row["spent"] <= float(battery)
        assert row["spent"] + row["left"] == pytest.approx(float(battery))
        assert row["left"] < 0.8  # the cheapest task
        assert row["earned"] > 0
    assert "relay a packet" in output


def test_the_sensor_node_repeats_itself_with_the_same_seed_only() -> None:
    first, other = (output_of("sensor_node.py", "--battery", "200", "--seed", seed) for seed in "12")
    assert first == output_in(run("sensor_node.py", "--battery", "200", "--seed", "1"))
    assert first != other


def test_a_battery_that_is_nearly_empty_is_no_error() -> None:
    output = output_of("sensor_node.py", "--battery", "0.01")
    assert "the battery pays for no task" in output
    assert all(row["done"] == 0 for row in sensor_rows(output).values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--battery", "-5"], "argument --battery: budget is -5: a budget must be greater than 0"),
        (["--battery", "0"], "argument --battery: budget is 0: a budget must be greater than 0"),
        (["--battery", "nan"], "argument --battery: budget is NaN: give a number"),
        (["--battery", "inf"], "argument --battery: budget is inf: a budget must be greater than 0, and finite"),
        (["--battery", "full"], "argument --battery: budget is 'full': give a number"),
        (["--battery", "1e15"], "argument --battery: "),
        (["--seed", "-1"], "argument --seed: seed is -1: give a whole number"),
        (["--seed", "one"], "argument --seed: invalid int value: 'one'"),
        (["--colour"], "unrecognized arguments: --colour"),
    ],
)
def test_bad_arguments_of_the_sensor_node_get_one_clear_message(arguments: list[str], message: str) -> None:
    done = run_here("sensor_node.py", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_the_help_of_the_sensor_node_names_its_arguments() -> None:
    output = output_of("sensor_node.py", "--help")
    assert "--battery" in output
    assert "--seed" in output
    assert "default: 2000" in output


def test_own_parts_compose_and_are_restored() -> None:
    output = usual_output_of("own_index_and_oracle.py")
    assert "VarianceAware(width=0.2)" in output
    assert "Spread(arms=2)" in output
    assert "The same pulls to the end of the budget: True" in output
    assert SPENT_OF_BUDGET.search(output)


def test_workers_settle_everything_and_continue_after_a_restart() -> None:
    output = usual_output_of("workers.py")
    assert "restored with 2 calls outstanding" in output
    assert "continues as the first one would have: True" in output
    assert "spent 2.500 of 2.500, reserved 0.000" in output


def test_remote_workers_do_not_notice_that_the_service_is_killed() -> None:
    output = usual_output_of("remote_workers.py")
    assert "The service was killed once. 150 calls by workers" in output
    assert "300 entries adds up" in output


def test_the_router_answers_every_question_but_those_that_timed_out() -> None:
    output = usual_output_of("router.py")
    stopped = re.search(r"Stopped: (\d+) questions are open, (\d+) pulls outstanding", output)
    assert stopped is not None
    assert int(stopped[2]) >= 8  # one a thread, and those that timed out
    assert ", reserved 0.000000, " in output
    requests = re.search(r"400 requests: (\d+) answered, 0 left, (\d+) without an answer", output)
    assert requests is not None
    answered, lost = map(int, requests.groups())
    assert answered + lost == 400
    troubles = re.search(r"(\d+) calls were refused, (\d+) leases ended, (\d+) were renewed", output)
    assert troubles is not None
    assert all(int(count) > 0 for count in troubles.groups())
    assert 0 < lost < int(troubles[2])  # some answers came late
    pulls = re.findall(r"^(small|medium|large) +[\d.]+ +(\d+) ", output, re.M)
    assert sum(int(count) for _, count in pulls) == 400
    assert "entries adds up, and every choice was the policy's" in output


def test_the_study_keeps_its_runs_and_refuses_none(tmp_path: Path) -> None:
    target = tmp_path / "runs.parquet"
    output = output_of("study.py", "--runs", "3", "--out", str(target))
    assert "fractional KUBE" in output
    assert len(bb.Runs.from_parquet(target)) == 3 * 4 * 3
    refused = run_here("study.py", "--runs", "0")
    assert refused.returncode == 2
    assert "runs is 0" in refused.stderr


def test_experts_are_hired_no_more_often_than_they_have_hours() -> None:
    output = usual_output_of("experts.py")
    hired = re.findall(r"hired (\d+) times, at most (\d+|any number)", output)
    assert len(hired) == 8
    assert all(limit == "any number" or int(count) <= int(limit) for count, limit in hired)
    assert ("120", "120") in hired
    assert "Who knew all chances would solve" in output


NEWCOMERS = ("campaign", "experts", "router", "sensor_node")
FIRST_USES = {
    "Learner": bb.Learner.__doc__,
    "Campaign": bb.Campaign.__doc__,
    "open_store": bb.open_store.__doc__,
    "simulate": bb.simulate.__doc__,
    **{
        file: (ROOT / file).read_text(encoding="utf-8")
        for file in ("README.md", "docs/learner.md", *(f"examples/{name}.py" for name in NEWCOMERS))
    },
}


@pytest.mark.parametrize("place", FIRST_USES)
def test_a_first_use_shows_the_recommended_policy(place: str) -> None:
    """KUBE, with its proof, loses five times as much on such problems."""
    policies = re.findall(r"bb\.(recommended|kube|fractional_kube|epsilon_first|thompson)\(", FIRST_USES[place] or "")
    assert policies[0] == "recommended"
