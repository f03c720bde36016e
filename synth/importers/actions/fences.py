"""What an answer shows in a fence, and does not do."""

import re

_THINKS = re.compile(r"\b(?:Thoughts?|Think)[ \t]*\d*[ \t]*:", re.IGNORECASE)


def is_quoted(text: str, start: int, end: int) -> bool:
    """Whether calls stand in a fence or in a line of code with words around it: people are shown
    such too.
    """
    before, behind = text[:start], text[end:]
    in_fence = before.count("```") % 2 == 1 and "```" in behind
    fenced = before.rpartition("```")[0] + behind.partition("```")[2] if in_fence else ""
    return bool(fenced.strip()) or (before.endswith("`") and behind.startswith("`"))


def is_of_document(before: str) -> bool:
    """Whether the line behind such a text stands in a fence that shows something: a policy, say."""
    shown, fence, inside = before.rpartition("```")
    is_open = before.count("```") % 2 == 1
    return bool(fence) and is_open and bool(shown.strip()) and not _THINKS.search(inside)
