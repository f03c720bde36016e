"""Reads the values that a clean trajectory shows and uses."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import repeat
from typing import Any

import msgspec

from synth.schemas import Scalar, ToolCall, Trajectory, canonical_json
from synth.text.provenance.arguments import Argument, by_name, parameters, scalars

_DEEPEST = 30
"""Levels of a JSON answer that are read."""


class InjectionTranscript:
    """The values that a clean trajectory shows and uses, turn by turn, read once."""

    def __init__(self, twin: Trajectory) -> None:
        self.twin = twin
        self.tools = by_name(twin.tools)
        shown = [(-1, seen) for seen in twin.opening]
        shown += [(turn.index, seen) for turn in twin.turns for seen in turn.observations]
        texts = [(-1, twin.system_prompt or ""), *((at, seen.content) for at, seen in shown)]

        self.folded = [(at, text.casefold()) for at, text in texts]
        self.entries = [
            (at, key, value)
            for at, seen in shown
            if seen.content[:1] in ("{", "[") and not seen.error
            for key, value in _entries(seen.content)
        ]

        """Scalars of the JSON answers: turn, key, value."""
        self.used: defaultdict[str, list[Scalar]] = defaultdict(list)
        """What the calls give under each argument name, anywhere."""

        for call in (call for turn in twin.turns for call in turn.tool_calls):
            for argument in self.scalars(call):
                self.used[argument.name].append(argument.value)

    def scalars(self, call: ToolCall) -> list[Argument]:
        """A call's scalars, without keys that are values; none where the call cannot be parsed."""
        if call.parse_error is not None:
            return []

        found = scalars(call.parsed(), parameters(self.tools.get(call.name)))

        return [argument for argument in found if not argument.path.endswith("#key")]


def written(value: Any) -> str:
    """A scalar as it stands in a text."""
    return value if isinstance(value, str) else canonical_json(value).decode()


def with_value(
    arguments: Mapping[str, Any],
    path: str,
    value: Scalar,
) -> dict[str, Any]:
    """Replaces the scalar at a path, as `scalars` names it. Raises `KeyError` for a path that the
    arguments do not have.
    """

    hits: list[str] = []

    def rebuilt(node: Any, here: str) -> Any:
        if isinstance(node, Mapping):
            inside = {key: f"{here}.{key}" if here else key for key in node}
            return {key: rebuilt(node[key], below) for key, below in inside.items()}
        if isinstance(node, list):
            return [rebuilt(entry, f"{here}[{at}]") for at, entry in enumerate(node)]

        if here != path:
            return node

        hits.append(here)

        return value

    changed: dict[str, Any] = rebuilt(arguments, "")

    if not hits:
        raise KeyError(path)

    return changed


def _entries(content: str) -> Iterator[tuple[str, Scalar]]:
    """(key, scalar) for each scalar of a JSON text; members of a list stand under the list's key in
    the singular. Other texts give nothing.
    """

    def inside(
        node: Any,
        key: str,
        depth: int,
    ) -> Iterator[tuple[str, Scalar]]:
        if depth > _DEEPEST:
            return
        if isinstance(node, dict | list):
            singular = key.removesuffix("s")
            members = node.items() if isinstance(node, dict) else zip(repeat(singular), node)
            for name, entry in members:
                yield from inside(entry, name, depth + 1)
        elif node is not None and key:
            yield key, node

    try:
        yield from inside(msgspec.json.decode(content), "", 0)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return
