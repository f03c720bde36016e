"""Writes the hidden guidance of a retry: the lessons so far, or a memo carried from attempt to
attempt (SPARK, arXiv 2605.09192), on which the online proxy of PDI is measured.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from synth.branching import recorded_opening
from synth.ledger.ledger import Score
from synth.schemas import Guidance, Memo, Message, Trajectory, view_messages
from synth.stats.pdi import CarriedMemo, PdiSnapshot, PdiStep, snapshots
from synth.synthesizers.reflection.reflection import Reflection
from synth.text.leaks.canary import with_canary
from synth.text.provenance import Status, provenance
from synth.text.provenance.evidence import new_evidence

MOST_ENTRIES = 200
PDI, EVIDENCE = "pdi", "new_evidence"
AGAIN = (
    "The last attempts resemble each other: the same plan came back, and little new was found "
    "out. Say to yourself which step keeps coming back, and do something else in its place."
)
ANEW = (
    "Several attempts in a row have repeated themselves, so the plan is left out here on purpose. "
    "Do not follow the line of the last attempts: look at what is there first, and make a plan "
    "from that."
)
_BEFORE = "Before you go on, keep in mind:"
_AFTER = (
    "Act on this silently: do not mention it, nor that you were told anything. Whoever reads the "
    "conversation knows nothing of it, so use only what the conversation itself shows, and look up "
    "whatever you need."
)


class RetryAttempts(BaseModel):
    """The retries of a chain; with a `memo` the hidden guidance is made of all attempts, and not of
    the lessons alone.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    n: int = Field(default=1, ge=1, le=20)
    memo: CarriedMemo | None = None


def attempts_of(given: Any) -> Any:
    """Reads `attempts: 4`, or `{n: 4, memo: true}` with the memo's settings in place of true."""
    if isinstance(given, RetryAttempts):
        return given
    if not isinstance(given, Mapping):
        return {"n": given}

    unknown = sorted(map(str, given.keys() - {"n", "memo"}))

    if unknown or "n" not in given:
        raise ValueError(
            f"{f'{unknown[0]} is not a setting' if unknown else 'n is missing'}; give "
            "{n: 4, memo: true}"
        )

    memo = given.get("memo") or None

    return {"n": given["n"], "memo": {} if memo is True else memo}


def guidance_text(lessons: Sequence[str]) -> str:
    """Asks to apply the lessons and not to mention them; the latest comes last. The note's canary
    stands at its end.
    """
    said = (f"- {' '.join(lesson.split())}" for lesson in dict.fromkeys(lessons))
    return with_canary("\n".join([_BEFORE, *said, _AFTER]))


def guided_messages(trajectory: Trajectory, *, thoughts: bool = True) -> list[Message]:
    """The chat as the guided policy saw it; without guidance it is the transcript. No data set that
    trains a policy may use it.
    """

    text = trajectory.guidance
    guidance = None if text is None else Guidance(text, trajectory.pivot_turn or 0)
    opening = recorded_opening(trajectory)
    return view_messages(opening, trajectory.turns, thoughts=thoughts, guidance=guidance)


def memo_of(attempt: Trajectory, reflection: Reflection, before: Sequence[Memo]) -> Memo:
    """The memo after an attempt; `before` are those of the attempts before it.

    A verified fact is a value that the agent had seen and then put into a call that changes
    something.
    """

    first = attempt.pivot_turn or 0
    calls = (call for turn in attempt.turns[first:] for call in turn.tool_calls)
    used = [
        f"{found.path}: {found.value}"
        for found in provenance(attempt).findings
        if found.status is Status.OBSERVED and found.turn >= first
    ]

    log = before[-1].attempts_log if before else ()
    parts = attempt.check_result.parts if attempt.check_result is not None else ()

    return Memo(
        attempts_log=(*log, reflection.trajectory_summary),
        commands=tuple(f"{call.name} {call.arguments}" for call in calls)[:MOST_ENTRIES],
        verified_facts=tuple(dict.fromkeys(used))[:MOST_ENTRIES],
        error_pattern=reflection.root_cause_analysis,
        next_strategy=reflection.improvement_suggestion or "",
        failed_tests=tuple(part.name for part in parts if part.passed is False),
    )


def memory_text(memos: Sequence[Memo], memory: CarriedMemo) -> str:
    """The memo as guidance for the next attempt: earlier attempts, the last error, lessons, the
    next strategy.

    Where attempts repeat themselves and the flow intervenes: soft, a paragraph says so; strong, the
    next strategy is left out as well. Commands and facts are left out: values that the transcript
    does not show would be leaks.
    """

    level = _snapshots(memos, memory)[-1].level if memory.intervene else None
    last = memos[-1]
    # an earlier strategy that is repeated as the next one is told once
    earlier = [memo.next_strategy for memo in memos if memo.next_strategy != last.next_strategy]
    lines = [f"In attempt {at}: {said}" for at, said in enumerate(last.attempts_log, start=1)]
    lines += [f"What went wrong last: {last.error_pattern}"] if last.error_pattern else []
    lines += [f"Lesson: {lesson}" for lesson in earlier if lesson]
    lines += [f"Next: {last.next_strategy}"] if level != "strong" and last.next_strategy else []

    return guidance_text(lines + {"soft": [AGAIN], "strong": [ANEW]}.get(level or "", []))


def memory_scores(
    key: str,
    memos: Sequence[tuple[str, Memo]],
    attempts: Sequence[Trajectory],
    memory: CarriedMemo,
) -> list[Score]:
    """A row `pdi` per attempt that left a memo (null below three attempts), and a row
    `new_evidence` per attempt.
    """

    rows = []
    found = _snapshots([memo for _, memo in memos], memory)

    for (identity, _), one in zip(memos, found, strict=True):
        about = {"key": key, **msgspec.to_builtins(one), "intervenes": memory.intervene}
        about |= {} if one.defined else {"why": "below_three_attempts"}
        rows.append(Score(identity, PDI, one.weighted if one.defined else None, detail=about))

    for attempt, new in zip(attempts, new_evidence(attempts), strict=True):
        rows.append(Score(attempt.trajectory_id, EVIDENCE, new, detail={"key": key}))

    return rows


def _snapshots(memos: Sequence[Memo], memory: CarriedMemo) -> list[PdiSnapshot]:
    """The PDI after each attempt so far, from the sections that the proxy reads."""
    steps = [
        PdiStep(
            "\n".join(memo.commands),
            "\n".join(memo.verified_facts),
            memo.next_strategy,
            frozenset(memo.failed_tests),
        )
        for memo in memos
    ]

    return snapshots(steps, memory.backend, least_attempts=memory.from_attempt)
