"""Compiled code: `play_runs` plays runs of a policy, as fast as this package can.

Importing this package imports Numba, so nothing imports it before a simulation starts or a learner has many arms.
"""

from budgetbandits.simulation.engine.batch import batch_of
from budgetbandits.simulation.engine.calls import numbered
from budgetbandits.simulation.engine.dispatch import (
    filler_for,
    is_led,
    is_short,
    play_in_turn,
    play_run,
    play_runs,
    play_together,
    solve_all_freely,
    solve_freely,
    solve_within,
    solver_for,
)
from budgetbandits.simulation.engine.kept import NOTHING_KEPT, Kept, kept_for
from budgetbandits.simulation.engine.live import (
    CompiledChoice,
    LiveTournament,
    compiled_lead,
    compiled_lead_by_cost,
    compiled_note_outcome,
    compiled_refit,
)
from budgetbandits.simulation.engine.world import NO_ARM, outcomes_of, taken_from, world_of, worlds_of

__all__ = [
    "NOTHING_KEPT",
    "NO_ARM",
    "CompiledChoice",
    "Kept",
    "LiveTournament",
    "batch_of",
    "compiled_lead",
    "compiled_lead_by_cost",
    "compiled_note_outcome",
    "compiled_refit",
    "filler_for",
    "is_led",
    "is_short",
    "kept_for",
    "numbered",
    "outcomes_of",
    "play_in_turn",
    "play_run",
    "play_runs",
    "play_together",
    "solve_all_freely",
    "solve_freely",
    "solve_within",
    "solver_for",
    "taken_from",
    "world_of",
    "worlds_of",
]
