"""What calls and their answers say of a run: failures, loops, a world that gives out."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from synth.filters.signals.patterns import ANSWERS, BAD_QUERY_WEAK
from synth.filters.signals.rows import Signal, SignalRow
from synth.text.pattern_set import PatternSet

RUN = 3
"""Calls in a row that make a retry or a drift."""
CYCLES = 3
LONGEST_PATTERN = 5


_PATTERNS = PatternSet(
    {
        f"{category}.{kind} {at}": f"(?i){pattern}"
        for category, kinds in ANSWERS.items()
        for kind, found in kinds.items()
        for at, pattern in enumerate(found.patterns)
    }
)


def execution(rows: Sequence[SignalRow], *, corrected: bool) -> Iterator[Signal]:
    """Failures, loops and exhaustion.

    `corrected`: only answers that are errors count (a file that speaks of timeouts is none), a
    failure after which the same tool answered
    well is `recovered` and told with half its confidence, calls that only turn pages or are all
    answered differently and without an error
    are no drift, and a cycle must repeat its arguments as well.
    """
    yield from _answers(rows, corrected)
    calls = [row for row in rows if row.role == "call"]
    if len(calls) >= RUN:
        yield from _loops(calls, _answers_by_call(rows), corrected)


def _answers(rows: Sequence[SignalRow], corrected: bool) -> Iterator[Signal]:
    for place, row in enumerate(rows):
        if row.role != "answer" or (corrected and not row.failed):
            continue
        hits = {name.partition(" ")[0] for name in _PATTERNS.hits(row.text)}
        for category, kinds in ANSWERS.items():
            kind = next((kind for kind in kinds if f"{category}.{kind}" in hits), None)
            if kind is None:
                continue
            confidence = kinds[kind].confidence
            if kind == "bad_query" and not any(
                word in row.text.lower() for word in ("error", "invalid", "failed")
            ):
                confidence = BAD_QUERY_WEAK
            mended = corrected and category == "failure" and _recovered(rows, place)
            yield Signal(
                f"{category}.{kind}",
                row.at,
                row.turn,
                confidence / (2 if mended else 1),
                "recovered" if mended else "",
            )


def _recovered(rows: Sequence[SignalRow], place: int) -> bool:
    """Whether a later call of the tool that failed was answered without an error."""
    failed = next((row.name for row in reversed(rows[:place]) if row.role == "call"), None)
    asked = ""
    for row in rows[place + 1 :]:
        if row.role == "call":
            asked = row.name
        elif row.role == "answer" and asked == failed and not row.failed:
            return True
    return False


def _answers_by_call(rows: Sequence[SignalRow]) -> dict[int, SignalRow]:
    """Calls, by row, with their answers; answers follow their turn's calls in order."""
    found: dict[int, SignalRow] = {}
    waiting: list[SignalRow] = []
    for row in rows:
        if row.role == "call":
            waiting.append(row)
        elif row.role == "answer" and waiting:
            found[waiting.pop(0).at] = row
        elif row.role in ("agent", "human"):
            waiting.clear()
    return found


def _loops(
    calls: Sequence[SignalRow], answers: Mapping[int, SignalRow], corrected: bool
) -> Iterator[Signal]:
    retries: list[tuple[int, int]] = []
    for _, group in groupby(calls, key=lambda call: (call.name, call.text)):
        run = list(group)
        if len(run) >= RUN:
            retries.append((run[0].at, run[-1].at))
            yield Signal(
                "loops.retry", run[0].at, run[0].turn, 0.95, f"{run[0].name} {len(run)} times"
            )
    for _, group in groupby(calls, key=lambda call: call.name):
        run = list(group)
        distinct = {call.text for call in run}
        if (
            len(run) < RUN
            or len(distinct) < 2
            or any(run[0].at <= end and start <= run[-1].at for start, end in retries)
        ):
            continue
        if not (corrected and _gets_on(run, answers)):
            yield Signal(
                "loops.parameter_drift",
                run[0].at,
                run[0].turn,
                0.85,
                f"{run[0].name} {len(run)} times",
            )
    yield from _oscillation(calls, corrected)


def _gets_on(run: Sequence[SignalRow], answers: Mapping[int, SignalRow]) -> bool:
    """Whether every call of a run brought an answer of its own, and none an error."""
    told = [answers.get(call.at) for call in run]
    return all(answer is not None and not answer.failed for answer in told) and len(
        {a.text for a in told if a is not None}
    ) == len(run)


def _oscillation(calls: Sequence[SignalRow], corrected: bool) -> Iterator[Signal]:
    """Patterns of two to five calls with two and more names, three times in a row; the next is
    looked for behind the last.
    """
    steps = [(call.name, call.text if corrected else "") for call in calls]
    at, last = 0, -1
    while at + 2 * CYCLES <= len(steps):
        found = next(
            (
                (length, cycles)
                for length in range(2, LONGEST_PATTERN + 1)
                if (cycles := _cycles(steps, at, length)) >= CYCLES
            ),
            None,
        )
        if found is None:
            at += 1
            continue
        length, cycles = found
        end = at + length * cycles - 1
        if calls[at].at > last:
            last = calls[end].at
            yield Signal(
                "loops.oscillation",
                calls[at].at,
                calls[at].turn,
                0.9,
                f"{length} calls {cycles} times",
            )
        at = end + 1 - length


def _cycles(steps: Sequence[tuple[str, str]], at: int, length: int) -> int:
    """How often a pattern follows itself from a place on; 0 where it has one name only."""
    pattern = steps[at : at + length]
    if len(pattern) < length or len({name for name, _ in pattern}) < 2:
        return 0
    cycles = 1
    while steps[at + cycles * length : at + (cycles + 1) * length] == pattern:
        cycles += 1
    return cycles
