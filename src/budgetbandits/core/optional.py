"""Packages that only a part of this one needs: an extra of this package brings them.

A function that needs them asks for the extra, right before it imports them, so that everything else works without:

>>> def draw() -> None:
...     require("report")
...     import matplotlib
"""

from importlib.util import find_spec
from typing import Final

from budgetbandits.errors import NotInstalled

__all__ = ["EXTRAS", "is_installed", "require"]

EXTRAS: Final = {
    "simulate": ("numba", "scipy", "tqdm"),
    "parquet": ("pyarrow",),
    "pandas": ("pandas", "pyarrow"),
    "report": ("numba", "scipy", "tqdm", "pyarrow", "matplotlib", "jinja2"),
    "cluster": ("numba", "scipy", "tqdm", "distributed"),
    "cuda": ("numba", "scipy", "tqdm", "numba_cuda"),
    "campaign": ("sqlalchemy", "alembic"),
    "postgresql": ("sqlalchemy", "alembic", "psycopg"),
    "service": ("sqlalchemy", "alembic", "fastapi", "httptools", "jinja2", "prometheus_client", "uvicorn"),
    "client": ("httpx",),
    "testing": ("sqlalchemy", "alembic", "pytest"),
}
"""The extras that a part of this package needs, and the modules of each. What they install is in ``pyproject.toml``."""


def is_installed(module: str) -> bool:
    """Tell whether a module can be imported, without importing it.

    >>> is_installed("numpy")
    True
    """
    return find_spec(module) is not None


def require(extra: str) -> None:
    """Raise if an extra of this package is not installed.

    Parameters
    ----------
    extra
        One of `EXTRAS`.

    Raises
    ------
    NotInstalled
        With the command that installs it. That works from a checkout, too: pip reads the extras of a package that is
        installed already, and asks no index for it.

    Examples
    --------
    >>> require("simulate")
    """
    for module in EXTRAS[extra]:
        if not is_installed(module):
            raise NotInstalled(f"{module} is not installed: pip install 'budgetbandits[{extra}]'")
