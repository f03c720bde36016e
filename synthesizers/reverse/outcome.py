"""What became of a window: a task with the tests that it passed, or a short reason why it is
none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synth.schemas.task import Task


@dataclass(frozen=True)
class TaskTests:
    """One test's verdict, None where it does not apply, and the counts behind it."""

    passed: bool | None
    counts: Mapping[str, Any]

    def as_stored(self) -> dict[str, Any]:
        """As the task's `difficulty` holds it."""
        return {"passed": self.passed, **self.counts}


@dataclass(frozen=True)
class Derived:
    """A task that passed its tests."""

    task: Task


@dataclass(frozen=True)
class Rejected:
    """`reason` is a counter's name; `example` shows what was found."""

    reason: str
    example: str = ""
