"""Which tokens of the assistant's turns are decisions: neither copied from what stands before them,
nor scaffolding of a tool call.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from synth.models.broken_calls import broken_calls_as_text
from synth.schemas.model import Message, Scored

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_SPACE = re.compile(r"\s+")


def copied(scored: Scored, span: int) -> list[bool]:
    """Of each scored token: whether it lies in `span` or more tokens of its turn that stand, in
    this order, wholly before them.
    """
    chat, size = scored.chat, len(scored.chat)
    ends: dict[tuple[int, ...], int] = {}
    """Where a run of `span` tokens first ends."""
    for start in range(size - span + 1):
        ends.setdefault(chat[start : start + span], start + span)
    marked = [False] * size
    for first, last in _stretches(scored):
        for start in range(first, last - span + 1):
            if ends[chat[start : start + span]] <= start:
                marked[start : start + span] = [True] * span
    return [marked[place] for place in scored.places]


def _stretches(scored: Scored) -> Iterator[tuple[int, int]]:
    """The scored tokens of each turn, as places in the chat from first up to last."""
    at = 0
    while at < len(scored.places):
        first = at
        while (
            at + 1 < len(scored.places)
            and scored.turn_of_token[at + 1] == scored.turn_of_token[first]
            and scored.places[at + 1] == scored.places[at] + 1
        ):
            at += 1
        yield scored.places[first], scored.places[at] + 1
        at += 1


def scaffolding(scored: Scored, messages: Sequence[Message]) -> list[bool] | None:
    """Of each scored token: whether it is what the template puts around a call; None where a call
    is not found in its turn's text.

    In a turn with calls that is all but the text, the thought, the tools' names and the values of
    the arguments: tags, braces, quotes,
    the arguments' names. Turns without calls have none.
    """
    said = [message for message in broken_calls_as_text(messages) if message["role"] == "assistant"]
    found = [False] * len(scored.tokens)
    for turn, message in enumerate(said):
        if not message.get("tool_calls"):
            continue
        tokens = [i for i, of in enumerate(scored.turn_of_token) if of == turn]
        if not tokens:
            continue
        bounds, text = _bounds([scored.texts[i] for i in tokens])
        own = _own(text, message)
        if own is None:
            return None
        for i, (first, last) in zip(tokens, bounds, strict=True):
            found[i] = not any(first < stop and start < max(last, first + 1) for start, stop in own)
    return found


def _bounds(texts: Sequence[str]) -> tuple[list[tuple[int, int]], str]:
    """Where each token's text lies in the turn's, compared by form: without white space, and with
    runs beyond ASCII as one sign.

    A character that several tokens share is decoded as U+FFFD in each of them; the run that it
    stands in is the same run.
    """
    bounds, whole = [], ""
    for text in texts:
        shown = _form(text)
        first = len(whole)
        if whole.endswith("\0") and shown.startswith("\0"):
            first, shown = first - 1, shown[1:]
        whole += shown
        bounds.append((first, len(whole)))
    return bounds, whole


def _form(text: str) -> str:
    return _NOT_ASCII.sub("\0", _SPACE.sub("", text))


def _own(text: str, message: Message) -> list[tuple[int, int]] | None:
    """The stretches of a turn's text that the agent chose; None where one of them is not there."""
    own: list[tuple[int, int]] = []
    at = 0
    for said in (message.get("reasoning_content"), message.get("content")):
        place = _found(text, [_form(said or "")], at)
        if place is None and said is message.get("content"):
            return None
        if said and place is not None:  # a template may drop thoughts
            own.append(place)
            at = place[1]
    for call in message["tool_calls"]:
        name = _found(text, [_form(call["function"]["name"])], at)
        if name is None:
            return None
        own.append(name)
        at = name[1]
        for key, value in _leaves("", json.loads(call["function"]["arguments"])):
            named = _found(text, [_form(key)], at)
            place = _found(text, _spellings(value), at if named is None else named[1])
            if place is None:
                return None
            own.append(place)
            at = place[1]
    return own


def _spellings(value: Any) -> list[str]:
    """A value as templates may write it: as JSON, escaped or not, without the quotes of a text, or
    as Python prints it.
    """
    if isinstance(value, str):
        return [
            _form(value),
            _form(json.dumps(value, ensure_ascii=False)[1:-1]),
            _form(json.dumps(value)[1:-1]),
        ]
    return [_form(json.dumps(value)), _form(str(value))]


def _found(text: str, spellings: Sequence[str], at: int) -> tuple[int, int] | None:
    places = [(text.find(one, at), len(one)) for one in spellings]
    return min(((start, start + size) for start, size in places if start >= 0), default=None)


def _leaves(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The values that hold no others, each with the name that it stands under."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(name, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves("", inner)
    elif value != "":
        yield key, value
