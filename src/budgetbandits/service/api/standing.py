"""How a campaign stands: its money, its arms, what may be pulled next, what is outstanding, and why."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from budgetbandits.service import rows, shapes, views
from budgetbandits.service.api.described import CAMPAIGN, answers
from budgetbandits.service.calls import Reading

__all__ = ["looks"]

looks = APIRouter(prefix=CAMPAIGN, tags=["standing"])


@looks.get("/money", **answers(shapes.MoneyShown))
async def show_money(call: Reading) -> Response:
    """Show what became of the budget, exactly."""
    return views.json_answer(await call.shared.in_thread(call.campaign.at_once, views.money_shown))


@looks.get("/arms", **answers(shapes.ArmList))
async def show_arms(call: Reading) -> Response:
    """Show what is known of each arm, and what was spent on it."""

    def shown() -> list[rows.Row]:
        chronicle = call.shared.chronicle(call.campaign)
        return call.campaign.at_once(lambda now: rows.arms(now, chronicle))

    return views.json_answer({"arms": await call.shared.in_thread(shown)})


@looks.get("/best-set", **answers(shapes.BestSet))
async def show_best_set(call: Reading) -> Response:
    """Show the arms that may be pulled next, the likeliest first."""
    return views.json_answer({"best_set": await call.shared.in_thread(rows.best_set, call.campaign)})


@looks.get("/pending", **answers(shapes.Pending))
async def show_pending(call: Reading) -> Response:
    """Show the outstanding pulls with their leases, the oldest first."""
    return views.json_answer({"pending": await call.shared.in_thread(call.campaign.at_once, rows.pending)})


@looks.get("/pulls/{pull}/why", **answers(shapes.Explanation))
async def explain(
    call: Reading,
    pull: Annotated[int, Path(description="The id of a pull.", examples=[1])],
    history: Annotated[str | None, Query(description="Its history; a pull of another one is refused.")] = None,
) -> Response:
    """Show why the arm of a pull was chosen: what the policy knew then, by replay."""
    if history is not None:
        await call.shared.in_thread(call.campaign.check_history, pull, history)
    return views.json_answer(rows.why(await call.shared.in_thread(call.campaign.why, pull)))


@looks.get("/series", **answers(shapes.Series))
async def show_series(
    call: Reading, points: Annotated[int, Query(ge=2, le=1000, description="How many at most.")] = 400
) -> Response:
    """Show money over time, at so many moments at most."""

    def shown() -> list[rows.Row]:
        return rows.series(call.campaign, call.shared.chronicle(call.campaign), points)

    return views.json_answer({"points": await call.shared.in_thread(shown)})
