"""The mark that stands in every whispered note and nowhere else: whoever writes it has the note.

A leak in other words can be doubted, and a chance likeness can look like one. The mark is drawn
from the note, tells nothing of the task, and no agent could say it without having read it.
"""

import re
import string
from collections.abc import Collection

from synth.schemas import content_hash

PREFIX = "canary"
_SIGNS = 16
"""Of 4 bits each: that one stands anywhere by chance does not happen."""
_MARK = re.compile(rf"\({PREFIX}-([0-9a-f]{{{_SIGNS}}})\)\s*\Z")
_RUN = re.compile(rb"[0-9a-f]{%d,}" % _SIGNS)
_SIGN = string.ascii_letters + string.digits
_BETWEEN = bytes(one for one in range(256) if chr(one) not in _SIGN)
_SMALL = bytes(range(256)).lower()


def with_canary(note: str) -> str:
    """A note with its mark, in brackets at the end."""
    return f"{note} ({PREFIX}-{content_hash([PREFIX, note])[:_SIGNS]})"


def canary_of(note: str | None) -> str | None:
    """The signs of a note's mark; None where it has none, as those of other makers."""
    found = _MARK.search(note or "")
    return None if found is None else found[1]


def without_canary(note: str) -> str:
    """A note as it was before it got its mark, which is no fact of any task."""
    return _MARK.sub("", note).rstrip() if _MARK.search(note) else note


def betrayed(text: str, marks: Collection[str]) -> str | None:
    """The first of some marks (by their signs) that a text holds, however it is spelled: in
    capitals, with spaces or hyphens between the signs, with or without the word before it.
    """
    # rows are long and many: few texts without a mark have so many of its signs in a row
    bare = text.encode("ascii", "ignore").translate(_SMALL, _BETWEEN) if marks else b""
    runs = [run.decode() for run in _RUN.findall(bare)]
    return min((mark for mark in marks if any(mark in run for run in runs)), default=None)
