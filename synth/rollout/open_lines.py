"""Lines that a world leaves to the model that plays its user: no agent is shown one."""

from collections.abc import Sequence

from synth.boundary import FaultError
from synth.schemas import OPEN_LINE, Fault, Observation, Source

NOBODY = "user: the world leaves what its user says to the role `user`: name a model for it"


def is_open(line: Observation) -> bool:
    """Whether the world has left it to a model what its user says."""
    return line.source is Source.USER and line.content == OPEN_LINE


def said_by_somebody(lines: Sequence[Observation]) -> None:
    """Raises `FaultError` where a line is left open."""
    if any(is_open(line) for line in lines):
        raise FaultError(Fault.USER_SIMULATOR, NOBODY)
