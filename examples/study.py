"""A small study: how the policies compare on the paper's problems, and how sure that is.

Plays four policies on the same instances of the paper's moderately diverse case, prints the regret with 95%
intervals and a paired comparison, and writes the runs to a Parquet file if told where.
"""

import argparse
from collections.abc import Sequence

import budgetbandits as bb

POLICIES = {
    "KUBE": bb.kube(width=1 / 40),
    "fractional KUBE": bb.fractional_kube(width=1 / 40),
    "eps-first .05": bb.epsilon_first(0.05),
    "eps-first .10": bb.epsilon_first(0.10),
}
BUDGETS = [1_000, 10_000, 100_000]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="how many instances (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="where the random numbers start (default: %(default)s)")
    parser.add_argument("--out", help="a Parquet file for the runs; it is replaced if it is there")
    options = parser.parse_args(arguments)
    try:
        runs = bb.simulate(bb.paper_family("moderate"), POLICIES, BUDGETS, runs=options.runs, seed=options.seed)
    except bb.errors.InvalidInput as error:
        parser.error(str(error))
    print("Regret against the exact optimum")
    print(bb.regret(runs))
    print("\nKUBE against fractional KUBE, run by run: a ratio below 1 favours KUBE")
    print(bb.paired_regret(runs, "KUBE", "fractional KUBE"))
    print("\nKUBE against eps-first .10")
    print(bb.paired_regret(runs, "KUBE", "eps-first .10"))
    if options.out:
        runs.to_parquet(options.out)
        print(f"\nThe runs are in {options.out}")


if __name__ == "__main__":
    main()
