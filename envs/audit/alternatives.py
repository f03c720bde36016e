"""Whether the check accepts other ways to the same end."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from synth.envs.audit.solutions import Solution, knows_solutions, solution, variant
from synth.envs.audit.state import differences
from synth.envs.conformance.experts import expert
from synth.envs.conformance.finding import ConformanceRig, Finding, part
from synth.envs.normalise import normalised_text
from synth.envs.transcript import MAX_TURNS, Transcript
from synth.schemas.check import CheckResult
from synth.schemas.environment import AgentTurn, Response

SEEDS = 5
ORDER_RULES = "process"
"""The part of a check that judges order: it may refuse a reordering that the state permits."""
SHOWN = 12
_WORD = re.compile(r"\w[\w.@-]*\w|\w")
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")


@dataclass(frozen=True)
class Other:
    """Another order of a solution's turns; `order` names the solution's turn that each one
    repeats.
    """

    kind: str
    what: str
    actions: tuple[AgentTurn, ...]
    order: tuple[int, ...]


@part()
async def other_strategies_pass(bench: ConformanceRig) -> Finding:
    """The expert with other seeds solves each task in its own way, and passes."""
    if not bench.claims("expert"):
        return Finding(None, "not tried: the world has no expert")
    deadline, choose = bench.deadline(), expert("correct")
    passed, tried, ways = 0, 0, []
    rejected: list[tuple[str, ...]] = []
    for task in bench.tasks:
        seen: set[tuple[object, ...]] = set()
        for seed in range(bench.seed, bench.seed + SEEDS):
            if deadline.over:
                break
            bench.note(f"the expert with seed {seed} on task {task.task_id}")
            transcript = await bench.played(task, choose, seed=seed, max_turns=MAX_TURNS)
            seen.add(
                tuple(
                    (a.content, *((call.name, call.arguments) for call in a.tool_calls))
                    for a in transcript.actions
                )
            )
            tried += 1
            passed += transcript.verdict.passed
            if not transcript.verdict.passed:
                rejected.append(
                    (task.task_id[:12], f"expert with seed {seed}", _why(transcript.verdict))
                )
        ways.append(len(seen))
    several = sum(count > 1 for count in ways)
    return Finding(
        passed >= bench.limits.accepted * tried,
        f"{passed} of {tried} episodes of {SEEDS} expert seeds accepted, {several} of {len(ways)} "
        f"tasks solved in several ways{_first(bench, 'Strategies', 'strategy', rejected)}",
    )


@part()
async def reorderings_pass(bench: ConformanceRig) -> Finding:
    """Neighbouring reads, or neighbouring writes, in the other order, and a read done twice: where
    all answers and the end stay
    the same, so must the verdict.

    A pair whose second turn names something out of the first one's answers keeps its order. Orders
    that only the part `process`
    refuses are left out: a rule may forbid what the state permits.
    """
    if not knows_solutions(bench):
        return Finding(None, "not tried: the world has no expert, its tasks no gold actions")
    deadline = bench.deadline()
    tried, accepted, ruled_out = Counter[str](), Counter[str](), Counter[str]()
    rejected: list[tuple[str, ...]] = []
    for task in bench.tasks:
        known = None if deadline.over else await solution(bench, task)
        for other in reorderings(known) if known is not None else ():
            if known is None or deadline.over:
                break
            bench.note(f"task {task.task_id}, {other.what}")
            transcript, end = await variant(bench, task, other.actions)
            if not answers_alike(known.transcript, transcript, other.order) or differences(
                bench, task, known.end, end
            ):
                continue
            if not transcript.verdict.passed and {
                part.name for part in transcript.verdict.parts if not part.passed
            } == {ORDER_RULES}:
                ruled_out[other.kind] += 1
                continue
            tried[other.kind] += 1
            accepted[other.kind] += transcript.verdict.passed
            if not transcript.verdict.passed:
                rejected.append((task.task_id[:12], other.what, _why(transcript.verdict)))
    kinds = sorted(tried.keys() | ruled_out.keys())
    bench.table(
        "Same calls, same answers, same end",
        ("variation", "tried", "accepted", "refused by order rules alone"),
        [(kind, tried[kind], accepted[kind], ruled_out[kind]) for kind in kinds],
    )
    first = _first(bench, "Variations", "variation", rejected)
    if not tried.total():
        return Finding(None, "not tried: no two calls of a solution commute")
    return Finding(
        accepted.total() >= bench.limits.accepted * tried.total(),
        f"{accepted.total()} of {tried.total()} variations with the same answers and end accepted "
        f"(at least {100 * bench.limits.accepted:g} %){first}",
    )


def _first(bench: ConformanceRig, what: str, column: str, rejected: list[tuple[str, ...]]) -> str:
    """Leaves what was rejected in a table, and says the first of it."""
    title = f"{what} rejected (the first {SHOWN})"
    bench.table(title, ("task", column, "why"), rejected[:SHOWN])
    return "".join(f"; rejected: task {task}, {who}: {why}" for task, who, why in rejected[:1])


def reorderings(known: Solution) -> Iterator[Other]:
    """Variations that keep every call of a solution."""
    actions, effects = known.transcript.actions, known.effectful
    every = tuple(range(len(actions)))
    silent = [bool(action.tool_calls) and not action.content for action in actions]
    for turn, action in enumerate(actions):
        same_kind = (
            turn + 1 < len(actions)
            and silent[turn]
            and silent[turn + 1]
            and effects[turn] == effects[turn + 1]
        )
        if same_kind and _independent(known, turn):
            order = (*every[:turn], turn + 1, turn, *every[turn + 2 :])
            kind = "neighbouring writes swapped" if effects[turn] else "neighbouring reads swapped"
            yield Other(
                kind,
                f"turns {turn} and {turn + 1} swapped",
                tuple(actions[index] for index in order),
                order,
            )
        if len(action.tool_calls) > 1:
            backwards = msgspec.structs.replace(action, tool_calls=action.tool_calls[::-1])
            yield Other(
                "calls of a turn reversed",
                f"turn {turn} backwards",
                (*actions[:turn], backwards, *actions[turn + 1 :]),
                every,
            )
        if silent[turn] and not effects[turn]:
            calls = tuple(
                msgspec.structs.replace(call, call_id=f"{call.call_id}_again")
                for call in action.tool_calls
            )
            order = (*every[: turn + 1], *every[turn:])
            again = (*actions[: turn + 1], AgentTurn(tool_calls=calls), *actions[turn + 1 :])
            yield Other(
                "a read done twice",
                f"turn {turn} ({action.tool_calls[0].name}) done twice",
                again,
                order,
            )


def _independent(known: Solution, turn: int) -> bool:
    """Whether the turn after this one says nothing that stands in this one's answers, but for what
    both ask about.
    """
    first, second = known.transcript.actions[turn : turn + 2]
    answers = " ".join(
        observation.content for observation in known.transcript.responses[turn].observations
    )
    asked, said = (
        words(" ".join(call.arguments for call in action.tool_calls)) for action in (first, second)
    )
    return not (said - asked - _argument_names(second)) & words(answers)


def words(text: str) -> set[str]:
    """The words of a text; numbers as they are worth, however they are written: $1,151.00 is
    1151.0.
    """
    found = {*_WORD.findall(text), *_WORD.findall(_THOUSANDS.sub("", text))}
    return {str(float(word)) if _NUMBER.fullmatch(word) else word for word in found}


def _argument_names(action: AgentTurn) -> set[str]:
    return {
        name for call in action.tool_calls if call.parse_error is None for name in call.parsed()
    }


def answers_alike(known: Transcript, other: Transcript, order: tuple[int, ...]) -> bool:
    """Whether each turn is answered as it was in the solution."""
    return all(
        _said(known.responses[index]) == _said(found)
        for index, found in zip(order, other.responses, strict=True)
    )


def _said(response: Response) -> list[tuple[str, str | None, bool]]:
    return sorted(
        ((normalised_text(o.content), o.name, o.error) for o in response.observations), key=str
    )


def _why(verdict: CheckResult) -> str:
    """The parts that failed, with their evidence."""
    failed = [
        f"{part.name} ({'; '.join(part.evidence)})" if part.evidence else part.name
        for part in verdict.parts
        if not part.passed
    ]
    return ", ".join(failed)[:300] or "not passed"
