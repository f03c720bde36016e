"""Chats as OpenAI's fine-tuning and everything that speaks its form read them: one JSON object per
line, arguments as JSON text.

A line ends with the last message that carries loss. Whole chats and rows of one turn have the same
form, since `weight` says of each assistant message whether it is trained on.
"""

from collections.abc import Mapping
from typing import Any

from synth.exporters import facts
from synth.exporters.exact_json import plain_text
from synth.exporters.form import Chat, NotRepresentableError, form, said
from synth.exporters.forms.axolotl import flagged_chat
from synth.exporters.kinds.sft_rows import SftRow, said_after, trained_places, up_to_last_loss
from synth.schemas import Message

# of each role, in the order in which they are written
_KEYS = {
    "system": ("role", "content"),
    "user": ("role", "content", "name"),
    "assistant": ("role", "content", "name", "tool_calls"),
    "tool": ("role", "content", "tool_call_id"),
}


def _line(row: SftRow) -> str:
    """One chat: `{"messages": [...], "tools": [...]}`.

    `weight` 0 on an assistant message that carries no loss, further keys only in rows that exports
    leave out unasked. Raises `NotRepresentableError` for a result without an id.
    """
    written, lit = list[Message](), trained_places(row)

    # nothing is learnt behind the last turn with loss
    for at, message in enumerate(up_to_last_loss(row)):
        role = message["role"]
        if role == "tool" and not message.get("tool_call_id"):
            raise NotRepresentableError("tool_result_without_an_id")

        # other keys are refused by the service that the form is named after
        kept = {key: message[key] for key in _KEYS[role] if key in message}
        if role == "assistant" and at not in lit:
            kept["weight"] = 0

        written.append(kept)

    # several calls in one message stay several
    tools = row.trajectory.tools
    offered = {"tools": tools, "parallel_tool_calls": True} if tools else {}

    return plain_text({"messages": written, **offered, **facts.kept_out(row.trajectory)})


def _chat(row: Mapping[str, Any]) -> Chat:
    """A line as a trainer of chat templates reads it: arguments decoded."""
    return flagged_chat([*map(said, row["messages"])], row.get("tools", []), "weight", 1)


def _told(row: SftRow) -> facts.RenderedChat:
    """Of a row of one turn, what stands behind it is in other rows."""
    # what stands behind the last loss is not written
    messages, whole = up_to_last_loss(row), row.turn is None
    last = max(row.trained)
    # the weight says that there is no loss, and not why
    masked = {turn: why if whole else "" for turn, why in row.masked.items() if turn <= last}
    behind = len(row.messages) - len(messages) + said_after(row.trajectory) if whole else 0
    return facts.rendered(row.trajectory, messages, masked, behind)


SFT = MEMORY = form("openai", "sft", {"line": _line}, read=_chat, told=_told)
