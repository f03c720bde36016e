"""What a world is given, and what it told: it may change neither behind the agent's back, nor for
the episodes beside it.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synth.boundary import FaultError
from synth.rollout.answers import opened
from synth.schemas import Env, Fault, Opening, Task


class Given:
    """A task of the world's own to work with, and the tools that it told at the reset."""

    def __init__(self, task: Task) -> None:
        self.task = copied(task)
        self._task = task
        self._told: Sequence[Mapping[str, Any]] = ()
        self._shown: Sequence[Mapping[str, Any]] = ()

    async def opened(self, env: Env) -> Opening:
        """The opening of a reset, checked. Raises `FaultError` (environment)."""
        answer = await env.reset(self.task)
        self._told = getattr(answer, "tools", ())
        opening = opened(answer)
        self._shown = opening.tools
        return opening

    def unchanged(self) -> None:
        """Raises `FaultError` (environment) where the world has changed its task, or the tools that
        it had told.
        """
        names = Task.__struct_fields__
        changed = [name for name in names if getattr(self.task, name) != getattr(self._task, name)]
        if changed:
            raise _broken(f"task_changed): it changed its task: {', '.join(changed)}")
        if list(self._told) != list(self._shown):
            told = "the tools of its opening are others now, and the agent was not told"
            raise _broken(f"tools_changed): {told}")


def _broken(rule: str) -> FaultError:
    return FaultError(Fault.ENVIRONMENT, f"the world broke the protocol ({rule}")


def copied(task: Task) -> Task:
    """The task without a part in common with the given one; what JSON would read back otherwise is
    copied piece by piece.
    """
    found = msgspec.convert(msgspec.to_builtins(task), Task)
    return found if found == task else copy.deepcopy(task)
