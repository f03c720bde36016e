"""Answers that hold what tools gave back, as LangChain's scratchpad and Search-R1 log a whole run
in one text, as the messages that they stand for.

Nobody learns from such a text: the loss would be on the tool's words.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from synth.importers.records import WORDS, Object

INLINE_THOUGHT = re.compile(r"\A\s*<(think|thinking)>(?P<thought>.*?)</\1>\s*", re.DOTALL)
"""A thought with which an answer begins."""
_BLOCKS = WORDS["actions"]["blocks"]
_OBSERVED = re.compile(
    r"(?:^[ \t]*(?:\*\*)?Observations?[ \t]*\d*[ \t]*:.*?"
    r"(?=^[ \t]*(?:\*\*)?(?:Thoughts?|Think|Act|Action|Final[ _]Answer|Answer)[ \t]*\d*[ \t]*:|\Z)"
    rf"|<(?P<tag>{'|'.join(_BLOCKS.split())})>.*?</(?P=tag)>)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_ACTS = re.compile(
    r"^[ \t]*(?:\*\*)?Act(?:ion)?(?:[ \t]*\d+)?[ \t]*:", re.MULTILINE | re.IGNORECASE
)
_BEGINS = re.compile(
    r"\s*(?:\*\*)?(?:(?P<thought>Thoughts?|Think)|Act|Action|Question)[ \t]*\d*[ \t]*:",
    re.IGNORECASE,
)
_MOST = 500
"""Elements of what tools gave back in one text, of which each is looked at."""
_TAGGED = re.compile(r"(?:</[\w.-]+>|```)\s*\Z")


def taken_apart(
    messages: Sequence[Object], answers: Callable[[Sequence[Object]], bool]
) -> Iterator[Object]:
    """The messages of a builder, with answers that hold an act and what answered it as several.

    Where a tool `answers` behind such a text, the model made up what stands in it: it stays whole.
    """
    for at, message in enumerate(messages):
        alone = message["role"] == "assistant" and not message.get("tool_calls")
        if alone and message["content"] and not answers(messages[at + 1 : at + 2]):
            yield from _parts(message, is_last=at + 1 == len(messages))
        else:
            yield message


def _parts(message: Object, *, is_last: bool) -> Iterator[Object]:
    text, at, first = message["content"], 0, True
    # what is told to a person begins otherwise; or has acts without thoughts, and is answered
    begun = _BEGINS.match(text)
    begins = begun is not None and (is_last or begun["thought"] is not None)
    opened = sum(text.count(f"<{tag}>") for tag in _BLOCKS.split())
    for found in _OBSERVED.finditer(text) if opened < _MOST else ():
        before = text[at : found.start()]
        acts = _TAGGED.search(before) if found["tag"] else begins and _ACTS.search(before)
        if not acts:
            continue
        yield _part(message, before, first=first)
        yield {"note": {}, "role": "user", "content": found[0].rstrip("\n")}
        at, first = found.end(), False

    if first:
        yield message
    elif text[at:].strip():
        yield _part(message, text[at:], first=False)


def _part(message: Object, text: str, *, first: bool) -> Object:
    """A stretch of an answer; its thought and what is kept of it stand with the first one."""
    text = text.strip("\n")
    if first:
        return message | {"content": text, "note": dict(message["note"])}
    note = {"mask": message["note"].get("mask")}
    inline = INLINE_THOUGHT.match(text)
    if inline is None:
        return message | {"content": text, "note": note, "reasoning_content": None}
    thought, said = inline["thought"].strip("\n") or None, text[inline.end() :] or None
    return message | {"content": said, "note": note | {"raw": text}, "reasoning_content": thought}
