"""One rate of a gate on a source."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rate:
    """`hits` of `n` cases; `what` they are: "false alarms", "misses"; `target` in words."""

    source: str
    gate: str
    what: str
    hits: int
    n: int
    target: str
