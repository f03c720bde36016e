"""Whether the check tells a solution from one that was made wrong."""

from collections import Counter
from random import Random

from synth.envs.audit.mutants import KINDS, Mutant, mutants
from synth.envs.audit.solutions import differences, need_solutions, solution, variant
from synth.envs.conformance.finding import ConformanceRig, NotTriedError, part, passes

MUTANTS_PER_TASK = 60
SHOWN = 12
OWN = "own"
"""Mutants by the world's own rules."""


@part()
async def mutants_are_killed(bench: ConformanceRig) -> str:
    """At least `bench.limits.killed` of the mutants fail; one that passes and leaves the state as the
    solution does is no mutant.
    """
    need_solutions(bench)
    over, solved = bench.deadline(), 0
    made, killed, equal = Counter[str](), Counter[str](), Counter[str]()
    survivors: list[tuple[str, ...]] = []
    for task in bench.tasks:
        known = None if over() else await solution(bench, task)
        if known is None:
            continue
        solved += 1
        own = bench.world.mutants(task, known.transcript) if bench.world.mutants is not None else ()
        owned = [Mutant(OWN, kind, tuple(actions)) for kind, actions in own]
        draw = Random(task.task_id)
        for mutant in _of(draw, list(mutants(known))) + _of(draw, owned):
            if over():
                break
            bench.note(f"task {task.task_id}, {mutant.what}")
            transcript, end = await variant(bench, task, mutant.actions)
            made[mutant.kind] += 1
            killed[mutant.kind] += not transcript.verdict.passed
            if transcript.verdict.passed:
                what = ", ".join(differences(bench, task, known.end, end)[:4])
                equal[mutant.kind] += not what
                survivors += [(task.task_id[:12], mutant.kind, mutant.what, what)] * bool(what)
    rows = [(kind, made[kind], equal[kind], killed[kind]) for kind in (*KINDS, OWN) if made[kind]]
    rows.append(("all", made.total(), equal.total(), killed.total()))
    bench.table(
        "Mutants by kind",
        ("mutant", "made", "same state, left out", "counted", "killed", "share"),
        [
            (k, all_, same, all_ - same, dead, _share(dead, all_ - same))
            for k, all_, same, dead in rows
        ],
    )
    columns = ("task", "kind", "mutant", "differs in")
    bench.table(f"Survivors (the first {SHOWN})", columns, survivors[:SHOWN])
    counted, least = made.total() - equal.total(), bench.limits.killed
    if not counted:
        raise NotTriedError(f"not tried: no call of {solved} solved tasks changes the state")
    share = f"{_share(killed.total(), counted)} of {counted} mutants killed"
    left = f"{equal.total()} left out, on {solved} of {len(bench.tasks)} tasks"
    alive = [f"; survives: task {of}, {what} (differs in {at})" for of, _, what, at in survivors]
    detail = f"{share} (at least {100 * least:g} %), {left}{''.join(alive[:1])}"
    return passes(killed.total() >= least * counted, detail)


def _of(draw: Random, every: list[Mutant]) -> list[Mutant]:
    return every if len(every) <= MUTANTS_PER_TASK else draw.sample(every, MUTANTS_PER_TASK)


def _share(part: int, whole: int) -> str:
    """For instance 97.5 %, rounded down: 100 % is all."""
    return f"{int(1000 * part / whole) / 10:g} %" if whole else "-"
