"""Rows that show the canary of a whispered note: whatever carried it there, a memory, a note in the
world or a retry that nobody looked through, they are left out by every kind and form.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from synth.text.leaks.canary import betrayed, canary_of
from synth.text.transcript.message_texts import Change

CANARY = "canary_of_guidance"
"""The reason of such a row."""
_NOTES = "SELECT DISTINCT guidance FROM trajectories_all WHERE guidance IS NOT NULL"


def marks_of(ledger: StoredLedger) -> frozenset[str]:
    """The canaries (their signs) of all notes that anybody was whispered in a ledger."""
    with connect(ledger) as connection:
        notes = connection.execute(_NOTES).fetchall()

    return frozenset(filter(None, (canary_of(note) for (note,) in notes)))


def shows_canary(visit: Callable[[Change], object], marks: frozenset[str]) -> bool:
    """Whether one of the texts that are visited holds one."""
    found = list[str | None]()

    def look(_: str, value: Any) -> Any:
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        found.append(_betrayed(text, marks))
        return value

    if marks:
        visit(look)

    return any(found)


# rows of one turn each begin alike, and so do the trials of a task
_betrayed = lru_cache(maxsize=1 << 12)(betrayed)
