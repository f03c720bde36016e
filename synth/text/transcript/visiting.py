"""Visits the texts that stand in a struct and in those within it, by a table of their fields."""

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from synth.schemas import ToolCall, Trajectory, argument_error

Struct = TypeVar("Struct", bound=msgspec.Struct)
Change = Callable[[str, Any], Any]
"""(place, value) -> what shall stand there: a text, or a JSON value of the same form."""


Visit = Callable[[str, Any, Change], Any]
Table = Mapping[type, Sequence[tuple[str, str, Visit | None]]]
"""Type of a struct -> its fields, what their places are called, and what visits each, where it is
neither text nor a struct of the table.
"""


def table(fields: Mapping[type, str], visits: Mapping[str, Visit] | None = None) -> Table:
    """The table of fields that are written as `field`, or as `field:place`.

    A place that begins with @ is the value of the field that it names.
    """
    named = {kind: [one.partition(":") for one in said.split()] for kind, said in fields.items()}
    return {
        kind: [(field, place, (visits or {}).get(field)) for field, _, place in found]
        for kind, found in named.items()
    }


def visited(struct: Struct, fields: Table, change: Change, at: str = "") -> Struct:
    """The struct with every text changed that is not empty; the same object where none was.

    Places are those of the fields with a point between them, members of a tuple by their number.
    """
    changed = {}

    for field, name, visit in fields[type(struct)]:
        value = getattr(struct, field)
        if not value:
            continue

        name = getattr(struct, name[1:]) if name.startswith("@") else name
        place = ".".join(filter(None, (at, name)))
        new = (
            _changed(value, fields, change, place) if visit is None else visit(place, value, change)
        )
        if new is not value:
            changed[field] = new

    if isinstance(struct, ToolCall) and "arguments" in changed:
        changed["parse_error"] = argument_error(changed["arguments"])

    return replace(struct, **changed) if changed else struct


def _changed(value: Any, fields: Table, change: Change, place: str) -> Any:
    """A text, a struct or a tuple of these with every text changed."""
    if isinstance(value, str):
        return change(place, value) if value else value

    if isinstance(value, tuple):
        found = tuple(_changed(one, fields, change, f"{place}.{n}") for n, one in enumerate(value))
        return value if all(map(is_, found, value)) else found

    return visited(value, fields, change, place)


def without_token_ids(trajectory: Trajectory) -> Trajectory:
    """The trajectory without token ids and log-probabilities, for texts that were changed."""
    bare = tuple(
        replace(t, prompt_token_ids=None, completion_token_ids=None, logprobs=None)
        for t in trajectory.turns
    )
    return replace(trajectory, turns=bare)
