"""Whether the check tells a solution from one that was made wrong."""

from collections import Counter
from random import Random

from synth.envs.audit.mutants import KINDS as BY_RULE
from synth.envs.audit.mutants import mutants
from synth.envs.audit.solutions import (
    Solution,
    Variant,
    trials,
)
from synth.envs.conformance.finding import (
    SHOWN,
    ConformanceRig,
    NotTriedError,
    part,
    passes,
)

MUTANTS_PER_TASK = 60
OWN = "own"
"""Mutants by the environment's own rules."""
KINDS = (*BY_RULE, OWN)


@part()
async def mutants_are_killed(bench: ConformanceRig) -> str:
    """At least `bench.limits.killed` of the mutants fail; one that passes and leaves the state as
    the solution does is no mutant.
    """

    made, killed, equal = Counter[str](), Counter[str](), Counter[str]()
    survivors: list[tuple[str, ...]] = []
    solved = 0

    def drawn(known: Solution) -> list[Variant]:
        nonlocal solved
        solved += 1
        return _drawn(bench, known)

    async for trial in trials(bench, drawn):
        kind, what = trial.variant.kind, trial.variant.what
        made[kind] += 1
        if not trial.transcript.verdict.passed:
            killed[kind] += 1
        elif trial.differs:
            survivors.append((trial.task, kind, what, ", ".join(trial.differs[:4])))
        else:
            equal[kind] += 1

    first = _evidence(bench, made, killed, equal, survivors)
    counted, least = made.total() - equal.total(), bench.limits.killed
    if not counted:
        raise NotTriedError(f"not tried: no call of {solved} solved tasks changes the state")
    share = f"{_share(killed.total(), counted)} of {counted} mutants killed"
    left = f"{equal.total()} left out, on {solved} of {len(bench.tasks)} tasks"
    detail = f"{share} (at least {100 * least:g} %), {left}{first}"

    return passes(killed.total() >= least * counted, detail)


def _evidence(
    bench: ConformanceRig,
    made: Counter[str],
    killed: Counter[str],
    equal: Counter[str],
    survivors: list[tuple[str, ...]],
) -> str:
    """Adds the counts by kind and the first survivors; gives the very first in words."""

    rows = [_row(kind, made[kind], equal[kind], killed[kind]) for kind in KINDS if made[kind]]
    rows.append(_row("all", made.total(), equal.total(), killed.total()))
    counts = ("mutant", "made", "same state, left out", "counted", "killed", "share")
    bench.table("Mutants by kind", counts, rows)

    title, columns = f"Survivors (the first {SHOWN})", ("task", "kind", "mutant", "differs in")
    told = "; survives: task {0}, {2} (differs in {3})"
    return bench.examples(title, columns, survivors, told)


def _drawn(bench: ConformanceRig, known: Solution) -> list[Variant]:
    """The mutants of a solution, by the audit's rules and by the environment's own: of each at most
    `MUTANTS_PER_TASK`.
    """

    own = bench.world.mutants(known.task, known.transcript) if bench.world.mutants else ()
    owned = [Variant(OWN, kind, tuple(actions)) for kind, actions in own]
    draw = Random(known.task.task_id)
    found = []
    for every in (list(mutants(known)), owned):
        few = len(every) <= MUTANTS_PER_TASK
        found += every if few else draw.sample(every, MUTANTS_PER_TASK)

    return found


def _row(
    kind: str,
    made: int,
    equal: int,
    killed: int,
) -> tuple[str | int, ...]:
    counted = made - equal
    return (kind, made, equal, counted, killed, _share(killed, counted))


def _share(part: int, whole: int) -> str:
    """For instance 97.5 %, rounded down: 100 % is all."""
    return f"{int(1000 * part / whole) / 10:g} %" if whole else "-"
