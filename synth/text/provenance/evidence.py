"""New verified evidence per attempt: what an attempt was the first to see, and what a change then
was made with (rigor.md 10.2).
"""

from collections.abc import Sequence

from synth.schemas import Trajectory
from synth.text.provenance import Status, provenance


def new_evidence(attempts: Sequence[Trajectory]) -> list[float | None]:
    """Of each attempt: |values first observed in it that stand in an effectful call after that| /
    turns of its own; None without turns.

    Attempts are in their order; one that goes on from an earlier one counts from its pivot. A value
    that the opening or the system prompt
    shows was not found out by anybody.
    """
    found: list[set[str]] = [set() for _ in attempts]
    first_in: dict[str, int | None] = {}

    for at, attempt in enumerate(attempts):
        pivot = attempt.pivot_turn or 0
        for finding in provenance(attempt).findings:
            if (
                finding.status is not Status.OBSERVED
                or finding.where is None
                or finding.turn < pivot
            ):
                continue

            value = str(finding.value)
            if finding.where.turn is None:
                continue

            seen_by = at if finding.where.turn >= pivot else None
            owner = first_in.setdefault(value, _owner(value, attempts[:at], seen_by))
            if owner is not None:
                found[owner].add(value)

    return [
        len(values) / own if (own := len(attempt.turns) - (attempt.pivot_turn or 0)) > 0 else None
        for values, attempt in zip(found, attempts, strict=True)
    ]


def _owner(value: str, earlier: Sequence[Trajectory], now: int | None) -> int | None:
    """The first attempt whose own observations hold the value, else the present one."""
    for at, attempt in enumerate(earlier):
        own = attempt.turns[attempt.pivot_turn or 0 :]
        if any(value in observation.content for turn in own for observation in turn.observations):
            return at

    return now
