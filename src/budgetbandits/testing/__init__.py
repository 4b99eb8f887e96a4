"""What others may inherit: checks for a store or a learner of your own, and a PostgreSQL server and a clock for tests.

It takes pytest. A store is a `budgetbandits.campaigns.backend.Backend`. Derive a test class from `StoreContract`, say
how your backend is opened, and let pytest run it::

    from budgetbandits.testing import StoreContract

    class TestMyStore(StoreContract):
        def open_backend(self, folder):
            return MyBackend(folder / "campaigns")

The same folder must lead to the same campaigns, however often it is opened, and another folder to others. What the
contract does not check is what needs your database's own means: kill its users, fill its disk and cut its wires.

What a store does that is no database, but a way to one, is in `CampaignContract`: define ``open_store``. Whatever hands
out pulls and is told their rewards keeps `AskTellContract`: derive from it, and define ``start``.
"""

from budgetbandits.core.optional import require

try:
    from budgetbandits.testing.ask_tell import AskTellContract
    from budgetbandits.testing.campaigns import CampaignContract, new_campaign
    from budgetbandits.testing.clock import HandClock
    from budgetbandits.testing.postgresql import PostgresqlServer
    from budgetbandits.testing.stores import StoreContract, asked
except ModuleNotFoundError:
    require("testing")
    raise

__all__ = [
    "AskTellContract",
    "CampaignContract",
    "HandClock",
    "PostgresqlServer",
    "StoreContract",
    "asked",
    "new_campaign",
]
