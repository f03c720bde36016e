"""Messages without the envelopes that frameworks put around them, and who speaks in them."""

from typing import Any

from synth.importers.chats.words import ROLES
from synth.importers.records import inside

_SPEAKER = ("role", "from", "type", "sender", "speaker", "author")


def speaker_of(message: Any) -> str | None:
    """The role of a message, as ours are called; None where it has none that is known."""
    named = named_speaker(unwrapped(message))
    return None if named is None else ROLES.get(named.lower())


def unwrapped(message: Any) -> Any:
    """A message without the envelopes that frameworks put around it."""
    for key in ("kwargs", "data", "message"):
        inner = message.get(key) if isinstance(message, dict) else None
        if not isinstance(inner, dict):
            continue

        kind = message.get("type")
        if key == "kwargs":  # LangChain's own serialisation names the class
            kind = inside(message, "id.-1", str) or kind
        if key == "message" and "role" not in inner:
            continue
        named = {"type": kind} if kind and not named_speaker(inner) else {}
        return unwrapped(inner | named)

    return message


def named_speaker(message: Any) -> str | None:
    """The role of a message as it is written there; None where it has none."""
    named = (message.get(key) for key in _SPEAKER) if isinstance(message, dict) else ()
    told = (one.get("role") if isinstance(one, dict) else one for one in named)
    return next((one for one in told if isinstance(one, str)), None)
