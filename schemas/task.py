"""What an agent is asked to do, where, and how it is known whether it did."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from synth.schemas.canonical import content_hash
from synth.schemas.check import Check
from synth.schemas.trajectory import ToolCall


class Origin(StrEnum):
    """Where a task comes from."""

    TEMPLATE = "template"
    REVERSE = "reverse"
    IMPORT = "import"


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One goal in one start state. `task_id` is the hash of its content (see `Task.identified`); `gold` are known actions, if any.

    `script` is what the world's user simulator knows and follows; the agent is never shown it, nor `check`, nor `gold`.
    `split`: None or `train` may be trained on, any other name is held out, and whatever descends from the task has the same one.
    """

    task_id: str
    env: str
    goal: str
    env_config: Mapping[str, Any] = msgspec.field(default_factory=dict)
    seed: int = 0
    origin: Origin = Origin.TEMPLATE
    check: Check | None = None
    gold: tuple[ToolCall, ...] | None = None
    script: Mapping[str, Any] = msgspec.field(default_factory=dict)
    parent: str | None = None
    split: str | None = None
    benchmark: str | None = None
    difficulty: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @classmethod
    def identified(cls, **fields: Any) -> "Task":
        """A task whose `task_id` is the content hash of all its other fields."""
        nameless = cls(task_id="", **fields)
        return msgspec.structs.replace(nameless, task_id=content_hash(nameless))
