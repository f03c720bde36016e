"""A trajectory with what its label says: the verdict of the label is the one that counts."""

from typing import Any

from msgspec.structs import replace

from synth.importers.agents.swe_runs import swe_benchmark
from synth.importers.labelling.rows import LabelRow, Step
from synth.importers.records import Imported, ImportedLabel, ImportSettings
from synth.schemas import Task, Trajectory, settle

LABEL = "label"
"""Metric of the rows that say where a declared verdict came from."""


def labelled(entry: Imported, row: LabelRow, settings: ImportSettings) -> Imported:
    """The attempt with the row's verdict, reward, split and step labels; what it said itself stands
    beside it. A fault stays a fault: no label makes one an attempt.
    """
    before, task = entry.trajectory, entry.task
    passed = row.success if row.success is not None else settings.passed(row.reward)
    changes = {} if passed is None else _judged(before, passed, row.reward, settings)
    stamps = _stamps(task, row)
    if stamps:
        task = _changed(task, **stamps)
        changes |= {**stamps, "task_id": task.task_id}

    about = {
        "file": row.record.file_name,
        "locator": row.record.locator,
        "was": before.outcome.value,
        "reward": row.reward,
        "no_verdict": row.no_verdict,
        **row.about,
    }
    told = {key: one for key, one in about.items() if one is not None}
    value = None if passed is None else float(passed)
    marks = [ImportedLabel(LABEL, value, None, told), *(_mark(step, entry) for step in row.steps)]
    marks += row.marks
    return replace(
        entry,
        task=task,
        trajectory=replace(before, **changes),
        marks=(*entry.marks, *marks),
    )


def _judged(
    before: Trajectory, passed: bool, reward: float | None, settings: ImportSettings
) -> dict[str, Any]:
    """What a verdict changes of an attempt; what the attempt itself says against it goes."""
    if before.fault is not None:
        return {}
    changes: dict[str, Any] = {"outcome": settle(before.termination, passed, None)}
    if before.check_result is not None and before.check_result.passed != passed:
        changes["check_result"] = None
    if reward is not None:
        changes["reward"] = reward
    elif before.reward is not None and settings.passed(before.reward) != passed:
        changes["reward"] = None
    return changes


def _stamps(task: Task, row: LabelRow) -> dict[str, str]:
    """What a row says that a task is of: a public benchmark, by an instance that it names, and a
    split.
    """
    benchmark = None if task.benchmark else next(filter(None, map(swe_benchmark, row.keys)), None)
    stated = {"benchmark": benchmark, "split": None if row.split == task.split else row.split}
    return {name: told for name, told in stated.items() if told is not None}


def _changed(task: Task, **fields: str) -> Task:
    """The task in a split, or with a stamp, which are parts of what it is."""
    stated = {name: getattr(task, name) for name in task.__struct_fields__ if name != "task_id"}
    return Task.identified(**(stated | fields))


def _mark(step: Step, entry: Imported) -> ImportedLabel:
    """A step's label; one of a message is that of the turn that the message is. Raises
    `ValueError` for a turn that is not there.
    """
    turn: int | None = step.place
    if step.is_message and entry.turn_of_message:
        told = entry.turn_of_message
        turn = told[step.place] if 0 <= step.place < len(told) else None
    is_there = turn is not None and 0 <= turn < len(entry.trajectory.turns)
    about = dict(step.about or {})
    if not is_there:
        about["names_no_turn"] = step.place
    return ImportedLabel(step.metric, step.value, turn if is_there else None, about or None)
