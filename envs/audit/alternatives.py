"""Whether the check accepts other ways to the same end."""

import re
from collections import Counter
from collections.abc import Iterator

import msgspec

from synth.envs.audit.solutions import (
    Solution,
    Variant,
    trials,
)
from synth.envs.bots import expert
from synth.envs.conformance.finding import (
    SHOWN,
    ConformanceRig,
    NotTriedError,
    part,
    passes,
)
from synth.envs.normalise import normalised_text
from synth.envs.transcript import (
    MAX_TURNS,
    Transcript,
    why_failed,
)
from synth.schemas import AgentTurn, CheckResult, Response

SEEDS = 5
ORDER_RULES = "process"
"""The part of a check that judges order: it may refuse a reordering that the state permits."""
ACCEPTED, RULED_OUT, REJECTED = "accepted", "ruled out", "rejected"
_WORD = re.compile(r"\w[\w.@-]*\w|\w")
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")


@part("expert")
async def other_strategies_pass(bench: ConformanceRig) -> str:
    """The expert with other seeds solves each task in its own way, and passes."""

    choose = expert("correct")
    tried, several = 0, 0
    rejected: list[tuple[str, ...]] = []
    for task in bench.tasks:
        ways: set[tuple[object, ...]] = set()
        for seed in range(bench.seed, bench.seed + SEEDS):
            if bench.late:
                break
            bench.note(f"the expert with seed {seed} on task {task.task_id}")
            found = await bench.played(
                task,
                choose,
                seed=seed,
                max_turns=MAX_TURNS,
            )
            ways.add(tuple(map(_deed, found.actions)))
            tried += 1
            if not found.verdict.passed:
                why = why_failed(found.verdict)[:300]
                rejected.append((task.task_id[:12], f"expert with seed {seed}", why))

        several += len(ways) > 1

    passed = tried - len(rejected)
    solved = f"{several} of {len(bench.tasks)} tasks solved in several ways"

    return passes(
        passed >= bench.limits.accepted * tried,
        f"{passed} of {tried} episodes of {SEEDS} expert seeds accepted, {solved}"
        + _first(
            bench,
            "Strategies",
            "strategy",
            rejected,
        ),
    )


def _deed(turn: AgentTurn) -> tuple[object, ...]:
    return (turn.content, *((call.name, call.arguments) for call in turn.tool_calls))


@part()
async def reorderings_pass(bench: ConformanceRig) -> str:
    """Neighbouring reads, or neighbouring writes, in the other order, and a read done twice: where
    all answers and the end stay the same, so must the verdict.

    A pair whose second turn names something out of the first one's answers keeps its order. Orders
    that only the part `process` refuses are left out: a rule may forbid what the state permits.
    """

    ends = Counter[tuple[str, str]]()
    rejected: list[tuple[str, ...]] = []
    async for trial in trials(bench, reorderings):
        variant, found = trial.variant, trial.transcript
        alike = answers_alike(trial.known.transcript, found, variant.order)
        if not alike or trial.differs:
            continue
        end = _end(found.verdict)
        ends[variant.kind, end] += 1
        if end == REJECTED:
            rejected.append((trial.task, variant.what, why_failed(found.verdict)[:300]))

    _count(bench, ends)
    first = _first(bench, "Variations", "variation", rejected)
    accepted = sum(count for (_, end), count in ends.items() if end == ACCEPTED)
    tried = accepted + len(rejected)
    if not tried:
        raise NotTriedError("not tried: no two calls of a solution commute")

    share, of = bench.limits.accepted, f"{accepted} of {tried} variations"
    least = f"(at least {100 * share:g} %)"
    detail = f"{of} with the same answers and end accepted {least}{first}"

    return passes(accepted >= share * tried, detail)


def _end(verdict: CheckResult) -> str:
    """How a check takes a reordering: accepted, refused by its order rules alone, or rejected."""
    failed = {part.name for part in verdict.parts if not part.passed}
    if verdict.passed:
        return ACCEPTED
    return RULED_OUT if failed == {ORDER_RULES} else REJECTED


def _count(bench: ConformanceRig, ends: Counter[tuple[str, str]]) -> None:
    """Leaves the ends of each kind of variation in a table."""
    rows = []
    for kind in sorted({kind for kind, _ in ends}):
        passed = ends[kind, ACCEPTED]
        rows.append((kind, passed + ends[kind, REJECTED], passed, ends[kind, RULED_OUT]))

    columns = ("variation", "tried", "accepted", "refused by order rules alone")
    bench.table("Same calls, same answers, same end", columns, rows)


def _first(
    bench: ConformanceRig,
    what: str,
    column: str,
    rejected: list[tuple[str, ...]],
) -> str:
    """Leaves what was rejected in a table, and says the first of it."""
    title, columns = f"{what} rejected (the first {SHOWN})", ("task", column, "why")
    return bench.examples(
        title,
        columns,
        rejected,
        "; rejected: task {0}, {1}: {2}",
    )


def reorderings(known: Solution) -> Iterator[Variant]:
    """Variations that keep every call of a solution."""

    for turn in range(len(known.transcript.actions)):
        yield from _swapped(known, turn)
        yield from _reversed(known, turn)
        yield from _repeated(known, turn)


def _silent(known: Solution, turn: int) -> bool:
    """Whether a turn is calls alone."""
    action = known.transcript.actions[turn]
    return bool(action.tool_calls) and not action.content


def _swapped(known: Solution, turn: int) -> Iterator[Variant]:
    """Two neighbouring reads, or writes, in the other order."""

    actions, effects = known.transcript.actions, known.effectful
    after, every = turn + 1, range(len(actions))
    if after == len(actions) or effects[turn] != effects[after]:
        return
    if not (_silent(known, turn) and _silent(known, after) and _independent(known, turn)):
        return

    order = (*every[:turn], after, turn, *every[after + 1 :])
    kind = f"neighbouring {'writes' if effects[turn] else 'reads'} swapped"
    swapped = tuple(actions[at] for at in order)
    yield Variant(
        kind,
        f"turns {turn} and {after} swapped",
        swapped,
        order,
    )


def _reversed(known: Solution, turn: int) -> Iterator[Variant]:
    """The calls of one turn in the other order."""

    actions = known.transcript.actions
    calls = actions[turn].tool_calls
    if len(calls) > 1:
        turned = msgspec.structs.replace(actions[turn], tool_calls=calls[::-1])
        turns = (*actions[:turn], turned, *actions[turn + 1 :])
        order = tuple(range(len(actions)))
        yield Variant(
            "calls of a turn reversed",
            f"turn {turn} backwards",
            turns,
            order,
        )


def _repeated(known: Solution, turn: int) -> Iterator[Variant]:
    """A read done twice."""

    actions, every = known.transcript.actions, range(len(known.transcript.actions))
    if not _silent(known, turn) or known.effectful[turn]:
        return
    again = tuple(
        msgspec.structs.replace(call, call_id=f"{call.call_id}_again")
        for call in actions[turn].tool_calls
    )
    turns = (*actions[: turn + 1], AgentTurn(tool_calls=again), *actions[turn + 1 :])
    what = f"turn {turn} ({actions[turn].tool_calls[0].name}) done twice"
    yield Variant(
        "a read done twice",
        what,
        turns,
        (*every[: turn + 1], *every[turn:]),
    )


def _independent(known: Solution, turn: int) -> bool:
    """Whether the turn after this one names nothing out of this one's answers, but what both ask
    about.
    """

    first, second = known.transcript.actions[turn : turn + 2]
    answers = " ".join(seen.content for seen in known.transcript.responses[turn].observations)
    asked, said = (
        words(" ".join(call.arguments for call in action.tool_calls)) for action in (first, second)
    )
    calls = [call for call in second.tool_calls if call.parse_error is None]
    names = {name for call in calls for name in call.parsed()}

    return not (said - asked - names) & words(answers)


def words(text: str) -> set[str]:
    """The words of a text; numbers by what they are worth: $1,151.00 is 1151.0."""
    found = {*_WORD.findall(text), *_WORD.findall(_THOUSANDS.sub("", text))}
    return {str(float(word)) if _NUMBER.fullmatch(word) else word for word in found}


def answers_alike(
    known: Transcript,
    other: Transcript,
    order: tuple[int, ...],
) -> bool:
    """Whether each turn is answered as it was in the solution."""
    return all(
        _said(known.responses[index]) == _said(found)
        for index, found in zip(order, other.responses, strict=True)
    )


def _said(response: Response) -> list[tuple[str, str | None, bool]]:
    return sorted(
        ((normalised_text(o.content), o.name, o.error) for o in response.observations), key=str
    )
