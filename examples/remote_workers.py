"""Workers far from the store: they spend one budget over HTTP, and do not notice that the service is killed.

The service owns the store; ``budgetbandits serve`` starts it, here on this machine and for this program alone. Each
worker connects with a token that allows no more than to work: two of them in threads, and one with many calls at a time
in an event loop. In the midst of it all the service is killed and started again. What was not answered is asked again
with the same key, so nothing is lost, nothing is paid twice, and no pull is handed out that the budget cannot pay.
"""

import asyncio
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import budgetbandits as bb
from budgetbandits.client.campaign import RemoteCampaign

COSTS = {"small": "0.02", "medium": "0.05", "large": "0.40"}  # dollars a call
GOOD: dict[str | int, float] = {"small": 0.4, "medium": 0.7, "large": 0.9}
COMMAND = [sys.executable, "-m", "budgetbandits"]


class Service:
    """``budgetbandits serve``, in a process of its own."""

    def __init__(self, store: str) -> None:
        self.store = store
        self.process, said = self.start(port=0)
        self.address, self.token = re.findall(r"http://\S+", said)[0], re.findall(r"bb_\S+", said)[0]

    def start(self, port: int) -> tuple[subprocess.Popen[str], str]:
        """Start it; return what it says: its address and, the first time, the token of the admin."""
        command = [*COMMAND, "serve", self.store, "--port", str(port)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        said = ""
        while process.stdout is not None and "serving" not in said:
            said += process.stdout.readline()
        return process, said

    def kill_and_start_again(self) -> None:
        """Do what a machine does that loses its power."""
        self.process.kill()
        self.process.communicate()
        self.process, _ = self.start(port=int(self.address.rpartition(":")[2]))

    def new_token(self, name: str) -> str:
        """Return a token that allows to ask and tell; the journal says whose it is."""
        command = [*COMMAND, "token", "create", self.store, "--name", name, "--scope", "work"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def stop(self) -> None:
        """Let it answer what is under way, and end."""
        self.process.terminate()
        self.process.communicate()


def is_good(pull: bb.Pull) -> bool:
    """Stand in for a paid call, and for a look at its answer."""
    return random.Random(pull.id).random() < GOOD[pull.arm]


def work(address: str, token: str) -> None:
    """Ask and tell until the budget is spent. The program knows nothing of failures: the client sees to them."""
    with bb.connect(address, token=token, timeout="1 minute") as store:
        calls = store.open("calls")
        while pull := calls.ask():
            calls.tell(pull, is_good(pull))


async def work_at_once(address: str, token: str) -> None:
    """Do the same with four calls at a time."""

    async def work_on(calls: RemoteCampaign) -> None:
        while pull := await calls.ask_async():
            await calls.tell_async(pull, is_good(pull))

    with bb.connect(address, token=token, timeout="1 minute") as store:
        calls = store.open("calls")
        await asyncio.gather(*(work_on(calls) for _ in range(4)))


def main() -> None:
    """Start a service, let workers spend a budget, and look at the books."""
    with tempfile.TemporaryDirectory() as folder:
        service = Service(f"sqlite:///{Path(folder) / 'calls.db'}")
        token = service.new_token("workers")
        with bb.connect(service.address, token=service.token, timeout="1 minute") as store:
            calls = store.create(
                "calls",
                policy=bb.recommended(),
                costs=COSTS,
                budget="15.00",
                requests=150,  # how many calls there will be
                reward_range=(0, 1),
                seed=7,
            )
            workers = [threading.Thread(target=work, args=(service.address, token)) for _ in range(2)]
            workers.append(threading.Thread(target=lambda: asyncio.run(work_at_once(service.address, token))))
            for worker in workers:
                worker.start()
            while calls.entries < 40:
                time.sleep(0.01)
            service.kill_and_start_again()
            for worker in workers:
                worker.join()
            whose = {str(row.actor) for row in calls.history()}
            print(f"The service was killed once. {calls.pulls} calls by {', '.join(sorted(whose))}:")
            print(f"  {calls.reward_total:.0f} good answers, spent {calls.money.spent} of {calls.money.budget}")
            print(calls.arms)
            print(f"Every one of {calls.verify().entries} entries adds up, and every choice was the policy's.")
        service.stop()


if __name__ == "__main__":
    main()
