"""What stands behind a success besides its outcome, and when one needs more than that."""

from synth.schemas import Trajectory
from synth.text.provenance.linter import provenance

HARD = 0.25
"""A task that passes in at most this share of its trials: its successes need second evidence."""
SECOND_EVIDENCE = "second_evidence"
"""Score of a trajectory: how many of 4 live continuations from its first effectful turn passed."""
PASSES = 2
"""Of them that make a success proven (rigor.md 9)."""


def evidence(trajectory: Trajectory, passes: float | None = None) -> tuple[str, ...]:
    """What stands behind a success besides its outcome, by name.

    `provenance`: arguments that were all observed and choices that were all singled out, where
    there are any to judge; `process`: constraints that the check looked at and found kept, unless
    provenance speaks against it: where the check needs them for a pass, they say nothing beyond the
    pass; `reexecution`: at least two of four continuations from the first effectful turn pass.
    """
    report = provenance(trajectory)
    guessed = report.justified is False or report.choices_justified is False
    parts = trajectory.check_result.parts if trajectory.check_result is not None else ()
    holds = {
        "process": not guessed and any(part.name == "process" and part.passed for part in parts),
        "provenance": not guessed and report.justified is True,
        "reexecution": passes is not None and passes >= PASSES,
    }

    return tuple(name for name, found in holds.items() if found)
