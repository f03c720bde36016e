"""Tasks as a world gave them: looked at before any of them is played or stored."""

from collections.abc import Sequence

import msgspec

from synth.schemas.errors import ConfigError
from synth.schemas.task import Task


def refuse_mistyped(tasks: Sequence[Task], env: str) -> None:
    """Raises `ConfigError` for tasks that hold a value of the wrong type."""
    for index, task in enumerate(tasks):
        try:
            msgspec.convert(msgspec.to_builtins(task, builtin_types=(bytes,)), Task)
        except (msgspec.ValidationError, TypeError, ValueError, RecursionError) as error:
            problem, _, place = str(error).partition(" - at `$.")
            raise ConfigError(
                f"world {env!r}: make_tasks: task {index}: {place.removesuffix('`')}: {problem}"
            ) from error


def refuse_equal(tasks: Sequence[Task], env: str) -> None:
    """Raises `ConfigError` for two tasks of the same identity: the run would hold one of them
    only.
    """
    places: dict[str, int] = {}
    for index, task in enumerate(tasks):
        first = places.setdefault(task.task_id, index)
        if first != index:
            raise ConfigError(
                f"world {env!r}: make_tasks: tasks {first} and {index} have the same task_id "
                f"{task.task_id!r}; tasks made with "
                "Task.identified differ in id where they differ in anything, for instance in "
                "their seed"
            )
