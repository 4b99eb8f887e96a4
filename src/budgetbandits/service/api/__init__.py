"""The routes of the API by topic."""

from fastapi import APIRouter

from budgetbandits.service.api import campaigns, pulls

__all__ = ["router"]

router = APIRouter(prefix="/v1")
for topic in (campaigns, pulls):
    router.include_router(topic.router)
