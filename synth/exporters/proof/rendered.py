"""What of a row stands in its rendering, and what does not.

Templates leave out what their authors did not think of: tools, text beside calls, empty values. A
trainer then learns a conversation that never was.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any


def shared(left: Sequence[Any], right: Sequence[Any]) -> int:
    """The length of what two begin with alike."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(left), len(right)))


def unheard(
    messages: Iterable[Mapping[str, Any]], tools: Iterable[Mapping[str, Any]], text: str, how: str
) -> Iterator[str]:
    """What others than the assistant said, and which tools there are, that a text lacks; `how` says
    so of what was said.
    """
    # white space around a text is the template's affair
    for message in messages:
        if message["role"] != "assistant" and not stands_in(message["content"].strip(), text):
            yield f"what the {message['role']} said {how}"

    for tool in tools:
        if not stands_in(tool.get("function", tool).get("name", ""), text):
            yield "tool schemas are not rendered"


def lost(message: Mapping[str, Any], written: str) -> Iterator[str]:
    """What of an assistant's message its rendering lacks."""
    # some templates print the word for a value that is not there
    if "None" in written and "None" not in json.dumps(message):
        yield "an empty value is rendered as the word None"

    if message["content"] and message["content"].strip() not in written:
        yield "text beside calls is not rendered"

    # every value of the arguments must be there, however the template writes objects
    for call in message.get("tool_calls") or ():
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        if name not in written or not all(stands_in(one, written) for one in scalars(arguments)):
            yield "calls are not rendered"


def scalars(value: Any) -> list[Any]:
    """All that a JSON value holds."""
    if not isinstance(value, dict | list):
        return [value]
    inside = value.values() if isinstance(value, dict) else value
    return [scalar for item in inside for scalar in scalars(item)]


def stands_in(scalar: Any, text: str) -> bool:
    """As text, as JSON or as Python: templates differ in how they write and escape arguments."""
    # templates print Python, JSON, or text with its escapes taken out
    spellings = (str(scalar), json.dumps(scalar, ensure_ascii=False).strip('"'))
    return any(spelling in text for spelling in spellings) or any(
        spelling.replace("\\", "") in text.replace("\\", "") for spelling in spellings
    )
