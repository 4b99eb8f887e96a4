"""A sensor node spends its battery on tasks whose worth it has to learn.

Each task costs energy and pays some value of information between 0 and 1. The costs are known, the values are not.
Five policies spend the same battery on the same drawn rewards: the n-th time that a task is done, it pays
the same whichever policy does it. So the differences below come from the choices, not from the draws.
KUBE and fractional KUBE often earn the same to the last digit here: they do the same tasks equally often, in
another order.

Shown: a live `Learner`, `Problem.reward`, `Problem.optimum` and `knapsack.exact`.

    python examples/sensor_node.py --battery 5000 --seed 3
"""

import argparse
from collections import Counter
from collections.abc import Sequence

import budgetbandits as bb

POLICIES = {
    "recommended": bb.recommended(),
    "KUBE": bb.kube(),
    "fractional KUBE": bb.fractional_kube(),
    "KUBE, width 0.1": bb.kube(width=0.1),
    "fractional KUBE, width 0.1": bb.fractional_kube(width=0.1),
    "eps-first, 10%": bb.epsilon_first(0.1),
}


def spend(policy: bb.Policy, problem: bb.Problem, battery: str, seed: int) -> bb.Learner:
    """Let a policy do tasks until the battery pays for none, and return the learner."""
    costs = dict(zip(problem.names, problem.costs.tolist(), strict=True))
    learner = bb.Learner(policy, costs=costs, budget=battery, reward_range=problem.reward_range, seed=seed)
    done = Counter[str | int]()
    while pull := learner.ask():
        learner.tell(pull, reward=problem.reward(pull.arm, done[pull.arm], seed=seed))
        done[pull.arm] += 1
    return learner


def best_plan(problem: bb.Problem, battery: str) -> str:
    """Describe what a node would do that knows the mean worth of every task."""
    solution = bb.knapsack.exact(problem.means, problem.costs, battery)
    plan = [f"{count} x {name}" for name, count in zip(problem.names, solution.counts, strict=True) if count > 0]
    return ", ".join(plan) or "nothing: the battery pays for no task"


def report(problem: bb.Problem, battery: str, learners: dict[str, bb.Learner]) -> None:
    """Print what was spent and earned, what one of the learners knows, and what was possible."""
    best = problem.optimum(battery)
    budget = next(iter(learners.values())).money.budget
    print(f"A sensor node: {len(problem)} tasks, a battery of {budget:g} mJ.\n")
    print(f"{'policy':28}{'tasks done':>10}{'spent':>12}{'left':>8}{'earned':>12}{'of the best':>14}")
    for name, learner in learners.items():
        share = f"{learner.reward_total / best:.1%}" if best > 0 else "-"
        print(
            f"{name:28}{learner.pulls:>10}{learner.money.spent:>12.1f}{learner.money.left:>8.1f}"
            f"{learner.reward_total:>12.2f}{share:>14}"
        )
    print(f"\nBest possible on average, all means known: {best:.2f}")
    print(f"  {best_plan(problem, battery)}\n")
    name, learner = next(iter(learners.items()))
    print(f"What {name} knows at the end (density: upper bound per mJ):\n")
    print(learner.arms)
    print("\nThe truth, which no policy was told:\n")
    print(f"{'task':20}{'cost':>8}{'mean':>8}{'density':>10}")
    for task, cost, mean, density in zip(problem.names, problem.costs, problem.means, problem.densities, strict=True):
        print(f"{task:20}{cost:>8.1f}{mean:>8.3f}{density:>10.4f}")
    print("\nThis is one run. Try other values of --seed and --battery before you conclude anything.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the arguments, let every policy spend the battery, and print the comparison."""
    parser = argparse.ArgumentParser(description="A sensor node learns which tasks are worth its battery.")
    parser.add_argument(
        "--battery",
        default="2000",
        metavar="MILLIJOULES",
        help="what the node may spend in all, 0 or more; a larger one takes longer to run (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="NUMBER",
        help="which rewards are drawn, a whole number of 0 or more (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    problem = bb.sensor_problem()
    try:
        learners = {name: spend(policy, problem, options.battery, options.seed) for name, policy in POLICIES.items()}
    except bb.errors.InvalidAmount as error:
        parser.error(f"argument --battery: {error}")
    except bb.errors.InvalidInput as error:
        parser.error(f"argument --seed: {error}")
    report(problem, options.battery, learners)


if __name__ == "__main__":
    main()
