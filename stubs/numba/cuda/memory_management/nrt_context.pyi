from typing import Any

class NRTContext:
    _context: Any
    def __init__(self, context: Any, enabled: bool) -> None: ...
