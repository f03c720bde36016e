"""SFT rows as LLaMA-Factory reads them: `sharegpt` conversations that alternate, calls as JSON
text, tool answers of a turn merged.

Loaders of it leave a row that does not alternate out with a warning only, so such rows are refused
here. Read against 0.9.5.
"""

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any

import pyarrow as pa

from synth.exporters.facts import AGENTS, SPEAKERS
from synth.exporters.json_columns import plain_text
from synth.exporters.kind import Form, UnsayableError
from synth.exporters.sft_rows import SftRow
from synth.exporters.unroll import assistant_places
from synth.schemas.canonical import canonical_json
from synth.schemas.messages import ENVIRONMENT_NAME
from synth.schemas.model import Message

BETWEEN_RESULTS = "\n</tool_response>\n<tool_response>\n"
"""With which it joins the tool answers of one turn itself."""
_CALL, _END_CALL = "<tool_call>", "</tool_call>"
_THINK, _END_THINK = "<think>", "</think>"
_ROLES = {"user": "human", "tool": "observation"}
_NUMBER = "{{idx}}"
"""It puts the number of the turn in its place, in what users say."""
NAME = "synth"
"""Of the data set in `dataset_info.json`."""
SAID = pa.struct([("from", pa.string()), ("value", pa.string())])
LINEAGE = (
    "trajectory_id",
    "task_id",
    "synthesizer",
    "policy",
    "model",
    "authorship",
    "outcome",
    "benchmark",
    "split",
)


def sft_schema() -> pa.Schema:
    """Conversations, system prompt and tools as text, and where they come from."""
    texts = [(name, pa.string()) for name in ("system", "tools", *LINEAGE)]
    return pa.schema(
        [("conversations", pa.list_(SAID)), *texts, ("trained_turns", pa.list_(pa.int32()))]
    )


def sft_record(row: SftRow) -> dict[str, Any]:
    """One row in these columns, up to the last message that carries loss."""
    messages = row.messages[: assistant_places(row.messages)[max(row.trained)] + 1]
    system, conversations = alternating(messages)
    return {
        "conversations": conversations,
        "system": system,
        "tools": tools_text(row.trajectory.tools),
        **{name: getattr(row.trajectory, name) for name in LINEAGE},
        "trained_turns": list(row.trained),
    }


def alternating(messages: Sequence[Message]) -> tuple[str, list[dict[str, str]]]:
    """(system prompt, conversation). Raises `UnsayableError` for what has no place in it."""
    system = messages[0]["content"] if messages and messages[0]["role"] == "system" else ""
    conversations: list[dict[str, str]] = []
    for role, group in groupby(
        messages[1:] if messages and messages[0]["role"] == "system" else messages,
        key=lambda one: str(one["role"]),
    ):
        said = [*group]
        if role == "system":
            raise UnsayableError("system_message_midway")
        if role == "assistant":
            if len(said) > 1:
                raise UnsayableError("two_turns_in_a_row")
            conversations.append(answer(said[0]))
        else:
            between = BETWEEN_RESULTS if role == "tool" else "\n\n"
            if role == "user" and any(_NUMBER in message["content"] for message in said):
                raise UnsayableError("replaced_by_a_number")
            conversations.append(
                {
                    "from": _ROLES[role],
                    "value": between.join(message["content"] for message in said),
                }
            )
    for at, one in enumerate(conversations):
        if (one["from"] in ("gpt", "function_call")) is not (at % 2 == 1):
            raise UnsayableError("no_alternation")
    return system, conversations


def answer(message: Message) -> dict[str, str]:
    """An assistant's message: text, or its calls as JSON; thoughts inline."""
    thought = (
        f"{_THINK}\n{message['reasoning_content']}\n{_END_THINK}\n\n"
        if message.get("reasoning_content")
        else ""
    )
    content = message["content"] or ""
    if not message.get("tool_calls"):
        return {"from": "gpt", "value": thought + content}
    calls = [
        {"name": call["function"]["name"], "arguments": call["function"]["arguments"]}
        for call in message["tool_calls"]
    ]
    if any(isinstance(call["arguments"], str) for call in calls):
        raise UnsayableError("broken_arguments")
    written = plain_text(calls[0] if len(calls) == 1 else calls)
    said = (written, content, message.get("reasoning_content") or "")
    if any(mark in text for mark in (_CALL, _END_CALL, _THINK, _END_THINK) for text in said):
        raise UnsayableError("marks_of_calls_in_the_text")
    return {
        "from": "function_call",
        "value": f"{thought}{content}\n{_CALL}{written}{_END_CALL}"
        if content
        else thought + written,
    }


def tools_text(tools: Sequence[Any]) -> str:
    """Schemas as LLaMA-Factory takes them: the functions alone, as JSON text, "" where there are
    none.
    """
    return plain_text([tool.get("function", tool) for tool in tools]) if tools else ""


def unsaid(row: SftRow) -> tuple[str, ...]:
    """What is lost of a row."""
    return lost([message for message in row.messages if message["role"] != "system"])


def lost(messages: Sequence[Message]) -> tuple[str, ...]:
    """What is lost of messages, each by one name."""
    found = []
    if any(message.get("tool_calls") and message["content"] for message in messages):
        found.append(
            "text beside calls is read only by templates with <tool_call> words, from 0.9.5 on"
        )
    if any(len(message.get("tool_calls") or ()) > 1 for message in messages):
        found.append("ids of parallel calls: answers are joined in their order")
    if any(left["role"] == right["role"] == "user" for left, right in pairwise(messages)):
        found.append("messages of users in a row are joined by an empty line")
    if any(message.get("name") == ENVIRONMENT_NAME for message in messages):
        found.append("what the world itself says stands as the user's")
    if any(message.get("name") and message["role"] == "assistant" for message in messages):
        found.append(AGENTS)
    if any(
        message.get("name") not in (None, ENVIRONMENT_NAME) and message["role"] == "user"
        for message in messages
    ):
        found.append(SPEAKERS)
    return tuple(found)


def dataset_info(columns: dict[str, str], **more: Any) -> Any:
    """`dataset_info.json` for a data set of one file."""

    def beside(shards: tuple[str, ...]) -> dict[str, bytes]:
        entry = {
            "file_name": shards[0],
            "formatting": "sharegpt",
            **more,
            "columns": {"messages": "conversations", **columns},
        }
        return {"dataset_info.json": canonical_json({NAME: entry})}

    return beside


def training(folder: str, stage: str = "sft", also: str = "") -> str:
    """How LLaMA-Factory is told of it."""
    return f"""```yaml
# llamafactory-cli train this.yaml
stage: {stage}
dataset_dir: {folder}   # holds dataset_info.json
dataset: {NAME}
cutoff_len: 32768      # the default, 2048 tokens, cuts long trajectories without a word
{also}```

Its chat templates are its own: compare what they render with what the model was served. `template: qwen3` writes an empty thinking block,
which carries loss, before every turn without a thought; `qwen3_nothink` writes none.
"""


PER_TURN = Form(
    name="llamafactory",
    arguments="dict",
    schema=sft_schema,
    record=sft_record,
    unsaid=unsaid,
    layout="one_shard",
    masks=True,
    beside=dataset_info({"system": "system", "tools": "tools"}),
    training=lambda folder: training(
        folder, also="mask_history: true     # loss on the last message of a row alone\n"
    ),
)
SFT = Form(
    name="llamafactory",
    arguments="dict",
    schema=sft_schema,
    record=sft_record,
    unsaid=unsaid,
    layout="one_shard",
    beside=dataset_info({"system": "system", "tools": "tools"}),
    training=training,
    per_turn=PER_TURN,
)
