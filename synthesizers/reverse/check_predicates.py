"""The check of a derived task: what the window changed must hold, what the environment calls free
may change, all else stands; and T1 to T3 of the task, on facts and answers alone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.envs.echo_check import state_verdicts
from synth.envs.fact_pattern import matches, pattern_of, zone_of
from synth.envs.transcript import perform
from synth.schemas.check import Check, Facts, RowPredicate, Scalar, ToldFact
from synth.schemas.environment import AgentTurn, Env
from synth.schemas.reverse import Draft
from synth.schemas.task import Task
from synth.synthesizers.reverse.exploration import NOT_ASKED_FOR, changes, played
from synth.synthesizers.reverse.subtrajectories import Segment

TOLD = "told"
"""The part of an environment's verdict that is about answers; where it has none, the verdict
itself.
"""
Row = tuple[str, str]


class RejectedError(Exception):
    """Why a window is no task: `reason` is a counter's name, `example` shows what was found."""

    def __init__(self, reason: str, example: str = "") -> None:
        super().__init__(reason, example)
        self.reason = reason
        self.example = example


def verdict(passed: bool | None = True, **counts: Any) -> dict[str, Any]:
    """One test's verdict, None where it does not apply, and the counts behind it, as the task's
    `difficulty` holds them.
    """
    return {"passed": passed, **counts}


def check_of(start: Facts, end: Facts, draft: Draft, zones: Mapping[str, str]) -> Check:
    """Required: every row that differs between start and end, in the columns that differ and are
    neither free nor generated; what is free in the environment and asked for by this goal is not
    free.

    A row that was there is named by its key; a new one by its content alone, because its key may be
    numbered as rows come, counted with the rows that are like it; one that is gone by its key,
    which no row may have; a value that is gone by itself.
    """

    def is_free(path: str) -> bool:
        by_world = zone_of(zones, path) in NOT_ASKED_FOR
        asked = pattern_of(zones, path) in draft.asked
        return (by_world and not asked) or any(matches(pattern, path) for pattern in draft.free)

    changed: defaultdict[Row, dict[str, Scalar]] = defaultdict(dict)
    gone: list[str] = []
    for path, change in changes(start, end).items():
        row, column = _split(path)
        if path not in end:
            gone += [] if is_free(path) else [path]
        elif not is_free(path):
            changed[row][column] = change.after
    before, after = _rows(start), _rows(end)
    required = [_required(row, columns, before, after) for row, columns in changed.items()]
    vanished = {row for row, _ in map(_split, gone)} - after.keys()
    required += [RowPredicate(table, {"id": key}, 0) for table, key in sorted(vanished)]
    for path in gone:
        (table, key), column = _split(path)
        if (table, key) in after:
            required.append(RowPredicate(table, {"id": key, column: start[path]}, 0))
    free = [
        pattern
        for pattern, zone in zones.items()
        if zone in NOT_ASKED_FOR and pattern not in draft.asked
    ]
    return Check(
        required=tuple(one for at, one in enumerate(required) if one not in required[:at]),
        free=tuple(dict.fromkeys([*free, *draft.free, *gone])),
        told=draft.told,
        refusals=draft.refusals,
        process=draft.process,
    )


def check_in(task: Task) -> Check:
    """The check of a derived task: each has one."""
    return task.check or Check()


def _split(path: str) -> tuple[Row, str]:
    table, key, column = path.split("/", 2)
    return (table, key), column


def _rows(facts: Facts) -> Mapping[Row, Mapping[str, Scalar]]:
    rows: defaultdict[Row, dict[str, Scalar]] = defaultdict(dict)
    for path, value in facts.items():
        row, column = _split(path)
        rows[row][column] = value
    return rows


def _required(
    row: Row,
    columns: Mapping[str, Scalar],
    before: Mapping[Row, object],
    after: Mapping[Row, Mapping[str, Scalar]],
) -> RowPredicate:
    table, key = row
    if row in before:
        return RowPredicate(table, {"id": key, **columns})
    alike = sum(
        at == table and columns.items() <= found.items() for (at, _), found in after.items()
    )
    return RowPredicate(table, dict(columns), alike)


def constraint_structure(check: Check) -> str:
    """What a check demands with its entities masked, by which goals are told apart whose words say
    nothing about it: rows by table and columns, in no order, with the number of alike ones; the
    types of what is to be told; the rules that forbid.
    """
    parts = Counter(map(_shape, check.required))
    parts += Counter(f"tell {fact.type}" for fact in check.told)
    parts += Counter(f"refuse by {refusal.rule}" for refusal in check.refusals)
    return " + ".join(
        part if count == 1 else f"{count} x {part}" for part, count in sorted(parts.items())
    )


def _shape(row: RowPredicate) -> str:
    """`table(columns)` of a row that was there, `+table(columns)` of a new one, with how many there
    must be where that is not one.
    """
    columns = ", ".join(sorted(row.where.keys() - {"id"}))
    found = f"{'' if 'id' in row.where else '+'}{row.table}({columns})"
    return found if row.count == 1 else f"{found} {row.count} times"


def broken(check: Check, start: Facts, end: Facts) -> str:
    """What of the state part of a check does not hold; empty where it passes."""
    return "; ".join(
        f"{part.name}: {', '.join(part.evidence)}"
        for part in state_verdicts(check, start, end)
        if not part.passed
    )[:300]


async def first_tests(
    env: Env, task: Task, segment: Segment, said: AgentTurn | None
) -> tuple[dict[str, Any], list[int]]:
    """T1 to T3: false at the start, true after the operations, false without any one of them; and
    the operations without which the state is right all the same. Raises `RejectedError`.

    A question is answered by the turn `said`, and its answer must not stand in the goal. A look-up
    without which the answer counts all the same is not left out of the window: a question has one
    part per look-up, so that nothing would be left to be asked.
    """
    check = check_in(task)

    async def wrong_after(turns: Sequence[AgentTurn]) -> str:
        """What does not hold after these turns."""
        if said is None:
            done = await played(env, turns, task)
            return broken(check, done.start, done.end)
        found = (await perform(env, task, (*turns, said))).verdict
        told = next((part.passed for part in found.parts if part.name == TOLD), found.passed)
        return "" if told else f"{said} {task.goal}"

    forms = (form for fact in check.told for form in _forms(fact)) if said is not None else ()
    stated = next((form for form in forms if form in task.goal.lower()), None)
    if stated is not None:
        raise RejectedError("answer_in_the_goal", f"{stated}: {task.goal}")
    await env.reset(task)
    passes = (await env.check()).passed
    if passes or ((said is not None or check.required) and not await wrong_after(())):
        raise RejectedError("T1_true_at_the_start", task.goal)
    if wrong := await wrong_after(segment.turns):
        raise RejectedError("T2_false_after_the_walk", wrong)
    ablated = [at for at, operation in enumerate(segment.operations) if operation.denied is None]
    incidental = [at for at in ablated if not await wrong_after(segment.without(at))]
    if said is not None and incidental:
        raise RejectedError("T3_known_without_the_look_up", task.goal)
    third = verdict(not incidental if ablated else None, ablated=len(ablated))
    return {"T1": verdict(), "T2": verdict(), "T3": third}, incidental


def _forms(fact: ToldFact) -> Iterator[str]:
    """How a value may be written, in lower case; amounts are in cents."""
    if fact.type == "money" and isinstance(fact.value, int):
        yield f"{fact.value / 100:.2f}"
        yield f"${fact.value / 100:g} "
        return
    yield str(fact.value).lower()
    yield str(fact.value).lower().replace("_", " ")
