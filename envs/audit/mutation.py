"""Whether the check tells a solution from one that was made wrong."""

from collections import Counter
from random import Random

from synth.envs.audit.mutants import KINDS, Mutant, mutants
from synth.envs.audit.report import Limits, Table
from synth.envs.audit.solutions import Deadline, knows_solutions, solution, variant
from synth.envs.audit.state import differences
from synth.envs.conformance.finding import Bench, Finding

MUTANTS_PER_TASK = 60
SHOWN = 12
OWN = "own"
"""Mutants by the world's own rules."""


async def mutants_are_killed(bench: Bench, limits: Limits, tables: list[Table]) -> Finding:
    """At least `limits.killed` of the mutants fail; one that passes and leaves the state as the
    solution does is no mutant.
    """
    name = "mutants_are_killed"
    if not knows_solutions(bench):
        return Finding(name, None, "not tried: the world has no expert, its tasks no gold actions")
    deadline = Deadline.within(limits.part_s / 2)
    made, killed, equal = Counter[str](), Counter[str](), Counter[str]()
    survivors: list[tuple[str, ...]] = []
    solved = 0
    for task in bench.tasks:
        known = None if deadline.over else await solution(bench, task)
        if known is None:
            continue
        solved += 1
        every = list(mutants(known))
        own = bench.world.mutants(task, known.transcript) if bench.world.mutants is not None else ()
        draw = Random(task.task_id)
        chosen = _of(draw, every) + _of(
            draw, [Mutant(OWN, kind, tuple(actions)) for kind, actions in own]
        )
        for mutant in chosen:
            if deadline.over:
                break
            bench.note(f"task {task.task_id}, {mutant.what}")
            transcript, end = await variant(bench, task, mutant.actions)
            made[mutant.kind] += 1
            if not transcript.verdict.passed:
                killed[mutant.kind] += 1
                continue
            what = differences(bench, task, known.end, end)
            if not what:
                equal[mutant.kind] += 1
            else:
                survivors.append((task.task_id[:12], mutant.kind, mutant.what, ", ".join(what[:4])))
    counted = made.total() - equal.total()
    rows = [
        (k, made[k], equal[k], made[k] - equal[k], killed[k], _share(killed[k], made[k] - equal[k]))
        for k in (*KINDS, OWN)
        if made[k]
    ]
    rows.append(
        (
            "all",
            made.total(),
            equal.total(),
            counted,
            killed.total(),
            _share(killed.total(), counted),
        )
    )
    columns = ("mutant", "made", "same state, left out", "counted", "killed", "share")
    tables.append(Table("Mutants by kind", columns, tuple(tuple(map(str, row)) for row in rows)))
    if survivors:
        tables.append(
            Table(
                f"Survivors (the first {SHOWN})",
                ("task", "kind", "mutant", "differs in"),
                tuple(survivors[:SHOWN]),
            )
        )
    if not counted:
        return Finding(name, None, f"not tried: no call of {solved} solved tasks changes the state")
    detail = (
        f"{_share(killed.total(), counted)} of {counted} mutants killed (at least "
        f"{100 * limits.killed:g} %), {equal.total()} left out, "
        f"on {solved} of {len(bench.tasks)} tasks"
    )
    first = (
        f"; survives: task {survivors[0][0]}, {survivors[0][2]} (differs in {survivors[0][3]})"
        if survivors
        else ""
    )
    return Finding(name, killed.total() >= limits.killed * counted, detail + first)


def _of(draw: Random, every: list[Mutant]) -> list[Mutant]:
    return every if len(every) <= MUTANTS_PER_TASK else draw.sample(every, MUTANTS_PER_TASK)


def _share(part: int, whole: int) -> str:
    """For instance 97.5 %, rounded down: 100 % is all."""
    return f"{int(1000 * part / whole) / 10:g} %" if whole else "-"
