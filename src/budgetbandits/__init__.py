"""Spend a fixed budget on costly actions whose payoff has to be learned, and start none that it cannot pay.

The public names stand in ``__init__.pyi`` and nowhere else. Each is loaded when it is first used, so that
``import budgetbandits`` and ``budgetbandits --help`` answer at once: NumPy alone takes longer to load than
all of this package.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
