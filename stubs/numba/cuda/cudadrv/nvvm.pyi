from typing import Any

ADDRSPACE_SHARED: int

def compile_ir(ir: Any, **options: Any) -> bytes: ...
