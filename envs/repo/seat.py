"""What an episode holds beside its tree."""

import msgspec

from synth.confinement.branches import FileChange
from synth.envs.repo.repair.acts import call_hash
from synth.envs.repo.repair.plan import Done
from synth.envs.repo.terminal.shell import Shell
from synth.schemas import Task, ToolCall

MOST_REMEMBERED = 200
"""Calls that the expert can look back upon."""


class RepoSeat(msgspec.Struct):
    """All of an episode but its tree: `done` are its last calls, `since_edit` counts those after
    the last edit.
    """

    done: list[str] = []
    since_edit: int = 0
    over: bool = False
    turns: int = 0

    def note(self, call: ToolCall, *, edited: bool) -> None:
        """Remembers a call, for the expert, who sees no transcript."""
        self.done = [*self.done, call_hash(call.name, call.parsed())][-MOST_REMEMBERED:]
        self.since_edit = 0 if edited else self.since_edit + 1

    def so_far(self) -> Done:
        """What the expert may know of the calls."""
        return Done(tuple(self.done), self.since_edit)


class SavedTree(msgspec.Struct, frozen=True):
    """An episode put aside."""

    task: Task | None
    seat: RepoSeat
    shell: Shell
    changes: dict[str, FileChange | None]
