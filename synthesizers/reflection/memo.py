"""The memo of a chain of attempts: what later measures of sequential attempts read (SPARK, arXiv
2605.09192).
"""

from collections.abc import Sequence

from synth.schemas.labels import Memo
from synth.schemas.trajectory import Trajectory
from synth.synthesizers.reflection.reflection import Reflection
from synth.text.provenance import Status, provenance

MOST_ENTRIES = 200


def memo_of(attempt: Trajectory, reflection: Reflection, before: Sequence[Memo]) -> Memo:
    """The memo after an attempt; `before` are those of the attempts before it.

    A verified fact is a value that the agent had seen and then put into a call that changes
    something.
    """
    first = attempt.pivot_turn or 0
    commands = [
        f"{call.name} {call.arguments}"
        for turn in attempt.turns[first:]
        for call in turn.tool_calls
    ]
    used = [
        f for f in provenance(attempt).findings if f.status is Status.OBSERVED and f.turn >= first
    ]
    check = attempt.check_result
    return Memo(
        attempts_log=(*(before[-1].attempts_log if before else ()), reflection.trajectory_summary),
        commands=tuple(commands[:MOST_ENTRIES]),
        verified_facts=tuple(dict.fromkeys(f"{f.path}: {f.value}" for f in used))[:MOST_ENTRIES],
        error_pattern=reflection.root_cause_analysis,
        next_strategy=reflection.improvement_suggestion or "",
        failed_tests=tuple(part.name for part in check.parts if not part.passed)
        if check is not None
        else (),
    )
