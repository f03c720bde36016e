"""What events of OpenHands say beside the conversation, and how one is known."""

from typing import Any

import msgspec

from synth.importers.records import Object

_SDK = ("ActionEvent", "ObservationEvent", "MessageEvent", "SystemPromptEvent", "AgentErrorEvent")
_SOURCES = ("agent", "user", "environment")


class EventFacts(msgspec.Struct):
    """What events say beside the conversation."""

    state: str | None = None
    model: str | None = None
    tools: list[Object] = []
    before: list[list[Object]] = []
    """The messages of each context before the last one."""
    beside: list[list[Object]] = []
    """Those of agents that the run's agent handed a task to: it saw their answer alone."""


def recognised(value: Any) -> bool:
    """Whether a value is an event of either kind."""
    if not isinstance(value, dict):
        return False
    if value.get("kind") in _SDK:
        return True
    is_event = "action" in value or "observation" in value
    return is_event and value.get("source") in _SOURCES and ("args" in value or "content" in value)
