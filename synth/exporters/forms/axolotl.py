"""The forms that Axolotl reads: chats by `chat_template`, preferences by its DPO
`chat_template.default`, step values by its `stepwise_supervised`.

Of chats, arguments and tools are JSON text, and each message says whether it carries loss; its
loader takes null-filled keys out again (`remove_none_values`) and decodes tools and arguments that
are text. Its DPO passes no tools and drops calls (axolotl-ai-cloud/axolotl#3824), so rows with any
are refused. Read against 0.19.

Step values are TRL's rows under another guide: its trainer wants no line break after a step.
"""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from synth.exporters.evidence_class import evidence_of
from synth.exporters.exact_json import plain_text
from synth.exporters.facts import EVIDENCE, KEPT_OUT, kept_out
from synth.exporters.form import Chat, NotRepresentableError, Value, form, said, table
from synth.exporters.forms import trl
from synth.exporters.kinds.labelled import LabelledRow
from synth.exporters.kinds.sft_rows import SftRow, trained_places
from synth.schemas import Message, argument_error

# of every message, since a struct of arrow has all of its keys
_KEYS = ("role", "content", "name", "reasoning_content", "tool_call_id", "tool_calls")


def _messages(row: SftRow) -> list[Message]:
    """Every message says whether it is trained on, so that no default decides."""
    lit = trained_places(row)
    return [
        {name: said(message).get(name) for name in _KEYS} | {"training": at in lit}
        for at, message in enumerate(row.messages)
    ]


def _chat(row: Mapping[str, Any]) -> Chat:
    """A loaded row as the loader of Axolotl gives it on: keys that are null taken out, tools and
    arguments decoded.
    """
    # what arrow filled in is taken out, as its own loader does
    messages = [
        {key: value for key, value in message.items() if value is not None}
        for message in row["messages"]
    ]
    return flagged_chat(messages, json.loads(row["tools"] or "[]"), "training")


def flagged_chat(
    messages: list[Message], tools: list[Any], flag: str, unless_said: int | None = None
) -> Chat:
    """A chat whose messages say by a flag whether they carry loss; the arguments of calls are
    decoded, or stay as they are where they are no JSON object.
    """
    losses = []

    for message in messages:
        loss = message.pop(flag, unless_said)
        # other messages may carry a flag as well, which is never set
        if message["role"] == "assistant":
            losses.append(loss)

        for call in message.get("tool_calls") or ():
            function = call["function"]
            if argument_error(function["arguments"]) is None:
                function["arguments"] = json.loads(function["arguments"])

    return Chat(messages, tools, tuple(at for at, loss in enumerate(losses) if loss))


def _lost_of_chat(row: SftRow) -> tuple[str, ...]:
    """Broken arguments stay what was received, which templates print in quotes."""
    calls = (call for turn in row.trajectory.turns for call in turn.tool_calls)
    broken = any(call.parse_error is not None for call in calls)
    return ("arguments that are no JSON object are rendered as text",) if broken else ()


def _pair(row: LabelledRow) -> list[Message]:
    """Prompt, chosen, rejected, as role and content.

    Raises `NotRepresentableError` for calls and tools, which its strategy drops.
    """
    # refused rather than written without: the pair would compare other turns than were tested
    messages = [*row.prompt, *row.answers]
    if any(message.get("tool_calls") or message["role"] == "tool" for message in messages):
        raise NotRepresentableError("tool_calls")
    if row.trajectory.tools:
        raise NotRepresentableError("tool_schemas")

    return [{"role": message["role"], "content": message["content"] or ""} for message in messages]


def _lost_of_pair(row: LabelledRow) -> tuple[str, ...]:
    """All that is no role and no content, and what the pair stands on."""
    # its strategy renders role and content, and nothing of the rest
    lost = [EVIDENCE, *((KEPT_OUT,) if kept_out(row.trajectory) else ())]
    for key, name in (("reasoning_content", "thoughts"), ("name", "names")):
        if any(message.get(key) for message in (*row.prompt, *row.answers)):
            lost.append(f"{name}: the strategy passes role and content alone")

    return tuple(lost)


# what the tables of `data/forms/axolotl.yaml` name and no row holds under that name
_CHAT = {
    "messages": _messages,
    "tools": lambda row: plain_text(row.trajectory.tools) if row.trajectory.tools else None,
    "masked_turns": trl.masked_turns,
    "evidence": evidence_of,
}
SFT = MEMORY = form("axolotl", "sft", _CHAT, loses=_lost_of_chat, read=_chat)
_PAIR: dict[str, Value] = {
    "messages": lambda row: _pair(row)[:-2],
    "chosen": lambda row: _pair(row)[-2],
    "rejected": lambda row: _pair(row)[-1],
    "evidence": evidence_of,
}
DPO = form("axolotl", "dpo", _PAIR, loses=_lost_of_pair)
DPO_OBSERVED = form("axolotl", "dpo_observed", _PAIR, loses=_lost_of_pair)
# its trainer puts no line break after a step
PRM = msgspec.structs.replace(
    trl.PRM,
    name="axolotl",
    guide=table("axolotl")["prm"]["guide"],
    read=lambda row: trl.steps(row, separator=""),
)
