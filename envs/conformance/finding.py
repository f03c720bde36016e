"""What one conformance check found, and what every check is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from synth.envs.world import World
from synth.schemas.environment import Env
from synth.schemas.task import Task


@dataclass(frozen=True)
class Finding:
    """`passed` is None where the check does not apply: the world does not claim what it looks
    at.
    """

    name: str
    passed: bool | None
    detail: str = ""


@dataclass(frozen=True)
class Bench:
    """A world on the bench: how it is opened, the tasks it is tried on, and how long one call may
    take (seconds).

    `given`: the tasks were derived, not made by the world. `doing` names the last thing that was
    asked of the world, for the case that it
    never answers.
    """

    world: World
    config: Mapping[str, Any]
    seed: int
    tasks: Sequence[Task]
    call_limit_s: float
    doing: list[str] = field(default_factory=list)
    given: bool = False

    def open(self) -> Env:
        """A fresh instance."""
        return self.world.open(self.config)

    def claims(self, capability: str) -> bool:
        """Whether the world says that it has a capability."""
        return capability in self.world.spec.capabilities

    def note(self, doing: str) -> None:
        """Says what is asked of the world next."""
        self.doing[:] = [doing]
