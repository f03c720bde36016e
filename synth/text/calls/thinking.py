"""Thinking that stands in a text, between the tags that families of models have for it."""

import re
from collections.abc import Iterator, Sequence

from synth.schemas import ToolSchemas
from synth.text.calls.forms import harmony
from synth.text.calls.found import FoundCalls, together
from synth.text.calls.reading import ALL, MARKS, call_end, read_calls

_OPENS = r"<(?:seed:|longcat_)?think(?:ing)?>|\[THINK\]"
_CLOSES = r"</(?:seed:|longcat_)?think(?:ing)?>|\[/THINK\]"
_TAGS = re.compile(rf"(?P<opens>{_OPENS})|(?P<closes>{_CLOSES})")


def outside_thinking(content: str, tools: ToolSchemas) -> FoundCalls:
    """The calls of a text outside of its thinking, which stays where it is."""
    found: list[FoundCalls] = []
    kept: list[str] = []
    spans = thinking_in(content, tools)
    if not spans:
        return read_calls(content, tools)

    for outside, thought in told_apart(content, spans):
        found.append(read_calls(outside, tools))
        kept += (found[-1].text, thought)
    return together(found, "".join(kept))


def inside_thinking(content: str, tools: ToolSchemas) -> FoundCalls:
    """The calls of a text's thinking, of those forms that mark them; what stands outside of it
    stays.
    """
    found: list[FoundCalls] = []
    kept: list[str] = []
    for outside, thought in told_apart(content, thinking_in(content, tools)):
        found.append(read_calls(thought, tools, marked_only=True))
        kept += (outside, found[-1].text)
    return together(found, "".join(kept))


def told_apart(content: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[str, str]]:
    """What stands outside of thinking and the thinking behind it, in turn; none behind the last."""
    position = 0
    for start, end in spans:
        yield content[position:start], content[start:end]
        position = end
    yield content[position:], ""


def thinking_in(content: str, tools: ToolSchemas = ()) -> list[tuple[int, int]]:
    """Where thinking stands, its tags with it: one that is not opened begins with the text, one
    that is not closed ends with it. A tag in the arguments of a call is none.
    """
    spans: list[tuple[int, int]] = []
    opened: int | None = 0
    position, begun = 0, False
    content = content[: harmony.begins(content)]
    calls = ALL if tools else MARKS

    while (mark := _TAGS.search(content, position)) is not None:
        skipped = _past_call(content, position, mark.start(), calls, tools)
        if skipped is not None:
            position = skipped
            continue
        position = mark.end()
        if mark["opens"]:
            opened = opened if begun and opened is not None else mark.start()
            begun = True
        else:
            if opened is not None:
                spans.append((opened, position))
            opened, begun = None, True
    return [*spans, (opened, len(content))] if begun and opened is not None else spans


def _past_call(
    content: str, position: int, tag: int, calls: "re.Pattern[str]", tools: ToolSchemas
) -> int | None:
    """Where the call ends that a tag at `tag` is part of; None where it is part of none."""
    while (opened := calls.search(content, position, tag)) is not None:
        end = call_end(content, opened, tools)
        if end is not None and end > tag:
            return end
        position = max(end or 0, opened.end(), opened.start() + 1)
    return None


def without_thinking(content: str) -> tuple[str, str]:
    """(thinking, the rest) of a text that begins with thinking; ("", the text) where it does not.
    One that is not closed leaves no rest.
    """
    spans = thinking_in(content)
    if not spans or content[: spans[0][0]].strip():
        return "", content
    start, end = spans[0]
    thinking = _TAGS.sub("", content[start:end]).strip()
    return thinking, content[end:].lstrip()
