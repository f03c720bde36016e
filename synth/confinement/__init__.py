"""Processes of worlds, confined: no network, no home, a read-only system, a user id of their own,
and limits.
"""

from synth.confinement.branches import (
    Branch,
    FileChange,
    Frozen,
    branch_of,
    how_branches_are_made,
    new_branch,
)
from synth.confinement.command import (
    INSIDE,
    ProcessLimits,
    confined_command,
    environment_file,
    hand_over,
    missing,
)
from synth.confinement.processes import LOOK_S, HeldProcess, held, tree
from synth.confinement.running import Ran

__all__ = [
    "INSIDE",
    "LOOK_S",
    "Branch",
    "FileChange",
    "Frozen",
    "HeldProcess",
    "ProcessLimits",
    "Ran",
    "branch_of",
    "confined_command",
    "environment_file",
    "hand_over",
    "held",
    "how_branches_are_made",
    "missing",
    "new_branch",
    "tree",
]
