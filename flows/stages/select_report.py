"""What the stage `select` came to: chosen and not chosen by reason, and of what the selection is
made, before and after.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from synth.ledger.ledger import StoredLedger
from synth.ledger.redactions import without_findings
from synth.ledger.views import connect
from synth.ledger.with_tasks import with_tasks
from synth.selection.candidates import composition, loss_by_tool, loss_characters, share, traits
from synth.selection.choosing import Standings, TaskQuota
from synth.selection.recoveries import recoveries
from synth.selection.rl_tasks import RlTask, band
from synth.set_aside import SetAside
from synth.topology.graph import BASE

Verdicts = Mapping[str, tuple[bool, str]]
Traits = Mapping[str, Hashable]
Parts = Iterable[tuple[bool, Traits, int]]
"""(taken, traits, size)."""
_TOLD = {"refusal": "refusals", "easy task": "easy tasks", "recovery": "recoveries"}


def sft_report(ledger: StoredLedger, verdicts: Verdicts) -> Mapping[str, Any]:
    """Of trajectories; the composition is counted in characters of loss."""
    report = _report("sft", "successes", verdicts, _loss(ledger, verdicts))
    before, after = report["composition"].values()
    report["also"] += [
        f"{words} {share(before, trait)} of the loss before, {share(after, trait)} after"
        for trait, words in _TOLD.items()
        if verdicts
    ]

    return report


def rl_report(tasks: Iterable[tuple[RlTask, Traits]], verdicts: Verdicts) -> Mapping[str, Any]:
    """Of tasks."""
    # each task counts as one, whatever its trials came to
    parts = [
        (verdicts[one.task_id][0], {**traits, "pass rate": band(one)}, 1)
        for one, traits in tasks
        if one.task_id in verdicts
    ]

    report = _report("rl", "tasks", verdicts, parts)
    before, after = report["composition"].values()
    taken = after.get("pass rate", {}).items()
    bands = [f"{count} of {before['pass rate'][name]} {name}" for name, count in taken]
    beside = Counter(reason for keep, reason in verdicts.values() if keep and reason != "chosen")
    report["also"] += [f"taken by pass rate: {', '.join(bands)}"] if bands else []
    report["also"] += [
        f"beside the ranked ones {count} {reason}" for reason, count in sorted(beside.items())
    ]

    return report


def _report(of: str, unit: str, verdicts: Verdicts, parts: Parts) -> dict[str, Any]:
    found = list(parts)

    # what was rejected is told by reason, what was taken by what it is made of
    rejected = Counter(reason for keep, reason in verdicts.values() if not keep)
    return {
        "for": of,
        "unit": unit,
        "attempted": len(verdicts),
        "verified": len(verdicts) - rejected.total(),
        "rejected": dict(rejected),
        "also": [],
        "composition": {
            "before": composition((traits, size) for _, traits, size in found),
            "after": composition((traits, size) for keep, traits, size in found if keep),
        },
    }


def standings(ledger: StoredLedger) -> Standings:
    """Base trials with a verdict and successes, by task."""
    sql = """SELECT task_id, (count(*), count(*) FILTER (outcome = 'success')) FROM trajectories
        WHERE synthesizer IN (SELECT unnest(?)) AND parent_id IS NULL
        AND outcome IN ('success', 'failure', 'truncated') GROUP BY 1"""
    with connect(ledger) as connection:
        return dict(connection.execute(sql, [sorted(BASE)]).fetchall())


def _loss(ledger: StoredLedger, verdicts: Verdicts) -> Parts:
    """How the loss (characters) lies by trait and by tool, over all that was decided on."""
    # the rows are counted as the export would write them, without what it takes out
    known, came_back = standings(ledger), recoveries(ledger)
    clean = without_findings(ledger, ledger.trajectories(set(verdicts)), SetAside())

    for trajectory, task in with_tasks(ledger, clean):
        identity = trajectory.trajectory_id
        masks, (keep, _) = came_back.masks_of(identity), verdicts[identity]
        easy = TaskQuota(*known.get(trajectory.task_id, (0, 0)), available=1).easy
        recovered = identity in came_back.masks or identity in came_back.sides
        found = traits(trajectory, task, easy=easy, recovered=recovered)
        yield keep, found, loss_characters(trajectory, masks)
        # the same loss again, by the tool that it is on
        for tool, size in loss_by_tool(trajectory, masks):
            yield keep, {"tool": tool}, size
