from typing import Any

cuda_target: Any
