"""The routes of the API by topic: what looks, and what acts."""

from collections.abc import Iterator
from typing import Final

from fastapi import APIRouter

from budgetbandits.service.actions import Action, ActionRoute
from budgetbandits.service.api import campaigns, changes, health, journals, pulls, standing, tokens

__all__ = ["ROUTER", "actions_on_campaigns"]

_VERSION: Final = "/v1"
_ACTIONS: Final = (campaigns.actions, pulls.actions, changes.actions, journals.actions, tokens.actions)
_LOOKS: Final = (campaigns.looks, standing.looks, journals.looks, tokens.looks)
_CAMPAIGN: Final = f"{_VERSION}/campaigns/{{campaign}}/"


def _routed() -> APIRouter:
    router = APIRouter()
    for topic in (*_LOOKS, *_ACTIONS):
        router.include_router(topic, prefix=_VERSION)
    router.include_router(health.looks)
    return router


ROUTER: Final = _routed()
"""All of them."""


def actions_on_campaigns() -> Iterator[tuple[str, Action]]:
    """Return the actions on one campaign, each with the last part of its path."""
    for topic in _ACTIONS:
        for route in topic.routes:
            if isinstance(route, ActionRoute) and (path := _VERSION + route.path).startswith(_CAMPAIGN):
                yield path.removeprefix(_CAMPAIGN), Action(route.endpoint, path)
