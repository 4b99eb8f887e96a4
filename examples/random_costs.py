"""Paid calls whose price depends on the length of the answer: it is known only when the answer is there.

The greatest price is reserved before a call, and the true one settled after it, so that the budget pays every bill
within its range. At the end the same is simulated, to see which policy would have earned most.
"""

import budgetbandits as bb

MODELS: dict[str, tuple[bb.laws.SteadyLaw | float, bb.laws.SteadyLaw]] = {
    # What an answer may cost, and how good it is: both are unknown to the learner, but for the range of the cost.
    "short": (bb.Beta(2, 6, low=0.01, high=0.05), bb.Bernoulli(0.35)),
    "thorough": (bb.Beta(2, 3, low=0.05, high=0.40), bb.Bernoulli(0.80)),
    "flat rate": (0.06, bb.Bernoulli(0.45)),
}


def main() -> None:
    """Spend ten dollars on answers, and say what became of them."""
    world = bb.Problem(
        {name: cost for name, (cost, _) in MODELS.items()},
        {name: reward for name, (_, reward) in MODELS.items()},
        reward_range=(0, 1),
    )
    learner = bb.Learner(
        bb.policies.omega_ucb(),
        costs={"short": ("0.01", "0.05"), "thorough": ("0.05", "0.40"), "flat rate": "0.06"},
        budget=10,
        reward_range=(0, 1),
        seed=7,
        unit="0.0001",  # what a call costs is rounded up to this
    )
    calls = dict.fromkeys(MODELS, 0)
    while pull := learner.ask():
        count, calls[str(pull.arm)] = calls[str(pull.arm)], calls[str(pull.arm)] + 1
        # Stands for a paid call: its answer, and its bill.
        reward, cost = world.reward(pull.arm, count, seed=7), world.cost(pull.arm, count, seed=7)
        learner.tell(pull, reward, cost=cost)
    print(learner.arms)
    print(f"{learner.reward_total:g} good answers for {learner.money.spent} of {learner.money.budget:g} dollars\n")

    policies: dict[str, bb.Policy] = {
        "omega-UCB": bb.policies.omega_ucb(),
        "BTS": bb.thompson(),
        "recommended": bb.recommended(),
        "KUBE": bb.kube(),
    }
    runs = bb.simulate(world, policies, budgets=[10, 100], runs=50, seed=1)
    print("Regret against the fractional optimum (with random costs there is no exact one):")
    print(bb.regret(runs, against="fractional"))


if __name__ == "__main__":
    main()
