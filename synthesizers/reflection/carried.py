"""A memo that is carried from attempt to attempt: what it whispers, and what the online proxy of
PDI makes of it.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from synth.ledger.ledger import Score
from synth.schemas.labels import Memo
from synth.schemas.trajectory import Trajectory
from synth.stats.pdi import CarriedMemo, Level, Snapshot, Step, snapshots
from synth.synthesizers.reflection.guidance import guidance_text
from synth.text.provenance.evidence import new_evidence

PDI, EVIDENCE = "pdi", "new_evidence"
AGAIN = (
    "The last attempts resemble each other: the same plan came back, and little new was found "
    "out. Say to yourself which step keeps coming "
    "back, and do something else in its place."
)
ANEW = (
    "Several attempts in a row have repeated themselves, so the plan is left out here on purpose. "
    "Do not follow the line of the last "
    "attempts: look at what is there first, and make a plan from that."
)


def step_of(memo: Memo) -> Step:
    """The sections that the proxy reads."""
    return Step(
        "\n".join(memo.commands),
        "\n".join(memo.verified_facts),
        memo.next_strategy,
        frozenset(memo.failed_tests),
    )


def measured(memos: Sequence[Memo], carry: CarriedMemo) -> list[Snapshot]:
    """After each attempt so far."""
    return snapshots(
        [step_of(memo) for memo in memos], carry.backend, least_attempts=carry.from_attempt
    )


def carried_text(memos: Sequence[Memo], carry: CarriedMemo) -> str:
    """The memo as the next attempt is told it, in the form of guidance: what was tried, what went
    wrong, lessons, the next strategy.

    Where attempts repeat themselves and the flow intervenes: soft, a paragraph says so; strong, the
    next strategy is left out as well.
    Commands and facts are not told: values that the transcript does not show would be leaks.
    """
    level: Level | None = measured(memos, carry)[-1].level if carry.intervene else None
    last = memos[-1]
    earlier = [
        memo.next_strategy
        for memo in memos[:-1]
        if memo.next_strategy and memo.next_strategy != last.next_strategy
    ]
    lines = [
        f"In attempt {number}: {summary}"
        for number, summary in enumerate(last.attempts_log, start=1)
    ]
    lines += [f"What went wrong last: {last.error_pattern}"] if last.error_pattern else []
    lines += [f"Lesson: {lesson}" for lesson in earlier]
    lines += [f"Next: {last.next_strategy}"] if level != "strong" and last.next_strategy else []
    lines += [AGAIN] if level == "soft" else [ANEW] if level == "strong" else []
    return guidance_text(lines)


def carried_scores(
    key: str, memos: Sequence[tuple[str, Memo]], attempts: Sequence[Trajectory], carry: CarriedMemo
) -> list[Score]:
    """A row `pdi` per attempt that left a memo (null below three attempts), and a row
    `new_evidence` per attempt.
    """
    found = measured([memo for _, memo in memos], carry)
    rows = []
    for (identity, _), one in zip(memos, found, strict=True):
        detail: dict[str, Any] = {
            "key": key,
            **msgspec.to_builtins(one),
            "intervenes": carry.intervene,
        }
        rows.append(Score(identity, PDI, one.weighted if one.defined else None, detail=detail))
        if not one.defined:
            detail["why"] = "below_three_attempts"
    evidence = zip(attempts, new_evidence(attempts), strict=True)
    return [
        *rows,
        *(
            Score(attempt.trajectory_id, EVIDENCE, value, detail={"key": key})
            for attempt, value in evidence
        ),
    ]
