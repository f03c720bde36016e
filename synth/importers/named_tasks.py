"""Attempts whose records name one task are attempts at one task, however its user opened.

A simulated user words its wish anew in each trial, and a file of chats does not hold what it was
told: by what was first said, each trial would be a task of its own.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from typing import TypeGuard

from msgspec.structs import replace

from synth.importers.attempt import SEEN_FIRST, as_declared
from synth.importers.records import Entry, Imported
from synth.schemas import Task

_MOST = 64
"""Trials of a task; a name that more attempts bear is that of a set of tasks."""


def as_named(entries: Iterator[Entry]) -> Iterator[Entry]:
    """The attempts of one file with the numbers that they declare; where these tell those of one
    `task_id` apart, all of them are attempts at the task of the first one.
    """
    first = list(islice(entries, SEEN_FIRST))
    named = [one.declared for one in first if _is_named(one)]
    following = chain(first, entries)
    return as_declared(_shared(following) if _tell_apart(named) else following)


def _is_named(one: Entry) -> TypeGuard[Imported]:
    """Whether its record has a number and the name of a task."""
    trial, task = one.declared if isinstance(one, Imported) else (None, None)
    return type(trial) is int and isinstance(task, str | int)


def _tell_apart(named: list[tuple[object, object]]) -> bool:
    """Whether no two attempts have both in common, and some have a task. Numbers that run on from
    task to task are those of records, and the names those of sets.
    """
    if len({*named}) < len(named):
        return False
    attempts = Counter(task for _, task in named)
    if len(attempts) > 1 and len({trial for trial, _ in named}) == len(named):
        return False
    numbered = any(trial != task for trial, task in named)
    return numbered and 1 < max(attempts.values(), default=0) <= _MOST


def _shared(entries: Iterator[Entry]) -> Iterator[Entry]:
    tasks: dict[object, Task] = {}
    for one in entries:
        if _is_named(one):
            task = tasks.setdefault(one.declared[1], one.task)
            if task.task_id != one.task.task_id and _is_unstated(task) and _alike(task, one.task):
                trajectory = replace(one.trajectory, task_id=task.task_id)
                one = replace(one, task=task, trajectory=trajectory)
        yield one


def _is_unstated(task: Task) -> bool:
    """Whether the source held no more of it than what was said."""
    return not task.script and task.gold is None and task.check is None


def _alike(one: Task, other: Task) -> bool:
    """Whether both were attempted at one place, and under one system prompt."""
    told = [(task.env, task.benchmark, task.split, task.env_config) for task in (one, other)]
    return told[0] == told[1]
