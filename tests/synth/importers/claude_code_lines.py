"""Lines of a session of Claude Code."""

from typing import Any


def line(
    kind: str, uuid: str, parent: str | None, content: Any = None, **fields: Any
) -> dict[str, Any]:
    """A line of a session; `reply`, `model` and `usage` go into its message."""
    inside = {key: fields.pop(key) for key in ("id", "model", "usage") if key in fields}
    message = (
        {"message": {"role": kind, "content": content, **inside}}
        if kind in ("user", "assistant")
        else {}
    )
    shared = {
        "isSidechain": False,
        "sessionId": "s1",
        "cwd": "/work",
        "version": "2.0.1",
        "timestamp": "2026-03-01T10:00:00.000Z",
    }
    return {"type": kind, "uuid": uuid, "parentUuid": parent, **shared, **message, **fields}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}
