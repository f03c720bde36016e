"""Processes of worlds, confined: no network, no home, a read-only system, a user id of their own,
and limits.
"""

from synth.confinement.command import (
    INSIDE,
    ProcessLimits,
    confined_command,
    environment_file,
    hand_over,
    missing,
)
from synth.confinement.processes import LOOK_S, HeldProcess, held, tree

__all__ = [
    "INSIDE",
    "LOOK_S",
    "HeldProcess",
    "ProcessLimits",
    "confined_command",
    "environment_file",
    "hand_over",
    "held",
    "missing",
    "tree",
]
