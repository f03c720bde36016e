"""What reads badly in rows of foreign chats: thoughts that a user's simulator did not say, an
answer of a tool at the very end, no system prompt, no tool schemas. Found, and on request mended or
left out.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache

from msgspec.structs import replace

from synth.exporters.kind import RowSettings
from synth.schemas import Observation, Source, ToolSchema, Trajectory
from synth.text.control_tokens import families

Agent = tuple[str, str | None]
Tools = Mapping[Agent, tuple[ToolSchema, ...]]
"""By environment and system prompt, what calls show."""
THOUGHTS, ENDING, PROMPT = "private_thoughts", "ends_in_tool_answer", "no_system_prompt"


def readable(trajectory: Trajectory, settings: RowSettings, inferred: Tools) -> Trajectory:
    """The trajectory as the settings want it: without what users thought, without what a tool
    answered to the last turn, with the schemas that calls of its like show.
    """
    one = trajectory
    if settings.user_thoughts == "strip" and has_private_thoughts(one):
        one = without_private_thoughts(one)
    if settings.tool_endings == "strip" and ends_in_tool_answer(one):
        one = replace(one, turns=(*one.turns[:-1], replace(one.turns[-1], observations=())))
    if settings.infer_tools and not one.tools:
        one = replace(one, tools=inferred.get((one.env, one.system_prompt), ()))
    return one


def unreadable(trajectory: Trajectory, settings: RowSettings) -> Iterator[str]:
    """Why the settings leave it out."""
    if settings.require_prompt and not has_prompt(trajectory):
        yield PROMPT
    if settings.user_thoughts == "drop" and has_private_thoughts(trajectory):
        yield THOUGHTS
    if settings.tool_endings == "drop" and ends_in_tool_answer(trajectory):
        yield ENDING


def has_prompt(trajectory: Trajectory) -> bool:
    """Whether a system prompt says anything."""
    return bool((trajectory.system_prompt or "").strip())


def ends_in_tool_answer(trajectory: Trajectory) -> bool:
    """Whether the last thing said is a tool's: users that speak after it are left out of rows."""
    last = trajectory.turns[-1].observations if trajectory.turns else ()
    kept = [one for one in last if one.source is not Source.USER]
    return bool(kept) and kept[-1].source is Source.TOOL


def has_private_thoughts(trajectory: Trajectory) -> bool:
    """Whether a user's words hold marked thoughts, as only a model writes them."""
    return any(_spoken(one) is not one for one in _heard(trajectory))


def is_json_object(text: str | None) -> bool:
    """Whether a text is a JSON object and nothing else: an envelope that a harness wanted, where a
    person would expect words.
    """
    told = (text or "").strip()
    if not (told.startswith("{") and told.endswith("}")):
        return False
    try:
        return isinstance(json.loads(told), dict)
    except (ValueError, RecursionError):
        return False


def without_private_thoughts(trajectory: Trajectory) -> Trajectory:
    """The same with what users said alone."""
    turns = tuple(
        replace(turn, observations=tuple(map(_spoken, turn.observations)))
        for turn in trajectory.turns
    )
    return replace(trajectory, opening=tuple(map(_spoken, trajectory.opening)), turns=turns)


def _heard(trajectory: Trajectory) -> Iterator[Observation]:
    yield from trajectory.opening
    for turn in trajectory.turns:
        yield from turn.observations


def _spoken(one: Observation) -> Observation:
    if one.source is not Source.USER:
        return one
    text = _BEGUN.sub("", one.content)
    for begin, end in marks():
        text = outside(text, begin, end)
    return one if text == one.content else replace(one, content=text.strip())


_NAMES = "think|thinking|thoughts?|reasoning|scratchpad|inner[_ ](?:thoughts?|monologue)"
_BEGUN = re.compile(
    rf"\A(?:\s*<(?P<tag>{_NAMES})>(?:(?!</(?P=tag)>).)*</(?P=tag)>\s*)"
    r"|\A\s*Thoughts?:(?:(?!^User Response:).)*^User Response:\s*",
    re.DOTALL | re.IGNORECASE | re.MULTILINE,
)
"""Thoughts with which a simulator's words begin: in other tags than tokenizers publish, and as
tau-bench's simulator that thinks before it speaks is asked to mark them.
"""


def outside(text: str, begin: str, end: str) -> str:
    """What stands outside marked parts. One that is not ended goes to the end if a line begins with
    it, and is a word about the mark elsewhere; what stands before a lone end is a part whose
    beginning the server kept. In time linear in the text.
    """
    first = text.find(end)
    if first >= 0 and begin not in text[:first]:
        text = text[first + len(end) :]

    kept, at = [], 0
    while (start := text.find(begin, at)) >= 0:
        close = text.find(end, start)
        if close < 0 and text[:start].rpartition("\n")[2].strip():
            break
        kept.append(text[at:start])
        if close < 0:
            return "".join(kept)
        at = close + len(end)

    return "".join([*kept, text[at:]])


@cache
def marks() -> tuple[tuple[str, str], ...]:
    """The beginning and end of thoughts, as tokenizers publish them."""
    known = families()["thinking"]
    return tuple(
        (begin, end)
        for begin in known
        if not begin.startswith("</") and (end := f"</{begin[1:]}") in known
    )
