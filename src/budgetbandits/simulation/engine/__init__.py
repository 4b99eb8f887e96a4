"""Compiled code: `play_runs` plays runs of a policy, as fast as this package can.

Importing this package imports Numba, so nothing imports it before a simulation starts or a learner has many arms.
"""

from budgetbandits.simulation.engine.dispatch import numbered, play_run, play_runs, solve_freely, solver_for
from budgetbandits.simulation.engine.live import CompiledChoice, LiveTournament, compiled_lead
from budgetbandits.simulation.engine.world import NO_ARM, outcomes_of, taken_from, world_of

__all__ = [
    "NO_ARM",
    "CompiledChoice",
    "LiveTournament",
    "compiled_lead",
    "numbered",
    "outcomes_of",
    "play_run",
    "play_runs",
    "solve_freely",
    "solver_for",
    "taken_from",
    "world_of",
]
