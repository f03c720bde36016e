"""What calls and their answers say of a run.

- `failure`: an answer that says what was wrong with a call.
- `exhaustion`: an answer that says that the environment gives out: limits, timeouts, its network.
- `loops`: the same call again (`retry`), the same tool with other arguments (`parameter_drift`), a
  pattern of calls over and over (`oscillation`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from synth.filters.signals.patterns import ANSWERS
from synth.filters.signals.rows import Signal, SignalRow
from synth.text.pattern_set import PatternSet

RUN = 3
"""Calls in a row that make a retry or a drift."""
_ROUNDS = re.compile(r"(.{2,5}?)\1{2,}", re.DOTALL)
"""Two to five calls, and the same at least twice more: an oscillation."""
RECOVERED = "recovered"
"""What is said of a failure that the agent made good."""
_PATTERNS = PatternSet(
    {
        # the name of a hit tells its kind: what stands behind the space tells patterns apart
        f"{category}.{kind} {at}": f"(?i){pattern}"
        for category, kinds in ANSWERS.items()
        for kind, found in kinds.items()
        for at, pattern in enumerate(found.patterns)
    }
)


def execution(rows: Sequence[SignalRow], *, corrected: bool) -> Iterator[Signal]:
    """Failures, loops and exhaustion.

    `corrected`: only answers that are errors count (a file that speaks of timeouts is none), a
    failure after which the same tool answered well is `recovered` and told with half its
    confidence, calls that only turn pages or are all answered differently and without an error are
    no drift, and a cycle must repeat its arguments as well.
    """
    for place, row in enumerate(rows):
        if row.role == "answer" and (row.failed or not corrected):
            yield from _of_answer(rows, place, corrected)

    calls = [row for row in rows if row.role == "call"]
    yield from _runs(calls, _answers_by_call(rows) if corrected else None)
    yield from _oscillation(calls, corrected)


def _of_answer(rows: Sequence[SignalRow], place: int, corrected: bool) -> Iterator[Signal]:
    """A failure and an exhaustion at most, each by the first kind that fits."""
    row = rows[place]
    hits = {name.partition(" ")[0] for name in _PATTERNS.hits(row.text)}

    for category, kinds in ANSWERS.items():
        kind = next((kind for kind in kinds if f"{category}.{kind}" in hits), None)
        if kind is None:
            continue

        # words that many answers have are weak evidence unless an error is spoken of
        found, text = kinds[kind], row.text.lower()
        confidence = found.confidence
        if found.weak is not None and not any(word in text for word in found.words):
            confidence = found.weak

        mended = corrected and category == "failure" and _recovered(rows, place)
        what = RECOVERED if mended else ""
        yield row.signal(f"{category}.{kind}", what, confidence / (2 if mended else 1))


def _recovered(rows: Sequence[SignalRow], place: int) -> bool:
    """Whether a later call of the tool that failed was answered without an error.

    `place`: of the failure, whose call is the last one before it.
    """
    failed = next((row.name for row in reversed(rows[:place]) if row.role == "call"), None)
    asked = ""

    for row in rows[place + 1 :]:
        if row.role == "call":
            asked = row.name
        elif row.role == "answer" and asked == failed and not row.failed:
            return True

    return False


def _answers_by_call(rows: Sequence[SignalRow]) -> dict[int, SignalRow]:
    """Calls, by row, with their answers; answers follow their turn's calls in order.

    Whoever speaks ends a turn: what was not answered by then has no answer.
    """
    found: dict[int, SignalRow] = {}
    waiting: list[int] = []

    for row in rows:
        if row.role == "call":
            waiting.append(row.at)
        elif row.role != "answer":
            waiting.clear()
        elif waiting:
            found[waiting.pop(0)] = row

    return found


def _runs(calls: Sequence[SignalRow], answers: Mapping[int, SignalRow] | None) -> Iterator[Signal]:
    """Retries, and drifts that no retry lies in; with answers no drift where every call brought an
    answer of its own, and none an error.
    """
    retried: set[int] = set()

    for _, group in groupby(calls, key=lambda call: (call.name, call.text)):
        run = list(group)
        if len(run) >= RUN:
            retried.update(call.at for call in run)
            yield run[0].signal("loops.retry", f"{run[0].name} {len(run)} times", 0.95)

    for _, group in groupby(calls, key=lambda call: call.name):
        run = list(group)

        # all equal is a retry, whose calls are no drift besides
        same = len({call.text for call in run}) < 2 or any(call.at in retried for call in run)
        if len(run) < RUN or same:
            continue

        told = [answers[call.at] for call in run if call.at in answers] if answers else []
        distinct = {answer.text for answer in told if not answer.failed}
        if len(distinct) < len(run):
            yield run[0].signal("loops.parameter_drift", f"{run[0].name} {len(run)} times", 0.85)


def _oscillation(calls: Sequence[SignalRow], corrected: bool) -> Iterator[Signal]:
    """Patterns of two to five calls with two and more names, three times in a row; the next is
    looked for behind the last.

    Every distinct call is a character, so that a regular expression finds the rounds. As published,
    calls of one tool are the same whatever their arguments.
    """
    steps = [(call.name, call.text if corrected else "") for call in calls]
    letters = {step: chr(at) for at, step in enumerate(dict.fromkeys(steps))}
    spelled = "".join(letters[step] for step in steps)
    at, last = 0, -1

    while (found := _ROUNDS.search(spelled, at)) is not None:
        first, length = calls[found.start()], len(found[1])
        rounds = len(found[0]) // length
        at = found.start() + 1

        # one name over and over is a retry or a drift
        if len({call.name for call in calls[found.start() :][:length]}) > 1:
            at = found.end() - length
            if first.at > last:
                last = calls[found.end() - 1].at
                yield first.signal("loops.oscillation", f"{length} calls {rounds} times", 0.9)
