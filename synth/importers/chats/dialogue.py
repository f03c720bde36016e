"""A list of messages of any dialect as one conversation."""

import json
import re
from collections.abc import Sequence
from typing import Any

from synth.importers.actions.reading import read_actions
from synth.importers.actions.transcripts import INLINE_THOUGHT
from synth.importers.chats.blocks import said
from synth.importers.chats.envelopes import unwrapped
from synth.importers.chats.said import Said
from synth.importers.chats.tool_parts import as_text
from synth.importers.chats.words import PARTS
from synth.importers.contexts.compaction import ALL, COMPACTION
from synth.importers.conversation import ConversationBuilder, joined
from synth.importers.frameworks.ui_messages import in_steps
from synth.importers.hosted.in_turns import in_turns
from synth.importers.records import Object

_UNOPENED = re.compile(
    r"\A(?P<thought>(?:(?!<think>).)*?)</think>(?=[ \t]*(?:\n|<|\Z))\s*", re.DOTALL
)
"""A thought that the prompt has opened, as templates of reasoning models do."""
_RESPONSE = re.compile(r"<tool_response>\s*(?P<answer>.*?)\s*</tool_response>", re.DOTALL)
_BETWEEN = "\n</tool_response>\n<tool_response>\n"
LOSS = {"weight": "zero_weight", "training": "not_trained"}
"""Keys of an answer that say whether it carries loss (OpenAI's fine-tuning, Axolotl), and the mask
of those that do not.
"""
_FLAGS = {"train": False, "trainable": False, "loss": False, "mask": True, "masked": True}
"""Further keys that say so with true or false (Axolotl, ms-swift, AgentTuning, torchtune, Nebius),
and which of them is no loss; of other values nothing is made, since these names mean much else.
"""


def dialogue(
    messages: Sequence[Any], system: Any = None, *, actions: bool = True
) -> ConversationBuilder:
    """The messages in a builder, `system` before them where they have no system prompt themselves;
    `actions`: those that stand in texts become calls. Raises `ValueError`, with a message's index.
    """
    chat = ConversationBuilder()
    read = [one for index, whole in enumerate(messages) for one in _read(index, whole)]
    if system and not (read and read[0][2].role == "system"):
        chat.say("system", as_text(_without_silent(system)))

    known: set[Any] = set()
    for index, message, one in read:
        if one.called and _goes_on(chat, message | {"at": index}):
            chat.messages[-1]["tool_calls"] += one.calls
        elif one.role == "assistant":
            _answered(chat, one, message | {"at": index})
        else:
            _heard(chat, one, message, known)
        known |= {call["id"] for call in one.calls if call["id"]}

    if actions:
        read_actions(chat.messages)
    return chat


def _read(index: int, whole: Any) -> list[tuple[int, Object, Said]]:
    """The messages that a message stands for, as what they say, with its index."""
    if not isinstance(whole, dict):
        raise ValueError(f"message {index} is {type(whole).__name__}, no object")
    try:
        turns = (turn for step in in_steps(whole) for turn in in_turns(step, unwrapped(step)))
        return [(index, message, said(message)) for message in turns]
    except ValueError as error:
        raise ValueError(f"message {index}: {error}") from error


def _without_silent(system: Any) -> Any:
    """A system prompt without the blocks that say nothing, such as marks of a cache."""
    if not isinstance(system, list):
        return system
    return [
        one
        for one in system
        if not (isinstance(one, dict) and len(one) == 1 and PARTS.get(next(iter(one))) == "silent")
    ]


def _answered(chat: ConversationBuilder, one: Said, message: Object) -> None:
    """Adds an answer of the model. An inline thought becomes one; the text as it stood is kept."""
    text, thought, raw = one.text, joined(*one.thoughts), list(one.unread)
    inline = INLINE_THOUGHT.match(text or "") or _unopened(text or "")
    written: Any = raw or None

    if inline is not None and thought is None:
        thought = inline["thought"].strip("\n") or None
        written = text if not raw else [*raw, {"type": "text", "text": text}]
        text = (text or "")[inline.end() :] or None

    if one.answers and not (one.texts or one.calls or one.thoughts):  # of calls before it
        _results(chat, one)
        return

    about: Object = {"mask": _unweighted(message) or one.mask, "raw": written}
    chat.answer(text, thought=thought, calls=one.calls, **about)
    if one.name is not None:
        chat.messages[-1]["name"] = one.name

    _results(chat, one)


def _unopened(text: str) -> re.Match[str] | None:
    """The thought that the prompt has opened; none where its end stands in a fence: it is shown."""
    found = _UNOPENED.match(text)
    return found if found and found["thought"].count("```") % 2 == 0 else None


def _results(chat: ConversationBuilder, one: Said) -> None:
    for answer in one.answers:
        chat.result(answer.content, answer.call_id, name=answer.name, error=answer.error)


def _goes_on(chat: ConversationBuilder, message: Object) -> bool:
    """Whether an entry of calls belongs to the answer before it: nothing was said in between, and
    both are trained on alike.
    """
    last: Object = chat.messages[-1] if chat.messages else {"role": None}
    if last["role"] != "assistant":
        return False
    mask = _unweighted(message)
    return mask is None or mask == last["note"].get("mask")


def _unweighted(message: Object) -> str | None:
    """The mask of an answer without loss. Raises `ValueError` where it says neither yes nor no."""
    found = None
    for key, mask in LOSS.items():
        weight = message.get(key)
        if weight not in (None, 0, 1):
            raise ValueError(f"message {message['at']}: {key} {weight!r} is neither 0 nor 1")
        if weight == 0:
            found = found or mask

    untrained = any(message.get(key) is without for key, without in _FLAGS.items())
    return found or (LOSS["training"] if untrained else None)


def _heard(chat: ConversationBuilder, one: Said, message: Object, known: set[Any]) -> None:
    """Adds what was said to the model: answers of tools before the words beside them."""
    for answer in one.answers:
        call_id = answer.call_id
        if call_id is None and message.get("id") in known:  # some name the call by the answer's id
            call_id = message["id"]
        for content in _unpacked(answer.content):
            named = call_id or _named(content)
            chat.result(content, named, name=answer.name, error=answer.error)

    if one.text is None and one.answers:
        return
    if one.role == "user" and _in_responses(one.text):  # a template's role for answers of tools
        for content in _unpacked(one.text or ""):
            chat.result(content, _named(content), name=one.name)
        return
    if one.role == "environment":
        chat.harness(one.text)
        if message.get(COMPACTION) == ALL:
            chat.messages[-1][COMPACTION] = ALL
    else:
        more = {} if one.name is None else {"name": one.name}
        chat.say(one.role, one.text, **more)


def _in_responses(text: str | None) -> bool:
    """Whether a text is answers of tools in their tags, and nothing else."""
    told = text or ""
    return "</tool_response>" in told and not _RESPONSE.sub("", told).strip()


def _unpacked(content: str) -> list[str]:
    """The answers that stand in tags within one message (Hermes), or with these between them
    (LLaMA-Factory); the content itself, else.
    """
    if _BETWEEN in content and not content.lstrip().startswith("<tool_response>"):
        return content.split(_BETWEEN)
    found = [match["answer"] for match in _RESPONSE.finditer(content)]
    return found if found and not _RESPONSE.sub("", content).strip() else [content]


def _named(content: str) -> str | None:
    """The call that an answer in Hermes' form names."""
    if not content.startswith("{") or "tool_call_id" not in content:
        return None
    try:
        named = json.loads(content).get("tool_call_id")
    except (ValueError, RecursionError):
        return None
    return named if isinstance(named, str) and named else None
