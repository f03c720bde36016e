"""The memo that SPARK carries from attempt to attempt, by its headings; a section that is missing
is empty.
"""

import re
from typing import Any

from synth.schemas import Memo

_SECTION = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+(?P<name>[^\n#]+?)|\*\*(?P<bold>[^\n*]+)\*\*:?)[ \t]*$", re.MULTILINE
)
_AROUND = re.compile(r"\A(?:\d+[.)]|[*_\s])+|[*_:\s]+\Z")
"""Numbers, emphasis and colons around a heading's words."""
_ITEM = re.compile(r"^[ \t]*(?:[-*]|\d+[.)])[ \t]+", re.MULTILINE)
_NAMES = {
    "attempts log": "log",
    "commands from last attempt": "commands",
    "verified facts": "facts",
    "current error pattern": "error",
    "next strategy": "strategy",
}
_FAILED = re.compile(r"^[ \t]*(?:[✗✘×x]|FAILED|FAIL)[ \t:]+(?P<test>[\w./:\[\]-]+)", re.MULTILINE)


def memo_of(text: Any, test_summary: Any = None) -> Memo | None:
    """The memo in a text, with the tests that a summary calls failed; None where it has no section
    that is known.
    """
    if not isinstance(text, str):
        return None
    sections = _sections(text)
    if not sections:
        return None

    return Memo(
        attempts_log=_items(sections.get("log", "")),
        commands=_lines(sections.get("commands", "")),
        verified_facts=_items(sections.get("facts", "")),
        error_pattern=sections.get("error") or None,
        next_strategy=sections.get("strategy", ""),
        failed_tests=failed_tests(test_summary),
    )


def failed_tests(summary: Any) -> tuple[str, ...]:
    """The tests that a summary lists as failed, each once."""
    found = _FAILED.finditer(summary) if isinstance(summary, str) else ()
    return tuple(dict.fromkeys(match["test"] for match in found))


def _sections(text: str) -> dict[str, str]:
    # a line in bold is a heading where it is one of those that are known
    heads = [one for one in _SECTION.finditer(text) if one["name"] or _named(one) is not None]
    ends = [*(head.start() for head in heads[1:]), len(text)]
    found = {}
    for head, end in zip(heads, ends, strict=False):
        name = _named(head)
        if name is not None:
            found[name] = text[head.end() : end].strip()

    return found


def _named(head: re.Match[str]) -> str | None:
    return _NAMES.get(_AROUND.sub("", head["name"] or head["bold"]).lower())


def _items(text: str) -> tuple[str, ...]:
    """The items of a list, or its lines where it is none."""
    parts = _ITEM.split(text) if _ITEM.search(text) else text.split("\n")
    return tuple(part.strip() for part in parts if part.strip())


def _lines(text: str) -> tuple[str, ...]:
    """Commands, a line each, without the fence around them."""
    inner = [line for line in text.split("\n") if not line.strip().startswith("```")]
    return tuple(line for line in inner if line.strip())
