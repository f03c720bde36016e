"""The forms that LLaMA-Factory reads: `sharegpt` conversations that alternate, calls as JSON text,
tool answers of a turn merged; of preferences the conversation, then one answer or two.

Its loaders leave a row that does not alternate out with a warning only, so such rows are refused
here. Read against 0.9.5.

All rows lie in one file, since `dataset_info.json`, by which its trainer finds them, names one.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby, pairwise, takewhile
from typing import Any

from synth.exporters.evidence_class import evidence_of
from synth.exporters.exact_json import plain_text
from synth.exporters.facts import AGENTS, EVIDENCE, SPEAKERS
from synth.exporters.form import Form, NotRepresentableError, Value, form, table
from synth.exporters.kinds.sft_rows import up_to_last_loss
from synth.schemas import ENVIRONMENT_NAME, Message, canonical_json

BETWEEN_RESULTS = "\n</tool_response>\n<tool_response>\n"
"""With which it joins the tool answers of one turn itself."""
_MARKS = ("<tool_call>", "</tool_call>", "<think>", "</think>")
_ROLES = {"user": "human", "tool": "observation"}
_NUMBER = "{{idx}}"
"""It puts the number of the turn in its place, in what users say."""
_GREETED = "You have already greeted the user with:"
NAME = "synth"
"""Of the data set in `dataset_info.json`."""


def _opened(messages: Sequence[Message]) -> tuple[list[str], Sequence[Message]]:
    """What the assistant says before any user does, where it calls nothing and a user speaks next,
    and the messages behind it: its conversations have no place for that.
    """
    behind = messages[1:] if _is_system(messages) else messages
    said = [
        *takewhile(lambda one: one["role"] == "assistant" and not one.get("tool_calls"), behind)
    ]
    rest = behind[len(said) :]
    if not said or not rest or rest[0]["role"] != "user":
        return [], behind
    return [one["content"] for one in said if one["content"]], rest


def _alternating(messages: Sequence[Message]) -> list[dict[str, str]]:
    """The conversation behind the system prompt: `{"from": ..., "value": ...}`, users or tools
    first, then in turns with the assistant.

    Raises `NotRepresentableError` for what has no place in it.
    """
    conversation: list[dict[str, str]] = []
    _, behind = _opened(messages)

    # messages of one role in a row are one of the conversation
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

    # its loader drops such rows with no more than a warning
    for at, one in enumerate(conversation):
        if (one["from"] in ("gpt", "function_call")) is not (at % 2 == 1):
            raise NotRepresentableError("no_alternation")

    return conversation


def _is_system(messages: Sequence[Message]) -> bool:
    return bool(messages) and messages[0]["role"] == "system"


def _system(messages: Sequence[Message]) -> str:
    """The text of the system prompt, which stands in a column of its own, with the greeting."""
    prompt = messages[0]["content"] if _is_system(messages) else ""
    greeting, _ = _opened(messages)
    told = [f"{_GREETED}\n{text}" for text in ["\n".join(greeting)] if text]
    return "\n\n".join(filter(None, [prompt, *told]))


def _answer(message: Message) -> dict[str, str]:
    """An assistant's message: text, or its calls as JSON; thoughts inline."""
    # thoughts have no key of their own here
    content, thought = message["content"] or "", message.get("reasoning_content") or ""
    inline = f"<think>\n{thought}\n</think>\n\n" if thought else ""
    # it knows no ids of calls: answers belong to them by their order
    calls = [
        {name: call["function"][name] for name in ("name", "arguments")}
        for call in message.get("tool_calls") or ()
    ]

    if not calls:
        return {"from": "gpt", "value": inline + content}
    if any(isinstance(call["arguments"], str) for call in calls):
        raise NotRepresentableError("broken_arguments")

    # its converter looks for these words to tell text from calls
    written = plain_text(calls[0] if len(calls) == 1 else calls)
    if any(mark in text for mark in _MARKS for text in (written, content, thought)):
        raise NotRepresentableError("marks_of_calls_in_the_text")

    if content:
        written = f"{content}\n<tool_call>{written}</tool_call>"

    return {"from": "function_call", "value": inline + written}


def _tools(row: Any) -> str:
    """The functions alone, as JSON text, "" where there are none."""
    tools = row.trajectory.tools
    return plain_text([tool.get("function", tool) for tool in tools]) if tools else ""


def lost(messages: Sequence[Message]) -> tuple[str, ...]:
    """What is lost of messages, each by one name.

    Those that a fact of `synth.exporters.facts` names are called as it is.
    """
    # each name stands for one way in which a row says less here than it does elsewhere
    names = [(one["role"], one.get("name")) for one in messages]
    calls = [(one.get("tool_calls") or (), one["content"]) for one in messages]
    found = {
        "text beside calls is read only by templates with <tool_call> words, from 0.9.5 on": any(
            made and content for made, content in calls
        ),
        "ids of parallel calls: answers are joined in their order": any(
            len(made) > 1 for made, _ in calls
        ),
        "a greeting, which stands in the system prompt": bool(_opened(messages)[0]),
        "messages of users in a row are joined by an empty line": any(
            one == other == "user" for (one, _), (other, _) in pairwise(names)
        ),
        "what the world itself says stands as the user's": any(
            name == ENVIRONMENT_NAME for _, name in names
        ),
        AGENTS: any(name and role == "assistant" for role, name in names),
        SPEAKERS: any(
            name not in (None, ENVIRONMENT_NAME) and role == "user" for role, name in names
        ),
    }

    return tuple(name for name, holds in found.items() if holds)


def _lost_of_chat(row: Any) -> tuple[str, ...]:
    """Of a chat; the system prompt has its column, and loses nothing."""
    return lost([message for message in row.messages if message["role"] != "system"])


def _said_first(messages: Sequence[Message]) -> int:
    """How many turns of the assistant stand in the system prompt."""
    return len(messages) - _is_system(messages) - len(_opened(messages)[1])


def _before(row: Any) -> list[Message]:
    """The messages up to the last one that carries loss. Raises `NotRepresentableError` where what
    the assistant says first carries loss, and would stand in the system prompt.
    """
    messages = up_to_last_loss(row)
    if any(turn < _said_first(messages) for turn in row.trained):
        raise NotRepresentableError("no_alternation")
    return messages


def _up_to_first_without_loss(row: Any) -> list[Message]:
    """The messages up to the last one that carries loss. Raises `NotRepresentableError` where a
    turn without loss stands before that.
    """
    messages = _before(row)
    if any(turn >= _said_first(messages) for turn in row.masked):
        raise NotRepresentableError("behind_a_turn_without_loss")
    return messages


def _lost_of_turns(evidence: tuple[str, ...], row: Any) -> tuple[str, ...]:
    """Of labelled turns; `evidence`: of what their labels stand on, which has few columns here."""
    return (*evidence, *lost([*row.prompt, *row.answers]))


def _form(
    kind: str,
    before: Callable[[Any], list[Message]],
    *,
    joined: bool = False,
    also: str = "",
    **more: Any,
) -> Form:
    """The form of a kind, with the conversation of what stands before the answers.

    `joined`: with the answers behind it; `also`: a further line of the guide.
    """
    told = table("llamafactory")

    def conversation(row: Any) -> list[dict[str, str]]:
        """What the column holds."""
        return [*_alternating(before(row)), *map(_answer, row.answers if joined else ())]

    # columns of all kinds; a table names those that it has
    values: dict[str, Value] = {
        "conversations": conversation,
        "chosen": lambda row: _answer(row.answers[0]),
        "rejected": lambda row: _answer(row.answers[1]),
        "system": lambda row: _system(before(row)),
        "tools": _tools,
        "evidence": evidence_of,
    }

    # one guide for all: the stage, and a line that rows of one turn need
    guide = told["guide"].replace("STAGE", kind.removesuffix("_observed")).replace("ALSO\n", also)
    settings = told["every_form"]

    return form(
        "llamafactory",
        kind,
        values,
        guide=guide,
        beside=partial(_dataset_info, kind),
        **settings,
        **more,
    )


def _dataset_info(kind: str, shards: Sequence[str]) -> dict[str, bytes]:
    """How its trainer finds the rows, which it knows by the name `synth`."""
    entry = {"file_name": shards[0], **table("llamafactory")["dataset_info"][kind]}
    return {"dataset_info.json": canonical_json({NAME: entry})}


# loss on one message alone is a setting of its trainer, which a column cannot say
_LAST = "mask_history: true     # loss on the last message of a row alone; it holds for all rows\n"
_chat = partial(_form, "sft", _before, loses=_lost_of_chat)
_labelled = partial(_form, before=lambda row: row.prompt)
_begun = partial(_form, "sft", _up_to_first_without_loss, loses=_lost_of_chat, begun=True)
SFT = MEMORY = _chat(cuts={"per_turn": _chat(also=_LAST, masks=True), "context": _begun()})
_BUT_COUNTS = ("what a label stands on, but for q and n",)
DPO = _labelled("dpo", loses=partial(_lost_of_turns, (EVIDENCE,)))
KTO = _labelled("kto", joined=True, loses=partial(_lost_of_turns, _BUT_COUNTS))
# of acts of collected trials, all that the trials say has its columns
DPO_OBSERVED = _labelled("dpo_observed", loses=partial(_lost_of_turns, ()))
KTO_OBSERVED = _labelled("kto_observed", joined=True, loses=partial(_lost_of_turns, ()))
