"""One measured rate of a gate."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rate:
    """`hits` of `n` cases of a source; `what` names what was counted ("false alarms", "misses"),
    `target` what it is to be.
    """

    source: str
    gate: str
    what: str
    hits: int
    n: int
    target: str
