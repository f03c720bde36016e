"""Reads the calls out of a model's text, whatever family's form they are in.

Forms with a mark of their own (a tag, a token) are calls wherever they stand, but for text that
quotes them; forms without one (JSON, a fence, Python, ReAct) only in lines of their own, and only
where they name a tool that there is. docs/models.md has the rules.
"""

import re
from collections.abc import Callable, Mapping

from synth.schemas import ToolSchemas
from synth.text.calls.forms import (
    bare,
    fenced,
    gemma,
    glm,
    harmony,
    hermes,
    invoke,
    marked,
    mistral,
    qwen_xml,
    react,
    sections,
)
from synth.text.calls.found import MARKUP, RECOVERED, UNREAD, FoundCalls, together, tool_named
from synth.text.calls.python_calls import PYTHONIC

Reader = Callable[[str, "re.Match[str]", ToolSchemas], FoundCalls | None]
_MARKED: Mapping[str, tuple[str, Reader]] = {
    "tag": (qwen_xml.OPEN, hermes.read_tag),
    "function": (qwen_xml.FUNCTION, qwen_xml.read_function),
    "mistral": (mistral.OPENS, mistral.read_mistral),
    "section": (sections.OPENS, sections.read_section),
    "invoke": (invoke.OPENS, invoke.read_invoke),
    "gemma": (gemma.OPENS, gemma.read_gemma),
    "marked": (marked.OPENS, marked.read_marked),
}
_UNMARKED: Mapping[str, tuple[str, Reader]] = {
    "fenced": (fenced.OPENS, fenced.read_fenced),
    "react": (react.OPENS, react.read_react),
    "bare": (bare.OPENS, bare.read_bare),
}
"""Form -> the pattern with which it opens, and its reader."""


def _pattern(*forms: Mapping[str, tuple[str, Reader]]) -> "re.Pattern[str]":
    """Where a form of these opens; the match's group says which."""
    named = (f"(?P<{name}>{opens})" for one in forms for name, (opens, _) in one.items())
    return re.compile("|".join(named), re.MULTILINE)


OWN_PART = frozenset(
    {
        *(
            RECOVERED,
            qwen_xml.XML,
            glm.GLM,
            gemma.GEMMA,
            PYTHONIC,
            mistral.MISTRAL,
            sections.SECTION,
        ),
        *(invoke.INVOKE, marked.MARKED, fenced.FENCED, react.REACT, bare.BARE, harmony.HARMONY),
    }
)
"""What is named as a repair where a server should have found the calls, and else is nothing but the
reading of a form.
"""
MARKS = _pattern(_MARKED)
ALL = _pattern(_MARKED, _UNMARKED)
_FORMS = {**_MARKED, **_UNMARKED}
_LINE = 400
"""Characters of a line that are looked at: a model that loops writes none that end."""
_HEADER = re.compile(
    r"\A\s*(?:<\|start_header_id\|>assistant<\|end_header_id\|>|<\|im_start\|>assistant\b)"
)
"""The header of a turn, which a model repeats at times."""
_WORD = re.compile(r"\w")
_QUOTES = {'"': '"', "'": "'", "“": "”", "«": "»"}


def read_calls(text: str, tools: ToolSchemas = (), *, marked_only: bool = False) -> FoundCalls:
    """The calls that stand in a text, in order, and the text without them; never raises.

    `tools`: those that are offered; they say of what type bare text is, and which forms without a
    mark are calls. What is marked as a call and cannot be read stays text: `repairs` then has
    `tool_call_unread` where it stands as a call does, `tool_call_markup_in_text` where it stands
    in a sentence.
    """
    whole = harmony.read_harmony(text, tools)
    if whole is not None:
        return whole

    opens = MARKS if marked_only or not tools else ALL
    found: list[FoundCalls] = []
    kept: list[str] = []
    position = called = 0
    while (opened := opens.search(text, position)) is not None:
        start = opened.start()
        read = _read(text, opened, called, tools)
        found.append(read)
        end = max(read.end, start + 1)
        before = text[position:start]
        kept.append(react.without_label(before) if react.REACT in read.repairs else before)
        kept.append(read.text if read.end else text[start:end])
        position = end
        called = end if read.calls else called
    calls = any(one.calls for one in found)
    left = _HEADER.sub("", "".join([*kept, text[position:]])).strip()
    return together(found, left if calls else text)


def call_end(text: str, opened: "re.Match[str]", tools: ToolSchemas) -> int | None:
    """Where the calls end that a form opens there; None where there are none."""
    read = _read(text, opened, opened.start(), tools)
    return read.end if read.calls else None


def _read(text: str, opened: "re.Match[str]", called: int, tools: ToolSchemas) -> FoundCalls:
    """What a form holds that opens there; `end` is 0 where it holds nothing that can be read.

    `called`: where the last call before it ended.
    """
    start = opened.start()
    form = next(name for name in _FORMS if opened.groupdict().get(name) is not None)
    read = _FORMS[form][1](text, opened, tools)
    if form not in _MARKED:
        if read is not None and not read.calls and form == "fenced":
            return _marked_in_fence(opened, read, tools)
        return read or FoundCalls()

    end = read.end if read is not None else None
    if _quoted(text, start, end):
        return FoundCalls((), text[start : end or start], (MARKUP,), end or 0)

    in_place = not _line_before(text, start, called).strip()
    if read is not None:
        known = all(tool_named(tools, call.name) is not None for call in read.calls)
        if in_place or known or not tools:
            return read
    return FoundCalls((), "", (UNREAD if in_place else MARKUP,))


def _marked_in_fence(opened: "re.Match[str]", block: FoundCalls, tools: ToolSchemas) -> FoundCalls:
    """The calls of a block that consists of nothing but marked calls of known tools, else the
    block.
    """
    inside = opened.string[opened.end() : block.end].rstrip("`~ \t\n")
    if opened["language"].lower() not in fenced.DATA | fenced.CALLS or not MARKS.match(inside):
        return block
    found = read_calls(inside, tools, marked_only=True)
    known = all(tool_named(tools, call.name) is not None for call in found.calls)
    if not found.calls and UNREAD in found.repairs and opened.string[block.end :] == "":
        return FoundCalls((), block.text, (UNREAD,), block.end)
    if not found.calls or found.text or not known:
        return block
    return FoundCalls(found.calls, "", (fenced.FENCED, *found.repairs), block.end)


def _line_before(text: str, start: int, least: int = 0) -> str:
    """What stands before in the same line, from `least` on, as far as a line is looked at."""
    return text[max(start - _LINE, least, 0) : start].rpartition("\n")[2]


def _quoted(text: str, start: int, end: int | None) -> bool:
    """Whether a text only shows what stands there: in a span of code or between quotes, with words
    beside in the same line. `end` is None where it has none.
    """
    if end is not None and "\n" in text[start:end]:
        return False
    before = _line_before(text, start)
    begin = end if end is not None else start
    after = text[begin : begin + _LINE].partition("\n")[0]
    in_code = before.count("`") % 2 == 1 and "`" in after
    closing = _QUOTES.get(before[-1:])
    between = closing is not None and (
        after.startswith(closing) if end is not None else closing in after
    )
    return (in_code or between) and _WORD.search(before + after) is not None
