"""Lines of a Claude Code session, as far as they say what the model saw."""

from typing import Any

import msgspec

from synth.importers.records import Object, inside, is_object

_STREAMED = ("user", "assistant", "system")


class ThreadMessage(msgspec.Struct):
    """What a line says; the lines of one reply have one `id`."""

    content: Any = None
    id: str | None = None
    model: str | None = None
    usage: Object | None = None

    def ids(self, kind: str, key: str) -> set[Any]:
        """The ids that its blocks of a kind have."""
        parts = self.content if isinstance(self.content, list) else []
        return {part[key] for part in parts if inside(part, "type") == kind and key in part}


class Line(msgspec.Struct, rename="camel"):
    """One line that has a place in the conversation; `message` is None for those that only link
    others.
    """

    type: str
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    subtype: str | None = None
    is_sidechain: bool | None = None
    agent_id: str | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    compact_metadata: Object | None = None
    microcompact_metadata: Object | None = None
    snip_metadata: Object | None = None
    message: ThreadMessage | None = None
    stream: str | None = None
    """The session whose stream it is of: nothing else says what it follows."""
    copied: bool = False
    """Whether it stands in a stretch before this one too."""

    @property
    def is_thinned(self) -> bool:
        """Whether results of tools, or messages, were taken out of the context here."""
        return self.type == "system" and bool(self.cleared() or self.removed())

    def cleared(self) -> list[str]:
        """The calls whose results were taken out."""
        return inside(self.microcompact_metadata, "compactedToolIds", list) or []

    def removed(self) -> list[str]:
        """The lines that were taken out."""
        return inside(self.snip_metadata, "removedUuids", list) or []

    @property
    def is_boundary(self) -> bool:
        """Whether the context was compacted here."""
        return self.type == "system" and self.subtype == "compact_boundary"

    def kept(self) -> list[str]:
        """The first and the last message, or all of them, that a compaction kept beside its
        summary.
        """
        told = self.compact_metadata or {}
        listed = inside(told, "preservedMessages.allUuids", list)
        listed = listed or inside(told, "preservedMessages.uuids", list)
        ends = (inside(told, f"preservedSegment.{key}", str) for key in ("headUuid", "tailUuid"))
        return listed or list(filter(None, ends))


def is_streamed(value: Any) -> bool:
    """Whether a line is of the stream that the program prints (`--output-format stream-json`)."""
    told = is_object(value, type=str, session_id=str) and value["type"] in _STREAMED
    return told and ("parent_tool_use_id" in value or "subtype" in value)


def line_of(value: Any) -> Line:
    """A line; one of the stream names no line before it, but the call that its sub-agent is."""
    if not is_object(value, session_id=str) or "sessionId" in value:
        return msgspec.convert(value, Line)

    parent = value.get("parent_tool_use_id")
    return msgspec.convert(
        {
            "type": value.get("type"),
            "subtype": value.get("subtype"),
            "message": value.get("message"),
            "isMeta": value.get("isSynthetic"),
            "isSidechain": parent is not None,
            "agentId": parent,
            "compactMetadata": value.get("compact_metadata"),
            "stream": value["session_id"],
        },
        Line,
    )
