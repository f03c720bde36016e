"""The tag `<tool_call>` ... `</tool_call>` in which models of the Hermes and Qwen families write
their calls, and how it goes wrong.
"""

import re

OPEN, CLOSE = "<tool_call>", "</tool_call>"
UNCLOSED = "tool_call_unclosed"
EXTRA_DATA = "tool_call_extra_data"

_SPACE = re.compile(r"\s*")


def after_space(text: str, position: int) -> int:
    """Where the text goes on after white space."""
    space = _SPACE.match(text, position)
    return position if space is None else space.end()


def close_before_next(text: str, position: int) -> int | None:
    """Where the tag is closed; None where another one opens before, or nothing closes it."""
    following = text.find(OPEN, position)
    close = text.find(CLOSE, position, following if following >= 0 else len(text))
    return close if close >= 0 else None
