"""Whether the check tells a solution from one that was made wrong."""

from collections import Counter
from random import Random

from synth.envs.audit.mutants import KINDS, Mutant, mutants
from synth.envs.audit.solutions import knows_solutions, solution, variant
from synth.envs.audit.state import differences
from synth.envs.conformance.finding import ConformanceRig, Finding, part

MUTANTS_PER_TASK = 60
SHOWN = 12
OWN = "own"
"""Mutants by the world's own rules."""


@part()
async def mutants_are_killed(bench: ConformanceRig) -> Finding:
    """At least `bench.limits.killed` of the mutants fail; one that passes and leaves the state as the
    solution does is no mutant.
    """
    if not knows_solutions(bench):
        return Finding(None, "not tried: the world has no expert, its tasks no gold actions")
    deadline = bench.deadline()
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
    kinds = [(kind, made[kind], equal[kind], killed[kind]) for kind in (*KINDS, OWN) if made[kind]]
    kinds.append(("all", made.total(), equal.total(), killed.total()))
    bench.table(
        "Mutants by kind",
        ("mutant", "made", "same state, left out", "counted", "killed", "share"),
        [
            (k, all_, same, all_ - same, dead, _share(dead, all_ - same))
            for k, all_, same, dead in kinds
        ],
    )
    columns = ("task", "kind", "mutant", "differs in")
    bench.table(f"Survivors (the first {SHOWN})", columns, survivors[:SHOWN])
    if not counted:
        return Finding(None, f"not tried: no call of {solved} solved tasks changes the state")
    detail = (
        f"{_share(killed.total(), counted)} of {counted} mutants killed (at least "
        f"{100 * bench.limits.killed:g} %), {equal.total()} left out, "
        f"on {solved} of {len(bench.tasks)} tasks"
    )
    if survivors:
        of, _, mutated, differs = survivors[0]
        detail += f"; survives: task {of}, {mutated} (differs in {differs})"
    return Finding(killed.total() >= bench.limits.killed * counted, detail)


def _of(draw: Random, every: list[Mutant]) -> list[Mutant]:
    return every if len(every) <= MUTANTS_PER_TASK else draw.sample(every, MUTANTS_PER_TASK)


def _share(part: int, whole: int) -> str:
    """For instance 97.5 %, rounded down: 100 % is all."""
    return f"{int(1000 * part / whole) / 10:g} %" if whole else "-"
