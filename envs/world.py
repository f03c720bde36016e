"""A world as the registry names it: what it is, how it opens, which tasks it makes, which settings it takes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from schemas.environment import Env, EnvSpec
from schemas.reverse import WriteGoal
from schemas.task import Task
from schemas.user import UserScript


@dataclass(frozen=True)
class World:
    """`open` takes the world's settings; `make_tasks` takes settings, seed and count, and gives the same tasks each time.

    `level` names the setting, a number from 0 (easiest) to 1, that makes tasks harder: by it a flow's `difficulty` is calibrated.
    `user` lets a model play the world's user, in place of its own rules. `write_goal` says what a window of an exploration achieves.
    """

    spec: EnvSpec
    open: Callable[[Mapping[str, Any]], Env]
    make_tasks: Callable[[Mapping[str, Any], int, int], Sequence[Task]]
    config: type[BaseModel]
    level: str | None = None
    user: UserScript | None = None
    write_goal: WriteGoal | None = None
