"""What this project's tests use of pytest-xdist's workers."""

class Gateway:
    id: str

class WorkerController:
    gateway: Gateway
    shutting_down: bool
    def shutdown(self) -> None: ...
