"""SFT rows as Axolotl's `chat_template` reads them: arguments and tools as JSON text, and per
message whether it carries loss.

Its loader takes null-filled keys out again (`remove_none_values`) and decodes tools and arguments
that are text. Read against 0.19.
"""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from synth.exporters.json_columns import plain_text, said
from synth.exporters.kind import Chat, Form
from synth.exporters.sft_rows import SftRow
from synth.exporters.trl import LINEAGE
from synth.schemas.trajectory import argument_error

_CALL = pa.struct(
    [
        ("id", pa.string()),
        ("type", pa.string()),
        ("function", pa.struct([("name", pa.string()), ("arguments", pa.string())])),
    ]
)
_TEXTS = ("role", "content", "name", "reasoning_content", "tool_call_id")
_MESSAGE = pa.struct(
    [
        *[(name, pa.string()) for name in _TEXTS],
        ("tool_calls", pa.list_(_CALL)),
        ("training", pa.bool_()),
    ]
)


def sft_schema() -> pa.Schema:
    """Messages with a flag for loss, tools as text, and where they come from."""
    texts = [(name, pa.string()) for name in ("tools", *LINEAGE)]
    masked = pa.list_(pa.struct([("turn", pa.int32()), ("reason", pa.string())]))
    return pa.schema(
        [
            ("messages", pa.list_(_MESSAGE)),
            *texts,
            ("gold_informed", pa.bool_()),
            ("masked_turns", masked),
        ]
    )


def sft_record(row: SftRow) -> dict[str, Any]:
    """One row in these columns; every message says whether it is trained on, so that no default
    decides.
    """
    messages, turn = [], -1
    for message in row.messages:
        turn += message["role"] == "assistant"
        loss = message["role"] == "assistant" and turn in row.trained
        messages.append(
            {
                **{name: said(message).get(name) for name in (*_TEXTS, "tool_calls")},
                "training": loss,
            }
        )
    trajectory = row.trajectory
    return {
        "messages": messages,
        "tools": plain_text(trajectory.tools) if trajectory.tools else None,
        **{column: getattr(trajectory, column) for column in LINEAGE},
        "gold_informed": trajectory.gold_informed,
        "masked_turns": [{"turn": turn, "reason": reason} for turn, reason in row.masked.items()],
    }


def chat(row: Mapping[str, Any]) -> Chat:
    """A loaded row as the loader of Axolotl gives it on: keys that are null taken out, tools and
    arguments decoded.
    """
    messages, trained = [], []
    for message in row["messages"]:
        kept = {
            key: value for key, value in message.items() if value is not None and key != "training"
        }
        if "tool_calls" in kept:
            kept["tool_calls"] = [
                call
                | {
                    "function": call["function"]
                    | {"arguments": objects(call["function"]["arguments"])}
                }
                for call in kept["tool_calls"]
            ]
        if message["role"] == "assistant":
            trained.append(message["training"])
        messages.append(kept)
    return Chat(
        messages,
        json.loads(row["tools"] or "[]"),
        tuple(at for at, loss in enumerate(trained) if loss),
    )


def objects(arguments: str) -> Any:
    """Arguments decoded, or as they are where they are no JSON object."""
    return arguments if argument_error(arguments) is not None else json.loads(arguments)


def unsaid(row: SftRow) -> tuple[str, ...]:
    """What is lost of a row."""
    if any(
        call.parse_error is not None for turn in row.trajectory.turns for call in turn.tool_calls
    ):
        return ("arguments that are no JSON object are rendered as text",)
    return ()


def training(folder: str) -> str:
    """How Axolotl is told of it."""
    return f"""```yaml
# axolotl train this.yaml
datasets:
  - path: {folder}
    type: chat_template
    field_messages: messages
    field_tools: tools
    message_field_training: training   # loss where a message says so, and nowhere else
    roles_to_train: []
sequence_len: 32768
```
"""


PER_TURN = Form(
    name="axolotl",
    schema=sft_schema,
    record=sft_record,
    training=training,
    masks=True,
    unsaid=unsaid,
    chat=chat,
)
SFT = Form(
    name="axolotl",
    schema=sft_schema,
    record=sft_record,
    training=training,
    masks=True,
    unsaid=unsaid,
    chat=chat,
    per_turn=PER_TURN,
)
