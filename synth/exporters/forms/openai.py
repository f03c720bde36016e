"""Chats as OpenAI's fine-tuning and everything that speaks its form read them: one JSON object per
line, arguments as JSON text.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from synth.exporters import facts
from synth.exporters.forms.axolotl import with_objects
from synth.exporters.forms.columns import Column, plain_text, said
from synth.exporters.kind import Chat, Form, NotRepresentableError
from synth.exporters.sft_rows import SftRow, said_after, up_to_last_loss

_KEYS = {
    "system": ("role", "content"),
    "user": ("role", "content", "name"),
    "assistant": ("role", "content", "name", "tool_calls"),
    "tool": ("role", "content", "tool_call_id"),
}
LACKS = (
    *(facts.THOUGHTS, facts.TOOL_NAMES, facts.REASONS, facts.BEHIND, facts.ORIGIN, facts.REWARD),
    *(facts.CHECK, facts.TURN_VALUES, facts.TOKENS, facts.USAGE, facts.AUTHORS, facts.ERRORS),
    *(facts.HIDDEN, facts.RAW),
)


def _line(row: SftRow) -> str:
    """`weight` 0 on an assistant message that carries no loss, further keys only in rows that
    exports leave out unasked.
    """
    written, turn = [], -1
    for message in up_to_last_loss(row):
        role = message["role"]
        turn += role == "assistant"
        if role == "tool" and not message.get("tool_call_id"):
            raise NotRepresentableError("tool_result_without_an_id")
        kept = {key: message[key] for key in _KEYS[role] if key in message}
        if role == "assistant" and turn not in row.trained:
            kept["weight"] = 0
        written.append(kept)
    tools = row.trajectory.tools
    offered = {"tools": tools, "parallel_tool_calls": True} if tools else {}
    return plain_text({"messages": written, **offered, **facts.kept_out(row.trajectory)})


def _chat(row: Mapping[str, Any]) -> Chat:
    """A line as a trainer of chat templates reads it: arguments decoded."""
    messages = [with_objects(said(message)) for message in row["messages"]]
    weights = [one.pop("weight", 1) for one in messages if one["role"] == "assistant"]
    trained = tuple(at for at, weight in enumerate(weights) if weight)
    return Chat(messages, row.get("tools", []), trained)


def told(row: SftRow) -> facts.RenderedChat:
    """What a row tells, for a reader to be compared with; of a row of one turn, what stands behind
    it is in other rows.
    """
    messages, whole = up_to_last_loss(row), row.turn is None
    masked = {
        turn: reason if whole else ""
        for turn, reason in row.masked.items()
        if turn <= max(row.trained)
    }
    return facts.RenderedChat(
        messages,
        list(row.trajectory.tools),
        masked,
        facts.known_of(row.trajectory),
        behind=len(row.messages) - len(messages) + said_after(row.trajectory) if whole else 0,
    )


PER_TURN = Form(
    name="openai",
    columns=(Column("line", "string", _line),),
    guide="""`FOLDER/train-*.jsonl` holds one chat per line: `messages` and `tools`, arguments as JSON text, `weight: 0` on assistant
messages that carry no loss. Several calls in one message stay several. Attempts at a benchmark have the key `benchmark`, those at a
held-out task `split`, so that an import knows them again: take the keys out for a trainer that refuses keys that it does not know.
""",
    masks=True,
    unsaid=lambda row: facts.lost(told(row), LACKS),
    chat=_chat,
    layout="lines",
)
SFT = MEMORY = msgspec.structs.replace(PER_TURN, per_turn=PER_TURN)
