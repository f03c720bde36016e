"""When two turns do the same."""

from typing import Protocol

from synth.schemas import ToolCall, canonical_json, content_hash


class Doing(Protocol):
    """A turn, decided or recorded."""

    @property
    def content(self) -> str | None: ...
    @property
    def tool_calls(self) -> tuple[ToolCall, ...]: ...


def act_digest(turn: Doing) -> str:
    """What two turns have in common that do the same.

    That is names and arguments of their calls, or else their words; not call ids or thoughts.
    """
    calls = []

    for call in turn.tool_calls:
        readable = call.parse_error is None
        written = canonical_json(call.parsed()).decode() if readable else call.arguments
        calls.append((call.name, written))

    return content_hash(calls or ["says", " ".join((turn.content or "").split())])
