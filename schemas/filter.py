"""A filter: a function from a trajectory to a verdict."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from pydantic import BaseModel

from schemas.environment import OpenEnv
from schemas.task import Task
from schemas.trajectory import Trajectory
from schemas.verdict import Verdict


class Case(msgspec.Struct, frozen=True):
    """A trajectory with its task (None where the ledger has none) and the means to open its world again."""

    trajectory: Trajectory
    task: Task | None
    open_env: OpenEnv


class Filter(msgspec.Struct, frozen=True):
    """What a registry entry is: the settings that a flow may give, and the function that judges one trajectory alone."""

    config: type[BaseModel]
    judge: Callable[[Case, Any], Awaitable[Verdict]]
