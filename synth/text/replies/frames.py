"""What a reply says to its reader, out of the frames in which agents are told to put it: ReAct's
lines, an object of JSON, a fence, marks of a chat template.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from synth.text.data_files import read
from synth.text.replies.objects import objects_in, plain_text

_MARKS = re.compile(r"<\|[^|<>\n]{1,40}\|>|</?s>|\[/?INST\]|<(?:start|end)_of_turn>(?:model)?")
_LABEL = re.compile(
    r"^[ \t]*\**(?P<name>Thoughts?|Reasoning|Action Input|Action|Final Answer|Answer|Response"
    r"|Assistant|Agent)(?: \d+)?:\**[ \t]*",
    re.MULTILINE | re.IGNORECASE,
)
_FOR_READER = frozenset({"action input", "final answer", "answer", "response"})
_SPEAKERS = frozenset({"", "assistant", "agent"})
_THOUGHTS = frozenset({"thought", "thoughts", "reasoning"})
_NAMED = re.compile(r"[`*\"']*(?P<begin>[^\W_]+)[\w.\-]*[`*\"']*[ \t]*(?:\Z|[\n\[({:])")
"""The name of an act, and not the first word of a sentence."""
_ACT_IN = ("action", "tool", "name", "function", "command")
_CALLED = re.compile(
    r"""[\[(]\s*(?P<q>["'])(?P<listed>(?:(?!(?P=q)\s*,).)*)(?P=q)\s*[\])]\Z
    | \w+\[(?P<bracket>.*)\]\Z
    | \w+\(\s*(?:\w+\s*=\s*)?(?P<r>["'])(?P<call>.*)(?P=r)\s*\)\Z""",
    re.DOTALL | re.VERBOSE,
)
"""A list of one text, `finish[...]`, `answer(text="...")`."""


class Frames(msgspec.Struct, frozen=True):
    """`data/refusals/frames.yaml`: keys of objects, and names of acts."""

    said: frozenset[str]
    thought: frozenset[str]
    beside: frozenset[str]
    ends: frozenset[str]


def unframed(content: str) -> str:
    """The text for the reader first, then what was thought, a line each; nothing where an act is
    named that ends no episode; a reply without frames as it is, without its thinking.
    """
    text = _MARKS.sub(" ", plain_text(content)).strip()
    labelled = list(_labelled(text))
    if not labelled:
        return _inside(text)

    told = [_inside(part) for name, part in labelled if name in _FOR_READER or name in _SPEAKERS]
    thought = [part for name, part in labelled if name in _THOUGHTS]
    acts = [part for name, part in labelled if name == "action"]
    if any(map(_goes_on, acts)):
        return ""

    return "\n".join(part for part in (*told[::-1], *map(_inside, acts), *thought) if part)


def _labelled(text: str) -> Iterator[tuple[str, str]]:
    """(label, what stands behind it); nothing where there is no label."""
    found = list(_LABEL.finditer(text))
    ends = [*(match.start() for match in found[1:]), len(text)]
    if found and text[: found[0].start()].strip():
        yield "", text[: found[0].start()].strip()
    for match, end in zip(found, ends, strict=True) if found else ():
        yield match["name"].casefold(), text[match.end() : end].strip()


def _goes_on(act: str) -> bool:
    """Whether an act is named with which an episode goes on."""
    named = _NAMED.match(act)
    return named is not None and named["begin"].casefold() not in _frames().ends


def _inside(text: str) -> str:
    """What an object, a list of one text, or `finish[...]` says; another text as it is."""
    called = _CALLED.match(text)
    if called is not None:
        return called["listed"] or called["bracket"] or called["call"] or ""
    if not text.startswith("{"):
        return text

    objects, _ = objects_in(text)
    frames = _frames()
    known = frames.said | frames.thought | frames.beside
    if any(key.casefold() not in known for one in objects for key in one):
        return text
    if any(
        _goes_on(one[key]) for one in objects for key in _ACT_IN if isinstance(one.get(key), str)
    ):
        return ""

    told = [said for one in objects for said in _texts(one, frames.said)]
    thought = [said for one in objects for said in _texts(one, frames.thought)]
    return "\n".join((*told, *thought)) if objects else text


def _texts(value: dict[str, Any], keys: frozenset[str]) -> Iterator[str]:
    """The texts behind some keys, in their order, in objects within objects too."""
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield from _texts(inner, keys)
        elif isinstance(inner, str) and key.casefold() in keys:
            yield inner


@cache
def _frames() -> Frames:
    frames: Frames = read("data/refusals/frames.yaml", Frames)
    return frames
