"""What the service measures of itself and of its campaigns, for Prometheus."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, Self

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

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
        self._latencies = Histogram(
            "budgetbandits_request_seconds",
            "How long requests took to be answered.",
            ("method", "route", "status"),
            buckets=_SECONDS,
            registry=self._registry,
        )
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
        self._known: dict[tuple[str, str, int], Histogram] = {}  # to find them by their labels takes as long again

    def note_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Take note of a request that was answered."""
        known = self._known.get((method, route, status))
        if known is None:
            known = self._known[method, route, status] = self._latencies.labels(method, route, str(status))
        known.observe(seconds)

    def note_commit(self, commit: Commit) -> None:
        """Take note of a commit."""
        self._commits.observe(commit.requests)
        self._entries.observe(commit.entries)

    def text(self) -> bytes:
        """Return all that is measured, as Prometheus reads it. It looks at all campaigns, and may take a while."""
        return generate_latest(self._registry)


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
