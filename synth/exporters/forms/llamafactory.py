"""The forms that LLaMA-Factory reads: `sharegpt` conversations that alternate, calls as JSON text,
tool answers of a turn merged; of preferences the conversation, then one answer or two.

Its loaders leave a row that does not alternate out with a warning only, so such rows are refused
here. Read against 0.9.5.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from synth.exporters.facts import AGENTS, EVIDENCE, SPEAKERS
from synth.exporters.forms.columns import Column, plain_text, taken
from synth.exporters.forms.trl import TRAINED
from synth.exporters.kind import Form, NotRepresentableError
from synth.exporters.sft_rows import up_to_last_loss
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
_SAID = {"from": "string", "value": "string"}


def _alternating(messages: Sequence[Message]) -> list[dict[str, str]]:
    """The conversation behind the system prompt. Raises `NotRepresentableError` for what has no place in
    it.
    """
    conversation: list[dict[str, str]] = []
    behind = messages[1:] if _system(messages) is not None else messages
    for role, group in groupby(behind, key=lambda one: str(one["role"])):
        said = [*group]
        if role == "system":
            raise NotRepresentableError("system_message_midway")
        if role == "assistant":
            if len(said) > 1:
                raise NotRepresentableError("two_turns_in_a_row")
            conversation.append(_answer(said[0]))
            continue
        if role == "user" and any(_NUMBER in message["content"] for message in said):
            raise NotRepresentableError("replaced_by_a_number")
        between = BETWEEN_RESULTS if role == "tool" else "\n\n"
        value = between.join(message["content"] for message in said)
        conversation.append({"from": _ROLES[role], "value": value})
    for at, one in enumerate(conversation):
        if (one["from"] in ("gpt", "function_call")) is not (at % 2 == 1):
            raise NotRepresentableError("no_alternation")
    return conversation


def _system(messages: Sequence[Message]) -> str | None:
    return messages[0]["content"] if messages and messages[0]["role"] == "system" else None


def _answer(message: Message) -> dict[str, str]:
    """An assistant's message: text, or its calls as JSON; thoughts inline."""
    content, thought = message["content"] or "", message.get("reasoning_content") or ""
    inline = f"{_THINK}\n{thought}\n{_END_THINK}\n\n" if thought else ""
    calls = [
        {name: call["function"][name] for name in ("name", "arguments")}
        for call in message.get("tool_calls") or ()
    ]
    if not calls:
        return {"from": "gpt", "value": inline + content}
    if any(isinstance(call["arguments"], str) for call in calls):
        raise NotRepresentableError("broken_arguments")
    written = plain_text(calls[0] if len(calls) == 1 else calls)
    marks = (_CALL, _END_CALL, _THINK, _END_THINK)
    if any(mark in text for mark in marks for text in (written, content, thought)):
        raise NotRepresentableError("marks_of_calls_in_the_text")
    if content:
        written = f"{content}\n{_CALL}{written}{_END_CALL}"
    return {"from": "function_call", "value": inline + written}


def _tools(row: Any) -> str:
    """The functions alone, as JSON text, "" where there are none."""
    tools = row.trajectory.tools
    return plain_text([tool.get("function", tool) for tool in tools]) if tools else ""


_LOST: Mapping[str, Callable[[Sequence[Message]], bool]] = {
    "text beside calls is read only by templates with <tool_call> words, from 0.9.5 on": (
        lambda messages: any(one.get("tool_calls") and one["content"] for one in messages)
    ),
    "ids of parallel calls: answers are joined in their order": (
        lambda messages: any(len(one.get("tool_calls") or ()) > 1 for one in messages)
    ),
    "messages of users in a row are joined by an empty line": (
        lambda messages: any(a["role"] == b["role"] == "user" for a, b in pairwise(messages))
    ),
    "what the world itself says stands as the user's": (
        lambda messages: any(one.get("name") == ENVIRONMENT_NAME for one in messages)
    ),
    AGENTS: lambda messages: any(
        one.get("name") and one["role"] == "assistant" for one in messages
    ),
    SPEAKERS: lambda messages: any(
        one.get("name") not in (None, ENVIRONMENT_NAME) and one["role"] == "user"
        for one in messages
    ),
}


def lost(messages: Sequence[Message]) -> tuple[str, ...]:
    """What is lost of messages, each by one name."""
    return tuple(name for name, holds in _LOST.items() if holds(messages))


def _columns(
    before: Callable[[Any], list[Message]],
    *own: Column,
    answers: Callable[[Any], list[Message]] = lambda row: [],
) -> tuple[Column, ...]:
    """The conversation of what stands before the answers, and these behind it; then the columns of
    a kind's own, and where a row comes from.
    """

    def conversation(row: Any) -> list[dict[str, str]]:
        return [*_alternating(before(row)), *map(_answer, answers(row))]

    return (
        Column("conversations", [_SAID], conversation),
        *(column for column in own if column is not TRAINED),
        Column("system", "string", lambda row: _system(before(row)) or ""),
        Column("tools", "string", _tools),
        *taken("string", "trajectory", "trajectory_id", "task_id", "synthesizer", "policy"),
        *taken("string", "trajectory", "model", "authorship", "outcome", "benchmark", "split"),
        *(column for column in own if column is TRAINED),
    )


def _form(
    columns: tuple[Column, ...],
    losing: Callable[[Any], tuple[str, ...]],
    stage: str = "sft",
    also: str = "",
    names: tuple[str, ...] = (),
    **more: Any,
) -> Form:
    """`names`: further columns that LLaMA-Factory is told of in `dataset_info.json`."""
    entry = {
        "formatting": "sharegpt",
        **({"ranking": True} if stage == "dpo" else {}),
        "columns": {"messages": "conversations"}
        | {name: name for name in ("system", "tools", *names)},
    }

    def beside(shards: tuple[str, ...]) -> dict[str, bytes]:
        told = {NAME: {"file_name": shards[0], **entry}}
        return {"dataset_info.json": canonical_json(told)}

    return Form(
        name="llamafactory",
        arguments="dict",
        columns=columns,
        guide=_GUIDE.replace("STAGE", stage).replace("ALSO\n", also),
        unsaid=losing,
        layout="one_shard",
        beside=beside,
        **more,
    )


_GUIDE = """```yaml
# llamafactory-cli train this.yaml
stage: STAGE
dataset_dir: FOLDER   # holds dataset_info.json
dataset: synth
cutoff_len: 32768      # the default, 2048 tokens, cuts long trajectories without a word
ALSO
```

Its chat templates are its own: compare what they render with what the model was served. `template: qwen3` writes an empty thinking block,
which carries loss, before every turn without a thought; `qwen3_nothink` writes none.
"""


def _lost_of_chat(row: Any) -> tuple[str, ...]:
    return lost([message for message in row.messages if message["role"] != "system"])


_CHAT = _columns(up_to_last_loss, TRAINED)
SFT = MEMORY = _form(
    _CHAT,
    _lost_of_chat,
    per_turn=_form(
        _CHAT,
        _lost_of_chat,
        also="mask_history: true     # loss on the last message of a row alone\n",
        masks=True,
    ),
)
DPO = _form(
    _columns(
        lambda row: row.prompt,
        Column("chosen", _SAID, lambda row: _answer(row.answers[0])),
        Column("rejected", _SAID, lambda row: _answer(row.answers[1])),
        *taken("string", "label", "pair_id", "family"),
    ),
    lambda row: (EVIDENCE, *lost([*row.prompt, *row.answers])),
    stage="dpo",
    names=("chosen", "rejected"),
)
KTO = _form(
    _columns(
        lambda row: row.prompt,
        Column("kto_tag", "bool", lambda row: row.label.desirable),
        *taken("float64", "label", "q"),
        *taken("int64", "label", "n"),
        answers=lambda row: [*row.answers],
    ),
    lambda row: ("what a label stands on, but for q and n", *lost([*row.prompt, *row.answers])),
    stage="kto",
    names=("kto_tag",),
)
