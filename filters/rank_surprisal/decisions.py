"""Which tokens of the assistant's turns are decisions: neither copied from what stands before them,
nor scaffolding of a tool call.

What is copied and what the template writes hardly surprises a student, and there is the more of it
the longer a trajectory is, so that the ratio over all tokens may stand for length (rigor.md 10.1).
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from synth.models.broken_calls import broken_calls_as_text
from synth.schemas import Message, Scored

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_SPACE = re.compile(r"\s+")
Span = tuple[int, int]


def copied(scored: Scored, span: int) -> list[bool]:
    """Of each scored token: whether it lies in `span` or more tokens of its turn that stand, in
    this order, wholly before them.
    """
    chat, places, turns = scored.chat, scored.places, scored.turn_of_token

    ends: dict[tuple[int, ...], int] = {}
    """Where a run of `span` tokens first ends: what ends later is no source of it."""
    for start in range(len(chat) - span + 1):
        ends.setdefault(chat[start : start + span], start + span)

    # a stretch: scored tokens of one turn that follow one another
    marked = [False] * len(chat)
    stretches = groupby(range(len(places)), key=lambda at: (turns[at], places[at] - at))

    for stretch in (list(found) for _, found in stretches):
        for start in range(places[stretch[0]], places[stretch[-1]] - span + 2):
            if ends[chat[start : start + span]] <= start:
                marked[start : start + span] = [True] * span

    return [marked[place] for place in places]


def scaffolding(scored: Scored, messages: Sequence[Message]) -> list[bool] | None:
    """Of each scored token: whether it is what the template puts around a call; None where a call
    is not found in its turn's text.

    In a turn with calls that is all but the text, the thought, the tools' names and the values of
    the arguments: tags, braces, quotes, the arguments' names. Turns without calls have none.
    """
    # calls that are no JSON stand in the text as they were written, and are text here too
    said = [message for message in broken_calls_as_text(messages) if message["role"] == "assistant"]
    found = [False] * len(scored.tokens)

    for turn, message in enumerate(said):
        tokens = [i for i, of in enumerate(scored.turn_of_token) if of == turn]
        if not message.get("tool_calls") or not tokens:
            continue

        bounds, text = _bounds([scored.texts[i] for i in tokens])

        own = _chosen(text, message)
        if own is None:
            return None

        # a token without any text of its own belongs to what stands at its place
        for i, (first, last) in zip(tokens, bounds, strict=True):
            found[i] = not any(first < stop and start < max(last, first + 1) for start, stop in own)

    return found


def _bounds(texts: Sequence[str]) -> tuple[list[Span], str]:
    """Where each token's text lies in the turn's, compared by form: without white space, and with
    runs beyond ASCII as one sign.

    A character that several tokens share is decoded as U+FFFD in each of them; the run that it
    stands in is the same run.
    """
    bounds, whole = [], ""
    for shown in map(_form, texts):
        first = len(whole)
        if whole.endswith("\0") and shown.startswith("\0"):
            first, shown = first - 1, shown[1:]

        whole += shown
        bounds.append((first, len(whole)))

    return bounds, whole


def _form(text: str) -> str:
    """A text as it is compared: templates set white space, and tokenizers split characters."""
    return _NOT_ASCII.sub("\0", _SPACE.sub("", text))


def _chosen(text: str, message: Message) -> list[Span] | None:
    """The stretches of a turn's text that the agent chose; None where one of them is not there.

    In the order that templates write them in: thought, text, and of each call the name and then the
    values of its arguments, each behind the one before.
    """
    own: list[Span] = [(0, 0)]

    def take(*spellings: str, after: str = "") -> bool:
        """The first of these behind what was taken last, and behind a name if that is there."""
        name = _found(text, [_form(after)], own[-1][1]) or own[-1]

        place = _found(text, [_form(one) for one in spellings], name[1])
        own.extend([] if place is None else [place])
        return place is not None

    thought, content = message.get("reasoning_content"), message.get("content")
    if thought:
        take(thought)  # a template may drop it

    if content and not take(content):
        return None

    for call in message["tool_calls"]:
        arguments = _leaves("", json.loads(call["function"]["arguments"]))
        if not take(call["function"]["name"]):
            return None
        if not all(take(*_spellings(value), after=name) for name, value in arguments):
            return None

    return own


def _spellings(value: Any) -> list[str]:
    """A value as templates may write it: as JSON, escaped or not, without the quotes of a text, or
    as Python prints it.

    Of several that stand in a text the first place counts, and there the shortest.
    """
    if isinstance(value, str):
        return [value, json.dumps(value, ensure_ascii=False)[1:-1], json.dumps(value)[1:-1]]
    return [json.dumps(value), str(value)]


def _found(text: str, spellings: Sequence[str], at: int) -> Span | None:
    """Where the first of some spellings stands from a place on, None where none does."""
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
