"""Hire experts who have few hours each: limits per arm.

Every expert costs something, solves a task with a chance that has to be found out, and can be hired a limited number of
times. An arm at its limit is not handed out any more, and what the oracle plans for the money left keeps to the limits.
With limits `epsilon_first` is the bounded ε-first of Tran-Thanh, Stein, Rogers and Jennings (2014).
"""

import argparse

import budgetbandits as bb

COSTS = {"student": "10", "graduate": "25", "senior": "60", "professor": "150"}
HOURS = {"graduate": 120, "senior": 60, "professor": 10}  # students are unlimited
CHANCES = {"student": 0.15, "graduate": 0.7, "senior": 0.95, "professor": 1.0}
BUDGET = 8000

PROBLEM = bb.Problem(COSTS, {name: bb.Bernoulli(chance) for name, chance in CHANCES.items()}, (0, 1), limits=HOURS)


def hire(policy: bb.Policy, seed: int) -> bb.Learner:
    """Spend the budget, as one would live."""
    learner = bb.Learner(policy, COSTS, BUDGET, reward_range=(0, 1), seed=seed, limits=HOURS)
    done = dict.fromkeys(COSTS, 0)
    while pull := learner.ask():  # false once no arm below its limit is affordable
        name = str(pull.arm)
        learner.tell(pull, PROBLEM.reward(name, done[name], seed=seed))
        done[name] += 1
    return learner


def main() -> None:
    """Compare the recommended policy with bounded ε-first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="default: 1")
    seed = parser.parse_args().seed
    for name, policy in {"recommended": bb.recommended(), "bounded eps-first": bb.epsilon_first(0.1)}.items():
        learner = hire(policy, seed)
        print(f"{name}: {learner.reward_total:g} tasks solved for {learner.money.spent:g}")
        for row in learner.arms:
            print(f"  {row.name}: hired {row.pulls} times, at most {HOURS.get(str(row.name), 'any number')}")
    print(f"Who knew all chances would solve {PROBLEM.optimum(BUDGET):.2f} on average.")


if __name__ == "__main__":
    main()
