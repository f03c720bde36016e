"""Chats as one text with ChatML's marks, as they are kept for trainers that render nothing."""

import re
from typing import Any

_MESSAGE = re.compile(
    r"<\|im_start\|>[ \t]*(?P<role>[A-Za-z_]+)[^\n]*\n(?P<content>.*?)"
    r"(?:<\|im_end\|>|(?=<\|im_start\|>)|\Z)",
    re.DOTALL,
)
_MARK = "<|im_start|>"
_ANSWER, _ANSWERED = "<tool_response>", "</tool_response>"


def chatml_messages(text: Any) -> list[dict[str, str]] | None:
    """The messages of a text that begins with one; None for any other."""
    if not isinstance(text, str) or not text.lstrip().startswith(_MARK):
        return None
    return [_message(one["role"], one["content"].strip("\n")) for one in _MESSAGE.finditer(text)]


def _message(role: str, content: str) -> dict[str, str]:
    """Templates render answers of tools in the user's role, between tags."""
    answers = role == "user" and content.startswith(_ANSWER) and content.endswith(_ANSWERED)
    return {"role": "tool" if answers else role, "content": content}
