"""When two turns do the same."""

from typing import Protocol

from synth.schemas.canonical import canonical_json, content_hash
from synth.schemas.trajectory import ToolCall


class Doing(Protocol):
    """A turn, decided or recorded."""

    @property
    def content(self) -> str | None: ...
    @property
    def tool_calls(self) -> tuple[ToolCall, ...]: ...


def act_digest(turn: Doing) -> str:
    """What two turns have in common that do the same: names and arguments of their calls, or else
    their words; not call ids or thoughts.
    """
    calls = [(call.name, _arguments(call)) for call in turn.tool_calls]
    return content_hash(calls or ["says", " ".join((turn.content or "").split())])


def _arguments(call: ToolCall) -> str:
    return (
        call.arguments if call.parse_error is not None else canonical_json(call.parsed()).decode()
    )
