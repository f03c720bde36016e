"""Tool schemas out of the calls of a corpus, for sources that recorded none: names, types of
arguments, which are always given, and which take one of a few values.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from synth.schemas import ToolCall, ToolSchema
from synth.text.calls.argument_types import TYPE_NAMES

FEWEST_TASKS = 3
"""In which a value stands before it counts as one of a few: ids and names stand in the calls of one
task, however often it is tried.
"""
MOST_VALUES = 8
EACH = 0.9
"""Share of the tasks whose value is such a one, from which an argument takes one of a few."""
_MOST_KEPT = 200
"""Distinct values of an argument that are remembered."""


class InferredTools:
    """Counts calls, one at a time; a few kilobytes per tool, however many calls."""

    def __init__(self) -> None:
        self._calls: Counter[str] = Counter()
        self._given: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._types: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._tasks: defaultdict[tuple[str, str], dict[str, set[str]]] = defaultdict(dict)

    def add(self, calls: Iterable[ToolCall], task: str) -> None:
        """Counts calls of a trial of a task whose arguments are an object."""
        for call in calls:
            if call.parse_error is None:
                self._calls[call.name] += 1
                for name, value in call.parsed().items():
                    self._argument((call.name, name), value, task)

    def _argument(self, at: tuple[str, str], value: Any, task: str) -> None:
        self._given[at[0]][at[1]] += 1
        self._types[at][TYPE_NAMES[type(value)]] += 1
        tasks = self._tasks[at]
        if isinstance(value, str) and (value in tasks or len(tasks) < _MOST_KEPT):
            tasks.setdefault(value, set()).add(task)

    def schemas(self, *, values: bool = False) -> tuple[ToolSchema, ...]:
        """In the order of their names, each marked as inferred; with `values`, those of arguments
        that take one of a few, as far as the corpus shows them.
        """
        return tuple(self._schema(name, values=values) for name in sorted(self._calls))

    def _schema(self, tool: str, *, values: bool) -> ToolSchema:
        calls, given = self._calls[tool], self._given[tool]
        return {
            "type": "function",
            "function": {
                "name": tool,
                "description": f"Inferred from {calls} calls; its source recorded no schema.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        name: self._property((tool, name), values=values) for name in sorted(given)
                    },
                    "required": sorted(name for name, count in given.items() if count == calls),
                },
            },
        }

    def _property(self, at: tuple[str, str], *, values: bool) -> dict[str, Any]:
        types = sorted(self._types[at])
        if types == ["integer", "number"]:
            types = ["number"]
        found: dict[str, Any] = {"type": types[0] if len(types) == 1 else types}
        few = self._few(at) if values and types == ["string"] else None
        return found if few is None else found | {"enum": few}

    def _few(self, at: tuple[str, str]) -> list[str] | None:
        """The values of an argument that takes one of a few, None where it does not."""
        tasks = self._tasks[at]
        common = {value for value, of in tasks.items() if len(of) >= FEWEST_TASKS}
        pairs = sum(map(len, tasks.values()))
        held = sum(len(tasks[value]) for value in common)
        few = 0 < len(common) <= MOST_VALUES and held >= EACH * pairs
        # a value that came once is one of them too, as nothing else says
        return sorted(tasks) if few else None
