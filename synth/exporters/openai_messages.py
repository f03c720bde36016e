"""Chats as OpenAI's fine-tuning and everything that speaks its form read them: one JSON object per
line, arguments as JSON text.
"""

from collections.abc import Mapping
from typing import Any

from synth.exporters import facts
from synth.exporters.axolotl import objects
from synth.exporters.json_columns import plain_text, said
from synth.exporters.kind import Chat, Form, UnsayableError
from synth.exporters.sft_rows import SftRow, said_after
from synth.exporters.unroll import assistant_places
from synth.schemas.model import Message

_KEYS = {
    "system": ("role", "content"),
    "user": ("role", "content", "name"),
    "assistant": ("role", "content", "name", "tool_calls"),
    "tool": ("role", "content", "tool_call_id"),
}

LACKS = (
    *(
        facts.THOUGHTS,
        facts.TOOL_NAMES,
        facts.REASONS,
        facts.BEHIND,
        facts.ORIGIN,
        facts.REWARD,
        facts.CHECK,
        facts.TURN_VALUES,
    ),
    *(facts.TOKENS, facts.USAGE, facts.AUTHORS, facts.ERRORS, facts.HIDDEN, facts.RAW),
)


def sft_record(row: SftRow) -> dict[str, Any]:
    """One line; `weight` 0 on an assistant message that carries no loss, further keys only in rows
    that exports leave out unasked.
    """
    messages = _up_to_the_last_loss(row)
    written, turn = [], -1
    for message in messages:
        turn += message["role"] == "assistant"
        if message["role"] == "tool" and not message.get("tool_call_id"):
            raise UnsayableError("tool_result_without_an_id")
        kept = {key: message[key] for key in _KEYS[message["role"]] if key in message}
        if message["role"] == "assistant" and turn not in row.trained:
            kept["weight"] = 0
        written.append(kept)
    tools = (
        {"tools": row.trajectory.tools, "parallel_tool_calls": True} if row.trajectory.tools else {}
    )
    line = {"messages": written, **tools, **facts.kept_out(row.trajectory)}
    return {"line": plain_text(line)}


def chat(row: Mapping[str, Any]) -> Chat:
    """A line as a trainer of chat templates reads it: arguments decoded."""
    messages, trained = [], []
    for message in row["messages"]:
        calls = [
            call
            | {"function": call["function"] | {"arguments": objects(call["function"]["arguments"])}}
            for call in message.get("tool_calls", ())
        ]
        kept = said(
            {key: value for key, value in message.items() if key != "weight"}
            | ({"tool_calls": calls} if calls else {})
        )
        messages.append(kept)
        if message["role"] == "assistant":
            trained.append(message.get("weight", 1))
    return Chat(
        messages, row.get("tools", []), tuple(at for at, weight in enumerate(trained) if weight)
    )


def told(row: SftRow) -> facts.Told:
    """What a row tells, for a reader to be compared with; of a row of one turn, what stands behind
    it is in other rows.
    """
    messages = _up_to_the_last_loss(row)
    masked = {
        turn: reason if row.turn is None else ""
        for turn, reason in row.masked.items()
        if turn <= max(row.trained)
    }
    behind = (
        len(row.messages) - len(messages) + said_after(row.trajectory) if row.turn is None else 0
    )
    return facts.Told(
        messages, list(row.trajectory.tools), masked, facts.known_of(row.trajectory), behind
    )


def unsaid(row: SftRow) -> tuple[str, ...]:
    """What is lost of a row."""
    return facts.lost(told(row), LACKS)


def _up_to_the_last_loss(row: SftRow) -> list[Message]:
    return row.messages[: assistant_places(row.messages)[max(row.trained)] + 1]


def training(folder: str) -> str:
    """How it is read."""
    return f"""`{folder}/train-*.jsonl` holds one chat per line: `messages` and `tools`, arguments as JSON text, `weight: 0` on assistant
messages that carry no loss. Several calls in one message stay several. Attempts at a benchmark have the key `benchmark`, those at a
held-out task `split`, so that an import knows them again: take the keys out for a trainer that refuses keys that it does not know.
"""


PER_TURN = Form(
    name="openai",
    record=sft_record,
    training=training,
    masks=True,
    unsaid=unsaid,
    chat=chat,
    layout="lines",
)
SFT = Form(
    name="openai",
    record=sft_record,
    training=training,
    masks=True,
    unsaid=unsaid,
    chat=chat,
    layout="lines",
    per_turn=PER_TURN,
)
