"""Pages from templates. Whatever is put into one is escaped: an arm may be called ``<script>``."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import jinja2
from starlette.responses import HTMLResponse

from budgetbandits.service import views
from budgetbandits.service.access import Caller
from budgetbandits.service.dashboard import formats
from budgetbandits.service.shared import Shared
from budgetbandits.service.tokens import Scope

__all__ = ["FOLDER", "path_part", "rendered"]

FOLDER: Final = Path(__file__).parent


def path_part(name: str) -> str:
    """Return a name as a part of a path.

    >>> path_part("spring/2027")
    'spring%2F2027'
    """
    return quote(name, safe="")


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {each.__name__: each for each in formats.FILTERS}
    environment.filters["path"] = path_part
    environment.globals["share"] = formats.share
    return environment


_ENVIRONMENT: Final = _environment()


def rendered(shared: Shared, template: str, caller: Caller | None, status: int = 200, **contents: Any) -> HTMLResponse:
    """Return a page for somebody, or for one who is not signed in."""
    known = {} if caller is None else {"scope": caller.scope, "may_create": _may_create(caller)}
    text = _ENVIRONMENT.get_template(template).render(
        caller=caller,
        root=shared.root_path,
        now=views.moment(datetime.now(UTC)),
        **{"place": "", "may_create": False, **known, **contents},
    )
    return HTMLResponse(text, status)


def _may_create(caller: Caller) -> bool:
    return caller.scope is Scope.ADMIN and caller.campaign is None
