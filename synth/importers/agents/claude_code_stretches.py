"""Stretches of a Claude Code session between compactions: what the model saw together.

A compaction may keep messages beside its summary, and a lighter one takes out the results of old
calls, or whole messages: what stays stands in the next stretch a second time.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from synth.importers.agents.claude_code_lines import Line
from synth.importers.records import Record, inside

_CLEARED = "[Old tool result content cleared]"
"""What the program writes in the place of a result that it takes out."""


class _Stretches:
    """The stretches so far; `kept` are lines that come behind the summary which is awaited."""

    def __init__(self) -> None:
        self.found: list[list[Record]] = [[]]
        self.kept: list[Record] = []
        self.named: set[str | None] = set()
        """The lines that the last compaction kept: some are written again behind it."""

    @property
    def _answered(self) -> bool:
        lines = (one.value for one in self.found[-1])
        return any(line.type == "assistant" and not line.copied for line in lines)

    def take(self, record: Record) -> None:
        """Takes the next line: a message, or what changes the context."""
        line: Line = record.value
        if line.is_boundary:
            self._settle()
            self.kept, self.named = _kept(self.found[-1], line.kept()), set(line.kept())
            self.found.append([])
        elif line.is_thinned:
            self._settle()
            self.found.append(_thinned(self.found[-1], set(line.cleared()), set(line.removed())))
        elif line.message:
            if line.is_compact_summary and self._answered:
                self.found.append([])
            if not line.is_compact_summary:
                self._settle()
            again = line.uuid in self.named and not line.copied
            self.found[-1] += _copied([record]) if again else [record]
            self._settle()

    def _settle(self) -> None:
        self.found[-1] += self.kept
        self.kept = []


def segments(records: Sequence[Record]) -> list[list[Record]]:
    """The stretches, without those that hold nothing new."""
    stretches = _Stretches()
    for record in records:
        stretches.take(record)
    return [one for one in stretches.found if any(not record.value.copied for record in one)]


def _kept(records: Sequence[Record], named: Sequence[str]) -> list[Record]:
    """The lines that stayed: the first to the last of those that are named."""
    places = [at for at, one in enumerate(records) if one.value.uuid in set(named)]
    if not places:
        return []
    return _copied(records[places[0] : places[-1] + 1])


def _thinned(records: Iterable[Record], cleared: set[Any], removed: set[Any]) -> list[Record]:
    """The lines without those that were removed, and without the results that were cleared."""
    found = []
    for record in _copied(one for one in records if one.value.uuid not in removed):
        message = record.value.message
        parts = message.content if isinstance(message.content, list) else []
        if any(_is_cleared(part, cleared) for part in parts):
            parts = [
                part | {"content": _CLEARED} if _is_cleared(part, cleared) else part
                for part in parts
            ]
            line = replace(record.value, message=replace(message, content=parts))
            record = replace(record, value=line)
        found.append(record)

    return found


def _is_cleared(part: Any, cleared: set[Any]) -> bool:
    return inside(part, "type") == "tool_result" and part.get("tool_use_id") in cleared


def _copied(records: Iterable[Record]) -> list[Record]:
    return [replace(one, value=replace(one.value, copied=True)) for one in records]
