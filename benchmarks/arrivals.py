"""Print what it costs not to know how many requests will come, by how far the declared rate is trusted.

    python -m benchmarks.arrivals --runs 60

A router of three models has money for about 1,000 requests in ten days. They come as often as declared, half or twice
as often, evenly or by day only, with a night at the beginning. Mean reward of all requests, where one without an answer
has earned 0 and, in brackets, how many of 1,000 had none. Beside it stands the policy that was told the true number.
"""

import argparse
from typing import Final

import numpy as np

import budgetbandits as bb
from budgetbandits.campaigns.settings import CampaignSettings
from budgetbandits.live.player import Player

DECLARED: Final = 1_000
DAYS: Final = 10
COSTS: Final = {"small": "0.002", "medium": "0.010", "large": "0.060"}
RIGHT: Final = (0.55, 0.75, 0.95)
SHARES: Final = (0.01, 0.03, 0.1, 0.3)


def arrivals(generator: np.random.Generator, factor: float, *, by_day: bool) -> list[float]:
    """Return the times of all requests, as shares of the whole time."""
    times = generator.uniform(0.0, DAYS, generator.poisson(DECLARED * factor))
    if by_day:
        nights, hours = np.divmod(times, 1.0)
        times = nights + 0.5 + hours / 2
    return sorted((times / DAYS).tolist())


def new_player(seed: int, requests: int) -> Player:
    """Return the recommended policy, with a budget and a number of requests."""
    settings = CampaignSettings.given(
        bb.recommended(), COSTS, "12", (0, 1), seed, None, "charge", None, requests=requests
    )
    return settings.player()


def played(run: int, factor: float, share: float | None, *, by_day: bool) -> tuple[float, float]:
    """Return the mean reward of a run, and the share of requests without an answer.

    The declared rate counts like that share of the whole time; with None the number of requests is known.
    """
    generator = np.random.default_rng(run)
    times = arrivals(generator, factor, by_day=by_day)
    player = new_player(run, len(times) if share is None else DECLARED)
    for time in times:
        if share is not None:
            rate = (DECLARED * share + player.books.pulls) / (share + time)
            player.expect(1 + round(rate * (1.0 - time)), [player.books.first.bill.budget])
        pull, luck = player.ask(), generator.random()
        if pull is not None:
            player.tell(pull, float(luck < RIGHT[pull.arm]), pull.prices)
    return player.reward_total / len(times), 1 - player.books.pulls / len(times)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.arrivals", description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=60)
    options = parser.parse_args()
    print("| requests | number known | " + " | ".join(f"trust {share:g}" for share in SHARES) + " |")
    print("| --- " * (len(SHARES) + 2) + "|")
    errors = []
    for factor in (0.5, 1.0, 2.0):
        for by_day in (False, True):
            cells = []
            for share in (None, *SHARES):
                results = [played(run, factor, share, by_day=by_day) for run in range(options.runs)]
                reward, unanswered = np.mean(results, axis=0).tolist()
                errors.append(float(np.std([mean for mean, _ in results], ddof=1)) / options.runs**0.5)
                cells.append(f"{reward:.3f} ({1000 * unanswered:.1f})")
            print(f"| {factor:g} times, {'by day' if by_day else 'evenly'} | " + " | ".join(cells) + " |", flush=True)
    print(f"\nThe standard errors of these means are at most {max(errors):.4f}.")


if __name__ == "__main__":
    main()
