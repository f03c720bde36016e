"""What a run of all methods in one world came to, as lines of a table."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.topology_ranking import by_pairs, graphs
from synth import Ledger
from synth.stats.intervals import clopper_pearson
from synth.synthesizers.reflection.report import EFFECTS, ROWS, effect_in_words

Found = Mapping[str, str]
"""Line of the table -> what it says."""
Reports = Mapping[str, Any]
_LATE = 4
"""Turns after which the outcome is guessed from the other trials of a task."""


def share(count: int, n: int) -> str:
    """A count, of how many, with its exact 95 % interval."""
    if n == 0:
        return "0 of 0"

    low, high = clopper_pearson(count, n)
    return f"{count:,} of {n:,}: {100 * count / n:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def figures(reports: Reports, ledger: Ledger) -> Found:
    """All lines of one world."""
    found: dict[str, str] = {}
    for part in (_trials, _made, _retries, _steps, _filters):
        found.update(part(reports, ledger))

    return found


def _trials(reports: Reports, ledger: Ledger) -> Iterator[tuple[str, str]]:
    """Rollouts, and what the trials of a task know about each other."""
    if "rollout" not in reports:
        return

    trials = [one for one in ledger.trajectories() if one.synthesizer == "rollout"]
    by_task: dict[str, list[bool]] = {}
    for one in trials:
        by_task.setdefault(one.task_id, []).append(one.outcome == "success")

    mixed = sum(0 < sum(each) < len(each) for each in by_task.values())
    passed = sum(map(sum, by_task.values()))
    turns = sum(len(one.turns) for one in trials) / max(1, len(trials))
    yield "trials that succeed", share(passed, len(trials))
    yield "tasks with both outcomes", share(mixed, len(by_task))
    yield "turns a trial", f"{turns:.1f}"
    known = graphs(trials)

    for name, limit in ((f"first {_LATE} turns", _LATE), ("whole trials", None)):
        rank = by_pairs(known, limit)
        if rank is not None:
            interval = f"({rank.low:.2f} to {rank.high:.2f}), {rank.tasks} tasks"
            yield f"topology: AUROC within tasks, {name}", f"{rank.auroc:.2f} {interval}"


def _made(reports: Reports, ledger: Ledger) -> Iterator[tuple[str, str]]:
    """Tasks that explorations gave."""
    derived = reports.get("reverse_task")
    if derived is None:
        return

    details = derived["details"]
    mutants = details["mutants"]
    yield "reverse tasks kept of windows", share(derived["verified"], derived["attempted"])
    yield "reverse tasks: signatures", str(details["signatures"])
    yield "reverse tasks: mutants killed", share(mutants["killed"], mutants["made"])


def _retries(reports: Reports, ledger: Ledger) -> Iterator[tuple[str, str]]:
    """Retries from the pivot, guided by rules that see no gold, at equal cost."""
    retried = reports.get("reflect_retry")
    if retried is None:
        return

    yield "retries kept", share(retried["verified"], retried["attempted"])
    compared = retried.get("equal_budget") or {"effects": {}}
    for name in EFFECTS:
        effect = compared["effects"].get(f"{name}: {ROWS}")
        if effect is not None:
            yield f"retries: {name}, rows / 1M", effect_in_words(effect)


def _steps(reports: Reports, ledger: Ledger) -> Iterator[tuple[str, str]]:
    """Labels that counted continuations stand behind."""
    injected = reports.get("failure_injection")
    if injected is not None:
        rejected, confirmed = injected["rejected"], injected["by_strategy"]
        yield "injections confirmed", share(sum(confirmed.values()), injected["attempted"])
        yield "injections recovered", share(rejected.get("recovered", 0), injected["attempted"])
        yield "injections: modes", str(len(injected["modes"]))

    critical = reports.get("critical_step")
    if critical is not None:
        control = critical["control"]
        yield "critical steps accepted of tests", share(critical["verified"], critical["attempted"])
        yield "critical steps: A/A accepted", share(control["accepted"], control["tests"])


def _filters(reports: Reports, ledger: Ledger) -> Iterator[tuple[str, str]]:
    """What each filter keeps of successes and of failures; rows that are left."""
    asked = "SELECT trajectory_id, filter, keep FROM decisions WHERE stage = 'filter'"
    success = {one.trajectory_id: one.outcome == "success" for one in ledger.trajectories()}
    counts: Counter[tuple[str, bool, str]] = Counter()

    for trajectory, name, keep in ledger.sql(asked).fetchall():
        verdict = {True: "kept", False: "dropped", None: "silent"}[keep]
        counts[name, success[trajectory], verdict] += 1

    for name in dict.fromkeys(name for name, _, _ in counts):
        for passed, whose in ((True, "successes"), (False, "failures")):
            of = {verdict: counts[name, passed, verdict] for verdict in ("kept", "dropped")}
            silent = counts[name, passed, "silent"]
            said = share(of["kept"], sum(of.values())) + (f", silent on {silent}" * bool(silent))
            yield f"filter {name}: {whose} kept", said

    for kind, told in reports.get("export", {"datasets": {}})["datasets"].items():
        yield f"rows of {kind}", str(told["rows"])
