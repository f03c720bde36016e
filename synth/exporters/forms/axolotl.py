"""The forms that Axolotl reads: chats by `chat_template`, preferences by its DPO
`chat_template.default`, step values by its `stepwise_supervised`.

Of chats, arguments and tools are JSON text, and each message says whether it carries loss; its
loader takes null-filled keys out again (`remove_none_values`) and decodes tools and arguments that
are text. Its DPO passes no tools and drops calls (axolotl-ai-cloud/axolotl#3824), so rows with any
are refused. Read against 0.19.
"""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from synth.exporters.facts import EVIDENCE, KEPT_OUT, kept_out
from synth.exporters.forms import trl
from synth.exporters.forms.columns import Column, plain_text, said, taken
from synth.exporters.kind import Chat, Form, NotRepresentableError
from synth.exporters.labelled import LabelledRow
from synth.exporters.sft_rows import SftRow
from synth.schemas.model import Message
from synth.schemas.trajectory import argument_error

_CALL = {
    "id": "string",
    "type": "string",
    "function": {"name": "string", "arguments": "string"},
}
_MESSAGE = {
    **dict.fromkeys(("role", "content", "name", "reasoning_content", "tool_call_id"), "string"),
    "tool_calls": [_CALL],
    "training": "bool",
}
_PLAIN = {"role": "string", "content": "string"}


def _messages(row: SftRow) -> list[Message]:
    """Every message says whether it is trained on, so that no default decides."""
    written, turn = [], -1
    for message in row.messages:
        by_assistant = message["role"] == "assistant"
        turn += by_assistant
        loss = {"training": by_assistant and turn in row.trained}
        written.append({name: said(message).get(name) for name in _MESSAGE} | loss)
    return written


def _chat(row: Mapping[str, Any]) -> Chat:
    """A loaded row as the loader of Axolotl gives it on: keys that are null taken out, tools and
    arguments decoded.
    """
    messages = [
        with_objects({key: value for key, value in message.items() if value is not None})
        for message in row["messages"]
    ]
    flags = [message.pop("training") for message in messages if message["role"] == "assistant"]
    for message in messages:
        message.pop("training", None)
    trained = tuple(at for at, loss in enumerate(flags) if loss)
    return Chat(messages, json.loads(row["tools"] or "[]"), trained)


def with_objects(message: Message) -> Message:
    """The message with the arguments of its calls decoded, or as they are where they are no JSON
    object.
    """
    calls = [
        call
        | {"function": call["function"] | {"arguments": _object(call["function"]["arguments"])}}
        for call in message.get("tool_calls") or ()
    ]
    return message | {"tool_calls": calls} if calls else message


def _object(arguments: str) -> Any:
    return arguments if argument_error(arguments) is not None else json.loads(arguments)


def _lost_of_chat(row: SftRow) -> tuple[str, ...]:
    calls = (call for turn in row.trajectory.turns for call in turn.tool_calls)
    if any(call.parse_error is not None for call in calls):
        return ("arguments that are no JSON object are rendered as text",)
    return ()


def _pair(row: LabelledRow) -> list[Message]:
    """Prompt, chosen, rejected, as role and content."""
    messages = [*row.prompt, *row.answers]
    if any(message.get("tool_calls") or message["role"] == "tool" for message in messages):
        raise NotRepresentableError("tool_calls")
    if row.trajectory.tools:
        raise NotRepresentableError("tool_schemas")
    return [{"role": message["role"], "content": message["content"] or ""} for message in messages]


def _lost_of_pair(row: LabelledRow) -> tuple[str, ...]:
    messages = (*row.prompt, *row.answers)
    lost = {
        "thoughts": any(message.get("reasoning_content") for message in messages),
        "names": any(message.get("name") for message in messages),
    }
    return (
        EVIDENCE,
        *((KEPT_OUT,) if kept_out(row.trajectory) else ()),
        *(f"{name}: the strategy passes role and content alone" for name in lost if lost[name]),
    )


PER_TURN = Form(
    name="axolotl",
    columns=(
        Column("messages", [_MESSAGE], _messages),
        Column(
            "tools",
            "string",
            lambda row: plain_text(row.trajectory.tools) if row.trajectory.tools else None,
        ),
        *trl.LINEAGE,
        *trl.GOLD_INFORMED,
        trl.MASKED,
    ),
    guide="""```yaml
# axolotl train this.yaml
datasets:
  - path: FOLDER
    type: chat_template
    field_messages: messages
    field_tools: tools
    message_field_training: training   # loss where a message says so, and nowhere else
    roles_to_train: []
sequence_len: 32768
```
""",
    masks=True,
    unsaid=_lost_of_chat,
    chat=_chat,
)
SFT = MEMORY = msgspec.structs.replace(PER_TURN, per_turn=PER_TURN)
DPO = Form(
    name="axolotl",
    columns=(
        Column("messages", [_PLAIN], lambda row: _pair(row)[:-2]),
        Column("chosen", _PLAIN, lambda row: _pair(row)[-2]),
        Column("rejected", _PLAIN, lambda row: _pair(row)[-1]),
        *taken("string", "label", "pair_id", "family"),
        *taken("string", "label.prefix", "trajectory_id"),
    ),
    guide="""```yaml
rl: dpo
datasets:
  - path: FOLDER
    split: train
    type: chat_template.default
    field_messages: messages
    field_chosen: chosen
    field_rejected: rejected
```
""",
    unsaid=_lost_of_pair,
)
PRM = msgspec.structs.replace(
    trl.PRM,
    name="axolotl",
    guide="""```yaml
process_reward_model: true
datasets:
  - path: FOLDER
    split: train
    type: stepwise_supervised
    step_separator: ""
```
""",
    steps=lambda row: msgspec.structs.replace(trl.steps(row), separator=""),
)
