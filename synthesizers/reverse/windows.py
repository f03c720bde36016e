"""Windows of a walk: operations that belong together because they are about one customer or one
object.
"""

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from synth.schemas.check import Facts, Scalar
from synth.schemas.reverse import Operation
from synth.schemas.trajectory import ToolCall


class Entities:
    """Which entities (keys of the world's rows) an operation is about."""

    def __init__(self, start: Facts) -> None:
        self._rows: dict[str, list[Scalar]] = {}
        for path, value in start.items():
            self._rows.setdefault(path.split("/", 2)[1], []).append(value)

    def of(self, operation: Operation) -> frozenset[str]:
        """The rows that it changed, the entities that its arguments name, and those that both refer
        to; numbered rows name nothing.
        """
        changed = {path.split("/", 2)[1] for path in operation.changed}
        values = [change.after for change in operation.changed.values()]
        values += [value for call in operation.turn.tool_calls for value in scalars(call)]
        named = changed | {value for value in values if isinstance(value, str)}
        known = {name for name in named if name in self._rows and not name.isdigit()}
        referred = {
            str(value) for name in known for value in self._rows[name] if value in self._rows
        }
        return frozenset(name for name in known | referred | changed if not name.isdigit())


def scalars(call: ToolCall, *, keys: bool = True) -> Iterator[Scalar]:
    """The values in a call's arguments, with the names that they stand under."""
    waiting: list[object] = [] if call.parse_error is not None else [call.parsed()]
    while waiting:
        match waiting.pop():
            case Mapping() as mapping:
                waiting += [*(mapping if keys else ()), *mapping.values()]
            case list() as values:
                waiting += values
            case str() | int() | float() | None as value:
                yield value


def windows(
    operations: Sequence[Operation], start: Facts, most: int, draw: Random
) -> list[tuple[int, ...]]:
    """Numbers of the operations of each window, 1 to `most` of them, every two neighbours about a
    common entity; in a drawn order.

    A window ends at each operation in turn and reaches back over those that share an entity with it
    so far; repeated deeds count once.
    One that ends where it began, and in which nothing was refused or shown, is none.
    """
    entities = Entities(start)
    about = [entities.of(operation) for operation in operations]
    calls = [
        [(call.name, call.arguments) for call in operation.turn.tool_calls]
        for operation in operations
    ]
    found: dict[tuple[int, ...], None] = {}
    for last in range(len(operations)):
        window, shared = [last], set(about[last])
        found.setdefault((last,), None)
        for earlier in range(last - 1, -1, -1):
            if len(window) == most:
                break
            if about[earlier] & shared and calls[earlier] not in [calls[at] for at in window]:
                window.insert(0, earlier)
                shared |= about[earlier]
                found.setdefault(tuple(window), None)
    drawn = [window for window in found if not _undone([operations[number] for number in window])]
    draw.shuffle(drawn)
    return drawn


def _undone(operations: Sequence[Operation]) -> bool:
    """Whether every fact that was changed is as it was before, and nothing was refused or shown."""
    first: dict[str, Scalar] = {}
    last: dict[str, Scalar] = {}
    for operation in operations:
        if operation.denied is not None or operation.shown is not None:
            return False
        for path, change in operation.changed.items():
            first.setdefault(path, change.before)
            last[path] = change.after
    return first == last


def operation_signature(operations: Sequence[Operation], start: Facts) -> str:
    """The operations with their entities masked: tools, the columns that they change, the rules by
    which they were refused; what was only looked up ends in a question mark.

    In a fixed order where the operations themselves may stand in any: two windows that do the same
    are one.
    """
    return " + ".join(sorted(_shape(operation, start) for operation in operations))


def _shape(operation: Operation, start: Facts) -> str:
    tools = "/".join(call.name for call in operation.turn.tool_calls) or "text"
    if operation.denied is not None:
        return f"{tools}!{operation.denied}"
    if operation.shown is not None:
        return f"{tools}?"
    parts = set()
    for path in operation.changed:
        table, _, column = path.split("/", 2)
        parts.add(f"{table}.{column}" if path in start else f"+{table}.{column}")
    return f"{tools}({', '.join(sorted(parts))})"
