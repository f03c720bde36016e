"""What keeps a trajectory's turns out of pairs and labels, whatever the evidence."""

from collections.abc import Iterable, Mapping

from synth.pairs.settings import ALL, LabelSettings
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Authorship, Trajectory
from synth.schemas.verdict import Verdict

PLAYED_AGAIN = frozenset({"duplicates"})
"""Filters that do not bind a continuation: it repeats its own trial up to the act."""


def refusal(
    trajectory: Trajectory,
    verdicts: Mapping[str, Verdict],
    settings: LabelSettings,
    *,
    continuation: bool = False,
) -> str | None:
    """Why nothing of a trajectory is taken, or None."""
    if trajectory.outcome is Outcome.INVALID:
        return "fault"
    for name in verdicts if ALL in settings.honours else settings.honours:
        if (
            name in verdicts
            and verdicts[name].keep is False
            and not (continuation and name in PLAYED_AGAIN)
        ):
            return f"filter:{name}:{verdicts[name].reason}"
    if trajectory.benchmark is not None and not settings.allow_benchmark:
        return "benchmark"
    return "held_out" if trajectory.held_out and not settings.allow_held_out else None


def scripted(authors: Iterable[Authorship], settings: LabelSettings) -> bool:
    """Whether a script wrote one of the sides, and the settings do not take that in."""
    return not settings.include_scripted and Authorship.SCRIPTED in authors
