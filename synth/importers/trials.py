"""Which attempt at its task a record is: the source's number where it is one, else by order in the
file.
"""

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import msgspec

from synth.importers.records import Entry, Imported

SEEN_FIRST = 500
"""Records looked at before it is decided whether a file's trial numbers are any."""


class DeclaredTrial(NamedTuple):
    """What a record says of itself; `task` is our own id, `task_name` the source's."""

    task: str
    trial: Any
    task_name: Any


def numbered(
    entries: Iterable[Entry], stated: MutableMapping[str, DeclaredTrial]
) -> Iterator[Entry]:
    """The attempts of one file with their trials; `stated` has what each says of itself, by
    trajectory id, once it was read.
    """
    entries = iter(entries)
    first = list(islice(entries, SEEN_FIRST))
    trials = _Trials(
        [stated[entry.trajectory.trajectory_id] for entry in first if isinstance(entry, Imported)]
    )
    for entry in chain(first, entries):
        if isinstance(entry, Imported):
            trial = trials.number(stated.pop(entry.trajectory.trajectory_id))
            if trial != entry.trajectory.trial:
                entry = msgspec.structs.replace(
                    entry, trajectory=msgspec.structs.replace(entry.trajectory, trial=trial)
                )
        yield entry


class _Trials:
    """Numbers the attempts of one file; what stands in its first records decides whether its own
    numbers are believed.
    """

    def __init__(self, first: Sequence[DeclaredTrial]) -> None:
        are_numbers = all(_is_number(stated.trial) for stated in first)
        are_task_ids = any(stated.trial for stated in first) and all(
            stated.trial == stated.task_name for stated in first
        )
        tell_apart = (
            len({(stated.task, stated.trial) for stated in first}) == len(first)
            if are_numbers
            else False
        )
        self._believed = are_numbers and tell_apart and not are_task_ids
        self._given: dict[str, set[int]] = {}

    def number(self, stated: DeclaredTrial) -> int:
        """The stated number where it is believed and not given yet within the task, else the lowest
        that is free.
        """
        given = self._given.setdefault(stated.task, set())
        trial: int = (
            stated.trial
            if self._believed and _is_number(stated.trial) and stated.trial not in given
            else len(given)
        )
        while trial in given:
            trial += 1
        given.add(trial)
        return trial


def _is_number(trial: Any) -> bool:
    return isinstance(trial, int) and not isinstance(trial, bool) and 0 <= trial < 1 << 31
