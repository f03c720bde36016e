"""What selection needs to know of a trajectory, from the trajectory and from what was found out about it before."""

from collections.abc import Callable, Hashable, Mapping

from schemas.task import Task
from schemas.trajectory import Trajectory
from schemas.verdict import Verdict
from synth.exporters.sft_rows import EVIDENCE, mask_reason
from synth.provenance.linter import provenance
from synth.selection.choosing import Candidate
from synth.topology.trajectory_measures import process_kept, strategy

TURN_BUCKETS = (4, 8, 16, 32)


def is_candidate(trajectory: Trajectory, verdicts: Mapping[str, Verdict]) -> bool:
    """A success that no filter dropped, and that was not played to test an act."""
    played_to_learn = trajectory.synthesizer not in EVIDENCE
    return trajectory.outcome == "success" and played_to_learn and all(verdict.keep is not False for verdict in verdicts.values())


def candidate(trajectory: Trajectory, measures: Mapping[str, float], effectful: Callable[[str], bool]) -> Candidate:
    """`measures`: what the stage topology found (efficiency, waste, recovered), as far as it ran."""
    process = process_kept(trajectory)
    return Candidate(
        trajectory_id=trajectory.trajectory_id,
        task_id=trajectory.task_id,
        strategy=strategy(trajectory, effectful),
        loss=loss_characters(trajectory),
        rank=(-measures.get("waste", 0.0), measures.get("efficiency", 0.0)),
        evidence=evidence(trajectory),
        recovered=measures.get("recovered", 0.0) == 1.0,
        process_kept=process,
    )


def evidence(trajectory: Trajectory) -> tuple[str, ...]:
    """What stands behind a success besides its outcome: process constraints that were checked and kept; arguments that were all observed
    and choices that were all singled out, where there are any to judge."""
    found = []
    parts = trajectory.check_result.parts if trajectory.check_result is not None else ()
    if any(part.name == "process" and part.passed for part in parts):
        found.append("process")
    report = provenance(trajectory)
    if report.justified and report.choices_justified is not False:
        found.append("provenance")
    return tuple(found)


def loss_characters(trajectory: Trajectory) -> int:
    """Characters of the turns that carry loss: texts, tool names and arguments."""
    size = 0
    for index, turn in enumerate(trajectory.turns):
        if mask_reason(turn, index, trajectory.pivot_turn) is None:
            size += (
                len(turn.content or "") + len(turn.thought or "") + sum(len(call.name) + len(call.arguments) for call in turn.tool_calls)
            )
    return size


def traits(trajectory: Trajectory, task: Task | None, easy: bool) -> dict[str, Hashable]:
    """By what the composition of a selection is told: method, length, refusals, how easy the task is."""
    refuses = None if task is None or task.check is None else bool(task.check.refusals)
    turns = next((f"up to {most}" for most in TURN_BUCKETS if len(trajectory.turns) <= most), f"over {TURN_BUCKETS[-1]}")
    return {"synthesizer": trajectory.synthesizer, "turns": turns, "refusal": refuses, "easy task": easy}
