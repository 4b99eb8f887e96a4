"""Compiled code: `play_run` plays one run of a policy, as fast as this package can.

Importing this package imports Numba, so nothing imports it before a simulation starts or a learner has many arms.
"""

from budgetbandits.simulation.engine.dispatch import numbered, play_run, solve_exactly
from budgetbandits.simulation.engine.live import CompiledChoice, LiveTournament
from budgetbandits.simulation.engine.world import NO_ARM

__all__ = ["NO_ARM", "CompiledChoice", "LiveTournament", "numbered", "play_run", "solve_exactly"]
