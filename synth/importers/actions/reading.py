"""Messages whose calls stand in their text, read again with the calls as calls.

The text as the model wrote it stays the turn's `raw`; what answered a call becomes the answer of
a tool, to the byte. A tag is enough for a call. An action by convention needs an answer that is shaped
as one of a tool's, here or, in the same convention, earlier in the chat.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from synth.importers.actions.markup import Written, in_tags
from synth.importers.actions.written import by_convention
from synth.importers.conversation import tool_call
from synth.importers.records import WORDS, Object
from synth.schemas import ENVIRONMENT_NAME

_SHAPES = WORDS["actions"]["observations"]
OBSERVATION = re.compile(rf"\A\s*(?:{'|'.join(_SHAPES)})", re.IGNORECASE)
"""How what a harness wrote in the user's role begins, where it is the answer of a tool."""
ENDING = re.compile(rf"(?:{'|'.join(WORDS['actions']['endings'])})\s*\Z")
"""How such an answer may end."""
_REPLIES = frozenset(WORDS["actions"]["replies"].split())
"""Tools that are words to the user."""
Read = Callable[[str], Written | None]


def read_actions(messages: Sequence[Object], read: Read | None = None) -> int:
    """Takes the calls out of the texts of a builder's messages, in place, and says how many.

    `read` takes a text apart where the format itself says how its agents act: what the harness says
    next is then the answer, whatever its shape.
    """
    found = {at: one for at, one in _written(messages, read)}
    sure = {at for at in found if found[at].kind in _TAGGED or read is not None}
    trusted = {one.kind for at, one in found.items() if _answers(messages[at + 1 : at + 2])}
    loops = _is_loop(messages, found)
    count = 0

    for at, written in found.items():
        if not (at in sure or written.kind in trusted or loops):
            continue
        count += len(written.calls)
        _act(messages[at], written, at)
        _answered(messages[at], messages[at + 1 :], told=read is not None, loops=loops)

    return count


def _written(messages: Sequence[Object], read: Read | None) -> Iterator[tuple[int, Written]]:
    """The texts that hold a call, by their places."""
    for at, message in enumerate(messages):
        text = message["content"]
        if message["role"] == "assistant" and text and not message.get("tool_calls"):
            one = read(text) if read is not None else in_tags(text) or by_convention(text)
            if one is not None:
                yield at, one


def _is_loop(messages: Sequence[Object], found: Mapping[int, Written]) -> bool:
    """Whether the chat is an agent's loop: it acts in nearly every answer, and each act but the
    last has one message of the user's role behind it.
    """
    answers = [at for at, one in enumerate(messages) if one["role"] == "assistant"]
    acts = [at for at, one in found.items() if one.kind == "react"]
    if len(acts) < _LOOP or len(acts) < _MOSTLY * len(answers):
        return False
    behind = ([one["role"] for one in messages[at + 1 : at + 3]] for at in acts)
    return all(roles in ([], ["user"], ["user", "assistant"]) for roles in behind)


_TAGGED = frozenset({"hermes", "xml", "mistral"})
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
    return message["role"] == "user" and shaped


def _act(message: Object, written: Written, at: int) -> None:
    """Puts the calls in the place of the words; a reply to the user stays words."""
    note, raw = message["note"], message["content"]
    kept = note.get("raw")
    note["raw"] = raw if kept is None else {"text": raw, "kept": kept}
    name, given = written.calls[0]
    if len(written.calls) == 1 and name in _REPLIES and isinstance(given, dict):
        said = next((one for one in given.values() if isinstance(one, str)), None)
        if said is not None:
            message["content"] = said
            if written.around and not message.get("reasoning_content"):
                message["reasoning_content"] = written.around
            return

    message["content"] = written.around or None
    message["tool_calls"] = [
        tool_call(f"written_{at}_{place}", name, _arguments(given))
        for place, (name, given) in enumerate(written.calls)
    ]


def _arguments(given: object) -> str:
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def _answered(message: Object, following: Sequence[Object], *, told: bool, loops: bool) -> None:
    """Makes the messages that answer the calls answers of tools, by their order."""
    calls = [call["id"] for call in message.get("tool_calls") or ()]
    for place, one in enumerate(following):
        if not calls or one["role"] == "assistant":
            return
        by_harness = told and one.get("name") == ENVIRONMENT_NAME
        if one["role"] in ("tool", "function"):
            one["tool_call_id"] = one.get("tool_call_id") or calls.pop(0)
        elif by_harness or (loops and not place) or _answers([one]):
            one["role"] = "tool"
            one["tool_call_id"] = calls.pop(0)
            if one.get("name") == ENVIRONMENT_NAME:
                del one["name"]
        else:
            return
