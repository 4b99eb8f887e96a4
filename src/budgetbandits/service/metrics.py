"""What the service measures of itself and of its campaigns, for Prometheus."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple, Self

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.utils import floatToGoString

from budgetbandits.campaigns.campaign import Campaign
from budgetbandits.campaigns.clerk import Commit
from budgetbandits.core.resources import Money
from budgetbandits.errors import BudgetBanditsError

__all__ = ["CONTENT_TYPE_LATEST", "Metrics"]

_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Metrics:
    """Counts and measures; each service has its own.

    Parameters
    ----------
    campaigns
        Returns the campaigns whose money is shown.
    """

    def __init__(self, campaigns: Callable[[], Iterable[Campaign]]) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_CampaignCollector(campaigns))
        self._latencies = _Latencies()
        self._registry.register(self._latencies)
        self._commits = Histogram(
            "budgetbandits_commit_requests",
            "How many requests shared a commit.",
            buckets=_SIZES,
            registry=self._registry,
        )
        self._entries = Histogram(
            "budgetbandits_commit_entries",
            "How many entries of a journal a commit wrote.",
            buckets=_SIZES,
            registry=self._registry,
        )

    def note_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Take note of a request that was answered, in the thread of the event loop."""
        self._latencies.note((method, route, str(status)), seconds)

    def note_commit(self, commit: Commit) -> None:
        """Take note of a commit."""
        self._commits.observe(commit.requests)
        self._entries.observe(commit.entries)

    def text(self) -> bytes:
        """Return all that is measured, as Prometheus reads it. It looks at all campaigns, and may take a while."""
        return generate_latest(self._registry)


class _Latencies:
    """How long requests took. One thread takes note of them, so it needs no locks, unlike the library's histogram."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, str], _Counts] = {}

    def note(self, labels: tuple[str, str, str], seconds: float) -> None:
        """Take note of a request: its method, route and status, and how long it took."""
        counts = self._seen.get(labels)
        if counts is None:
            counts = self._seen[labels] = _Counts(_SECONDS)
        counts.note(seconds)

    def collect(self) -> Iterable[Metric]:
        """Return what was noted."""
        shown = HistogramMetricFamily(
            "budgetbandits_request_seconds",
            "How long requests took to be answered.",
            labels=("method", "route", "status"),
        )
        for labels, counts in list(self._seen.items()):
            shown.add_metric(labels, counts.cumulated(), counts.total)
        return [shown]


class _Counts:
    """How many values fell between bounds.

    >>> counts = _Counts((1, 2))
    >>> for value in (0.5, 2, 7):
    ...     counts.note(value)
    >>> counts.cumulated(), counts.total
    ([('1.0', 1), ('2.0', 2), ('+Inf', 3)], 9.5)
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def note(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    def cumulated(self) -> list[tuple[str, float]]:
        """Return how many values are no greater than each bound."""
        names = map(floatToGoString, (*self._bounds, math.inf))
        return list(zip(names, accumulate(self._counts), strict=True))


class Standing(NamedTuple):
    """How a campaign stands.

    Attributes
    ----------
    resources
        What became of each resource by its name; "" where the budget is a plain number.
    pulls, reward_total
        How many pulls were made, and what they paid.
    oldest
        How many seconds ago the oldest outstanding pull was asked for; 0 if none is.
    is_open
        Whether it hands out pulls.
    """

    resources: Mapping[str, Money]
    pulls: int
    reward_total: float
    oldest: float
    is_open: bool

    @classmethod
    def of(cls, campaign: Campaign) -> Self:
        """Return how a campaign stands at one moment."""
        return campaign.at_once(
            lambda now: cls(
                now.resources or {"": now.money},
                now.pulls,
                now.reward_total,
                max((row.age.total_seconds() for row in now.leases), default=0.0),
                not (now.is_closed or now.is_paused),
            )
        )


class _CampaignCollector:
    """Shows how campaigns stand when it is asked."""

    def __init__(self, campaigns: Callable[[], Iterable[Campaign]]) -> None:
        self._campaigns = campaigns

    def collect(self) -> Iterable[Metric]:
        """Return how campaigns stand."""
        money = {name: _gauge(name, f"Of the budget: {name}.", "campaign", "resource") for name in Money.__slots__}
        pulls = _gauge("pulls", "Pulls that were made or are outstanding.", "campaign")
        rewards = _gauge("rewards", "The sum of all rewards told.", "campaign")
        oldest = _gauge("oldest_lease_seconds", "How long ago the oldest outstanding pull was asked for.", "campaign")
        is_open = _gauge("open", "1 if pulls are handed out, 0 if it is paused or closed.", "campaign")
        is_readable = _gauge("readable", "0 if the campaign cannot be read.", "campaign")
        for campaign in self._campaigns():
            try:
                standing = Standing.of(campaign)
            except BudgetBanditsError:  # the others are shown
                is_readable.add_metric([campaign.name], 0)
                continue
            is_readable.add_metric([campaign.name], 1)
            for resource, sums in standing.resources.items():
                for name, gauge in money.items():
                    gauge.add_metric([campaign.name, resource], float(getattr(sums, name)))
            pulls.add_metric([campaign.name], standing.pulls)
            rewards.add_metric([campaign.name], standing.reward_total)
            oldest.add_metric([campaign.name], standing.oldest)
            is_open.add_metric([campaign.name], standing.is_open)
        return [*money.values(), pulls, rewards, oldest, is_open, is_readable]


def _gauge(name: str, said: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"budgetbandits_{name}", said, labels=labels)
