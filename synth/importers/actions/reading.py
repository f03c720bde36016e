"""Messages whose calls stand in their text, read again with the calls as calls.

The text as the model wrote it stays the turn's `raw`; what answered a call becomes the answer of a
tool, to the byte. A tag is enough for a call. An action by convention needs an answer that is shaped
as one of a tool's, here or, in the same convention, earlier in the chat.
"""

import json
import re
from collections.abc import Callable, Sequence

from synth.importers.actions.markup import Written, in_tags
from synth.importers.actions.written import by_convention
from synth.importers.conversation import tool_call
from synth.importers.records import WORDS, Object
from synth.schemas import ENVIRONMENT_NAME

_SHAPES = WORDS["actions"]["observations"]
OBSERVATION = re.compile(rf"\A\s*(?:{'|'.join(_SHAPES)})", re.IGNORECASE)
"""How what a harness wrote in the user's role begins, where it is the answer of a tool."""
_REPLIES = frozenset(WORDS["actions"]["replies"].split())
"""Tools that are words to the user."""
Read = Callable[[str], Written | None]


def read_actions(messages: Sequence[Object], read: Read | None = None) -> int:
    """Takes the calls out of the texts of a builder's messages, in place, and says how many.

    `read` takes a text apart where the format itself says how its agents act: what comes next in
    the user's role is then the answer, whatever its shape.
    """
    trusted: set[str] = set()
    count = 0

    for at, message in enumerate(messages):
        text = message["content"]
        if message["role"] != "assistant" or message.get("tool_calls") or not text:
            continue

        following = messages[at + 1] if at + 1 < len(messages) else None
        written = read(text) if read is not None else in_tags(text)
        if written is None and read is None:
            written = by_convention(text)
            if written is not None and not (_answers(following) or written.kind in trusted):
                written = None
        if written is None:
            continue

        if _answers(following):
            trusted.add(written.kind)
        count += len(written.calls)
        _act(message, written, at)
        _answered(message, messages[at + 1 :], sure=read is not None)

    return count


def _answers(message: Object | None) -> bool:
    """Whether a message is what a tool gave back, by its role or by how it begins."""
    if message is None:
        return False
    if message["role"] in ("tool", "function"):
        return True
    return message["role"] == "user" and OBSERVATION.match(message["content"] or "") is not None


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


def _answered(message: Object, following: Sequence[Object], *, sure: bool) -> None:
    """Makes the messages that answer the calls answers of tools, by their order."""
    calls = [call["id"] for call in message.get("tool_calls") or ()]
    for one in following:
        if not calls or one["role"] == "assistant":
            return
        if one["role"] in ("tool", "function"):
            one["tool_call_id"] = one.get("tool_call_id") or calls.pop(0)
        elif _answers(one) or (sure and one["role"] == "user"):
            one["role"] = "tool"
            one["tool_call_id"] = calls.pop(0)
            if one.get("name") == ENVIRONMENT_NAME:
                del one["name"]
        else:
            return
