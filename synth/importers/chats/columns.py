"""Where a record has its chat, its tools and its verdict: under keys that are known, or that the
user has named; or as one text with ChatML's marks, as it is kept for trainers that render nothing.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from synth.importers.actions.markup import json_or_python
from synth.importers.chats.envelopes import speaker_of, unwrapped
from synth.importers.chats.words import COLUMNS, NAMES
from synth.importers.records import Object, inside, is_object

_PRINTED = ("[{'", "{'")
_LOOKED_AT = 8
"""Messages of a list that are looked at: real ones are chats from the start."""

_CHATML = re.compile(
    r"<\|im_start\|>[ \t]*(?P<role>[A-Za-z_]+)[^\n]*\n(?P<content>.*?)"
    r"(?:<\|im_end\|>|(?=<\|im_start\|>)|\Z)",
    re.DOTALL,
)
_MARK = "<|im_start|>"
_ANSWER, _ANSWERED = "<tool_response>", "</tool_response>"


def column(value: Object, name: str, mapped: Mapping[str, str]) -> Any:
    """What a record has under a column's keys; under the mapped one, a path, where there is one."""
    if name in mapped:
        return inside(value, mapped[name])
    found = (value[key] if key in value else inside(value, key) for key in COLUMNS[name])
    return next((one for one in found if one is not None), None)


def chat_of(value: Any, mapped: Mapping[str, str] | None = None) -> list[Any] | None:
    """The messages of a record, of which one may be JSON text; None where it holds none."""
    if isinstance(value, list):
        return value if is_chat(value) else None
    if not isinstance(value, dict):
        return None
    if mapped and "messages" in mapped:
        found = parsed(inside(value, mapped["messages"]))
        return found if isinstance(found, list) else None

    tried = (parsed(value.get(key)) for key in COLUMNS["messages"])
    found = next((one for one in tried if is_chat(one)), None)
    return _chatml_messages(value.get("text")) if found is None else found


def _chatml_messages(text: Any) -> list[dict[str, str]] | None:
    """The messages of a text that begins with one; None for any other."""
    if not isinstance(text, str) or not text.lstrip().startswith(_MARK):
        return None
    return [
        _chatml_message(one["role"], one["content"].strip("\n")) for one in _CHATML.finditer(text)
    ]


def _chatml_message(role: str, content: str) -> dict[str, str]:
    """Templates render answers of tools in the user's role, between tags."""
    answers = role == "user" and content.startswith(_ANSWER) and content.endswith(_ANSWERED)
    return {"role": "tool" if answers else role, "content": content}


def messages_of(value: Any, mapped: Mapping[str, str]) -> list[Any]:
    """The messages of a record of a format that is known already. Raises `ValueError` where it has
    none, with the keys that it has.
    """
    found = chat_of(value, mapped)
    if found is None:
        found = parsed(column(value, "messages", mapped)) if isinstance(value, dict) else value
    if isinstance(found, list):
        return found

    keys = (
        ", ".join(map(repr, list(value)[:8])) if isinstance(value, dict) else type(value).__name__
    )
    looked = mapped.get("messages", "messages, conversations, trajectory, ...")
    held = value.items() if isinstance(value, dict) else ()
    near = next((str(key) for key, one in held if is_chat(parsed(one))), None)
    hint = "" if near is None else f"; a chat stands under {near!r}: --column messages={near}"
    raise ValueError(f"no list of messages under {looked}: the record has {keys}{hint}")


def is_chat(value: Any) -> bool:
    """Whether a value is a list of messages: each has a known role and something said or called."""
    if not isinstance(value, list) or not value:
        return False
    return all(_is_message(one) for one in value[:_LOOKED_AT])


def _is_message(value: Any) -> bool:
    try:
        message = unwrapped(value)
        return isinstance(message, dict) and speaker_of(message) is not None
    except RecursionError:
        return False


def as_compared(value: Any) -> Any:
    """A record with the names of comparisons, where OpenAI's preference tuning names them."""
    given = value.get("input") if isinstance(value, dict) else None
    sides = ("preferred_output", "non_preferred_output")
    if not isinstance(given, dict) or any(side not in value for side in sides):
        return value
    shared = {key: one for key, one in given.items() if key != "messages"}
    chosen, rejected = (value[side] for side in sides)
    return shared | {"prompt": given.get("messages"), "chosen": chosen, "rejected": rejected}


def answer_of(value: dict[str, Any]) -> Any:
    """What a record says in answer to its `prompt`: its `completion`, or a `response` of words or
    messages, of which it may be one; None where it has none.
    """
    completion, response = value.get("completion"), value.get("response")
    said = opened(response)
    words = isinstance(response, str) or is_chat(said) or speaker_of(said) == "assistant"
    return response if completion is None and words else completion


def parsed(value: Any) -> Any:
    """A value, or what its text says where that is JSON, or a list of objects as Python prints it
    (pandas does in a CSV): of a list, each of its texts.
    """
    if isinstance(value, str):
        read = json_or_python if value.startswith(_PRINTED) else json.loads
        try:
            return read(value)
        except (ValueError, RecursionError):
            return value
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return [parsed(one) for one in value]
    return value


def opened(value: Any) -> Any:
    """What a text says where that is messages, a request or a response; the text itself else: an
    answer may be JSON, and is words then.
    """
    if not isinstance(value, str):
        return parsed(value)
    found = parsed(value)
    return found if _is_envelope(found) else value


_HELD: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("messages", "choices", "candidates", "generations", "contents"), list),
    **dict.fromkeys(("message", "kwargs", "body"), dict),
    "content": list,
    "role": str,
}
"""Keys by one of which a request, a response or a message is known, and what they hold there."""


def _is_envelope(found: Any) -> bool:
    if isinstance(found, list):
        return is_chat(found) or (bool(found) and all(is_object(one, type=str) for one in found))
    if not isinstance(found, dict):
        return False
    if found.get("object") == "response" or {"model", "input"} <= found.keys():
        return True
    return any(isinstance(found.get(key), held) for key, held in _HELD.items())


def names_of(value: Any) -> tuple[str, ...]:
    """What a record calls itself, under any of the keys that name one, also within `info`,
    `metadata`, `task` and the like, and in such an object within these.
    """
    found: dict[str, None] = {}
    for holder in _holders(value, _DEEPEST):
        for key in NAMES:
            name = holder.get(key)
            if isinstance(name, str | int) and not isinstance(name, bool) and name != "":
                found[str(name)] = None

    return tuple(found)


_HOLDERS = (
    *("info", "metadata", "extra_info", "meta", "task", "instance", "sample", "run", "trace"),
    *("trajectory", "episode", "attributes"),
)
_DEEPEST = 2


def _holders(value: Any, depth: int) -> Iterator[Object]:
    """The objects in which names are looked for, those that lie less deep first."""
    level = [value] if isinstance(value, dict) else []
    while level and depth >= 0:
        yield from level
        inner = (one.get(key) for one in level for key in _HOLDERS)
        level, depth = [one for one in inner if isinstance(one, dict)], depth - 1
