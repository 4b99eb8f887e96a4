"""The routes of the API by topic: what looks, and what acts."""

from collections.abc import Iterator
from typing import Final

from fastapi import APIRouter

from budgetbandits.service.actions import Action, ActionRoute
from budgetbandits.service.api import campaigns, changes, health, journals, pulls, standing, tokens
from budgetbandits.service.api.described import CAMPAIGN

__all__ = ["ROUTERS", "actions_on_campaigns"]

_ACTIONS: Final = (campaigns.actions, pulls.actions, changes.actions, journals.actions, tokens.actions)
_LOOKS: Final = (campaigns.looks, standing.looks, journals.looks, tokens.looks, health.looks)

ROUTERS: Final[tuple[APIRouter, ...]] = _LOOKS + _ACTIONS
"""All of them."""


def actions_on_campaigns() -> Iterator[tuple[str, Action]]:
    """Return the actions on one campaign, each with the last part of its path."""
    for router in _ACTIONS:
        for route in router.routes:
            if isinstance(route, ActionRoute) and route.path.startswith(f"{CAMPAIGN}/"):
                yield route.path.removeprefix(f"{CAMPAIGN}/"), route.action
