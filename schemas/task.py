"""What an agent is asked to do, where, and how it is known whether it did."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from synth.schemas.canonical import StrictRecord, canonical_json, content_hash
from synth.schemas.check import Check, Require
from synth.schemas.trajectory import ToolCall


class Origin(StrEnum):
    """Where a task comes from."""

    TEMPLATE = "template"
    REVERSE = "reverse"
    IMPORT = "import"


class Environment(Protocol):
    """What a task must know of the environment that it is for; a `ToolEnv` is one."""

    name: str

    def settings(self) -> dict[str, Any]: ...


class Task(StrictRecord, frozen=True, kw_only=True):
    """One goal in one start state. `task_id` is the hash of its content (see `Task.identified`);
    `gold` are known actions, if any.

    `script` is what the world's user simulator knows and follows; the agent is never shown it, nor
    `check`, nor `gold`.
    `split`: None or `train` may be trained on, any other name is held out, and whatever descends
    from the task has the same one.
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

    @classmethod
    def new(
        cls,
        env: Environment,
        seed: int,
        goal: str,
        *required: Require,
        free: Sequence[str] = (),
        gold: Sequence[tuple[str, Mapping[str, Any]]] | None = None,
        script: Mapping[str, Any] | None = None,
    ) -> "Task":
        """A task of a `ToolEnv`: at the end the facts `required` hold, and only `free` others
        changed.

        `gold`: the calls that solve it, each as (tool, arguments). `script` is for `start`.
        """
        calls = [
            ToolCall.received(f"gold_{place}", name, canonical_json(arguments).decode())
            for place, (name, arguments) in enumerate(gold or ())
        ]
        return cls.identified(
            env=env.name,
            env_config=env.settings(),
            goal=goal,
            seed=seed % 2**63,
            check=Check(
                required=tuple(one.predicate() for one in required),
                free=tuple(f"state/now/{key}" for key in free),
            ),
            gold=tuple(calls) or None,
            script=script or {},
        )
