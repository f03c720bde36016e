"""The text of a task that stands beside a chat, held against those of public benchmarks."""

from collections.abc import Iterator
from typing import Any

from synth.importers.chats.columns import parsed
from synth.importers.identity.known import benchmark_of
from synth.importers.records import Object

_TASKS = (
    "task",
    "task_description",
    "instruction",
    "user_scenario",
    "scenario",
    "question",
    "info",
)
"""Keys under which a record may hold its task."""


def benchmark_beside(record: Object) -> str | None:
    """The benchmark one of whose tasks a record holds; None where it holds none."""
    held = "\n".join(line for key in _TASKS for line in _texts(parsed(record.get(key))))
    return benchmark_of(held, "task")


def _texts(held: Any) -> Iterator[str]:
    """All texts of a JSON value."""
    if isinstance(held, str):
        yield held
    elif isinstance(held, dict | list):
        for one in held.values() if isinstance(held, dict) else held:
            yield from _texts(one)
