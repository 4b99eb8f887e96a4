from collections.abc import Callable
from typing import Any

from numba.core.datamodel import models as models

class DataModelManager:
    def register(self, fetypecls: type, handler: Callable[..., Any]) -> None: ...

default_manager: DataModelManager
