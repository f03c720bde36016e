"""Messages whose calls stand in their text, read again with the calls as calls.

The text as the model wrote it stays the turn's `raw`; what answered a call becomes the answer of
a tool, to the byte. A tag is enough for a call. An action by convention needs an answer that is
shaped as one of a tool's, here or elsewhere in the chat in the same convention.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from synth.importers.actions.dealt import WRITTEN, dealt
from synth.importers.actions.elements import ELEMENT, is_tool
from synth.importers.actions.markup import Written, in_tags
from synth.importers.actions.transcripts import taken_apart
from synth.importers.actions.written import CODE, by_convention
from synth.importers.conversation import tool_call
from synth.importers.records import WORDS, Object
from synth.schemas import ENVIRONMENT_NAME

_SHAPES = WORDS["actions"]["observations"]
OBSERVATION = re.compile(rf"\A[\s*#]*(?:{'|'.join(_SHAPES)})", re.IGNORECASE)
"""How what a harness wrote in the user's role begins, where it is the answer of a tool."""
ENDING = re.compile(rf"(?:{'|'.join(WORDS['actions']['endings'])})\s*\Z")
"""How such an answer may end."""
_SHOWN = re.compile(rf"\s*(?:{'|'.join(WORDS['actions']['shown'])})", re.IGNORECASE)
"""Those of these beginnings that people write too."""
_REPLIES = frozenset(WORDS["actions"]["replies"])
"""Tools that are words to the user."""
_LAST = frozenset(WORDS["actions"]["last"].split())
"""Tools behind which a user speaks again."""
Read = Callable[[str], Written | None]


def read_actions(messages: list[Object], read: Read | None = None) -> int:
    """Takes the calls out of the texts of a builder's messages, in place, and says how many.

    `read` takes a text apart where the format itself says how its agents act: what the harness says
    next is then the answer, whatever its shape.
    """
    if read is None:
        messages[:] = taken_apart(messages, _answers)
    found = _without_shown(messages, dict(_written(messages, read)))
    found = _without_markup(messages, found)
    sure = {at for at in found if found[at].kind in _TAGGED or read is not None}
    trusted = _trusted(messages, found)
    loops = _is_loop(messages, found)
    count = 0

    for at, written in found.items():
        in_loop = loops and written.kind not in _LOOSE
        if not (at in sure or _convention(written) in trusted or in_loop):
            continue
        count += len(written.calls)
        _act(messages[at], written, at)
        _answered(messages[at], messages[at + 1 :], told=read is not None, loops=loops)

    _unasked(messages)
    if count and read is None:
        messages[:] = dealt(messages)
    return count


def _trusted(messages: Sequence[Object], found: Mapping[int, Written]) -> set[str]:
    """The conventions one of whose acts was answered as a tool answers."""
    behind = ((one, messages[at + 1 : at + 2]) for at, one in found.items())
    return {
        _convention(one)
        for one, told in behind
        if _answers(told) and not (one.kind in _LOOSE and _is_shown(told[0]))
    }


def _convention(written: Written) -> str:
    """How it is written: with a thought before it or without, an act is one."""
    return "react" if written.kind == "thought" else written.kind


def _without_shown(
    messages: Sequence[Object], found: Mapping[int, Written]
) -> Mapping[int, Written]:
    """Without programs in fences, unless each one that something follows was answered as by a tool:
    people are shown programs too, and show what came of them.
    """
    behind = [messages[at + 1 : at + 2] for at, one in found.items() if one.kind == CODE]
    followed = [one for one in behind if one]
    if followed and all(_answers(one) and not _is_shown(one[0]) for one in followed):
        return found
    return {at: one for at, one in found.items() if one.kind != CODE}


def _without_markup(
    messages: Sequence[Object], found: Mapping[int, Written]
) -> Mapping[int, Written]:
    """Without elements that nothing answered and that are no tools of this chat: such are HTML."""
    acts = {at for at, one in found.items() if one.kind == ELEMENT}
    answered = {at for at in acts if _answers(messages[at + 1 : at + 2])}
    tools = {name for at in answered for name, _ in found[at].calls} | _LAST
    return {
        at: one
        for at, one in found.items()
        if at not in acts - answered or all(is_tool(name, tools) for name, _ in one.calls)
    }


def _is_shown(message: Object) -> bool:
    text = message["content"] or ""
    return message["role"] == "user" and _SHOWN.match(text) is not None


def _unasked(messages: Sequence[Object]) -> None:
    """Makes what is shaped as a tool's answer behind an answer without calls the environment's:
    nobody is quoted as having said it.
    """
    for before, one in pairwise(messages):
        unasked = before["role"] == "assistant" and not before.get("tool_calls")
        shaped = OBSERVATION.match(one["content"] or "") is not None and not _is_shown(one)
        if unasked and shaped and one["role"] == "user" and not one.get("name"):
            one["name"] = ENVIRONMENT_NAME


def _written(messages: Sequence[Object], read: Read | None) -> Iterator[tuple[int, Written]]:
    """The texts that hold a call, by their places."""
    for at, message in enumerate(messages):
        text = message["content"]
        if message["role"] == "assistant" and text and not message.get("tool_calls"):
            one = read(text) if read is not None else in_tags(text) or by_convention(text)
            if one is not None:
                yield at, one


def _is_loop(messages: Sequence[Object], found: Mapping[int, Written]) -> bool:
    """Whether the chat is an agent's loop: it acts in nearly every answer from its first act on,
    and each act but the last has one message of the user's role behind it. Thoughts before the acts
    show it sooner.
    """
    acts = [at for at, one in found.items() if one.kind in ("react", "thought")]
    answers = [at for at, one in enumerate(messages) if one["role"] == "assistant"]
    since = [at for at in answers if acts and at >= acts[0]]
    least = 2 if all(found[at].kind == "thought" for at in acts) else _LOOP
    if len(acts) < least or len(acts) < _MOSTLY * len(since):
        return False
    behind = ([one["role"] for one in messages[at + 1 : at + 3]] for at in acts)
    return all(roles in ([], ["user"], ["user", "assistant"]) for roles in behind)


_TAGGED = frozenset({"hermes", "xml", "mistral", "marked"})
_LOOSE = frozenset({ELEMENT, "fence_in_line"})
"""Writings that people are shown too."""
_TAIL = 40
"""Characters in which an ending is looked for."""
_LOOP, _MOSTLY = 3, 0.8
"""Acts, and their share of the answers, from which a chat is an agent's loop."""


def _answers(following: Sequence[Object]) -> bool:
    """Whether the first of the messages is what a tool gave back: by its role, or how it begins."""
    message = following[0] if following else None
    if message is None:
        return False
    if message["role"] in ("tool", "function"):
        return True
    text = message["content"] or ""
    shaped = OBSERVATION.match(text) is not None or ENDING.search(text[-_TAIL:]) is not None
    return message["role"] in ("user", "system") and shaped


def _act(message: Object, written: Written, at: int) -> None:
    """Puts the calls in the place of the words; a reply to the user stays words."""
    note, raw = message["note"], message["content"]
    kept = note.get("raw")
    note["raw"] = raw if kept is None else {"text": raw, "kept": kept}
    name, given = written.calls[0]
    if len(written.calls) == 1 and name in _REPLIES:
        values = given.values() if isinstance(given, dict) else [given]
        said = next((one for one in values if isinstance(one, str)), None)
        if said is not None:
            message["content"] = said
            if written.around and not message.get("reasoning_content"):
                message["reasoning_content"] = written.around
            return

    message["content"] = written.around or None
    message["tool_calls"] = [
        tool_call(f"{WRITTEN}{at}_{place}", name, _arguments(given))
        for place, (name, given) in enumerate(written.calls)
    ]


def _arguments(given: object) -> str:
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def _alone(message: Object, loops: bool) -> bool:
    """Whether what follows an act at once is its answer: in a loop all is; elsewhere what is empty,
    since no person says nothing.
    """
    return message["role"] == "user" and (loops or not (message["content"] or "").strip())


def _answered(message: Object, following: Sequence[Object], *, told: bool, loops: bool) -> None:
    """Makes the messages that answer the calls answers of tools, by their order."""
    made = message.get("tool_calls") or ()
    calls = [call["id"] for call in made]
    ends = {call["function"]["name"].lower() for call in made} <= _LAST
    for place, one in enumerate(following):
        if not calls or one["role"] == "assistant":
            return
        by_harness = told and one.get("name") == ENVIRONMENT_NAME
        if one["role"] in ("tool", "function"):
            one["tool_call_id"] = one.get("tool_call_id") or calls.pop(0)
        elif by_harness or (_alone(one, loops) and not place and not ends) or _answers([one]):
            one["role"] = "tool"
            one["tool_call_id"] = calls.pop(0)
            if one.get("name") == ENVIRONMENT_NAME:
                del one["name"]
        else:
            return
