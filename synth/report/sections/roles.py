"""Roles: what was asked of those that play no episode, how much of it could be read, and examples
of what could not.
"""

from collections.abc import Sequence
from typing import Any

from synth.engine.table import Table
from synth.ledger.ledger import StoredLedger
from synth.ledger.tables.asked_roles import QUESTIONS, SAME_PROMPT, UNREAD
from synth.ledger.views import connect
from synth.report.browser.stand_ins import StandIns
from synth.report.section import Section, asked, quiet, shortened

LONGEST = 200
_NOTE = (
    "A reply that cannot be read is asked for again with the reason, twice at most; nothing is "
    "made up for one. A refusal is no answer, and nobody's failure."
)

_TWICE = (
    "One prompt of each rollout is asked twice, at temperature 0 where the flow names one. Equal "
    "answers prove nothing; different ones prove that the server samples, whatever it was asked."
)


def render(ledger: StoredLedger, stand_ins: StandIns) -> str | None:
    """The questions by role, then replies that could not be read."""
    with connect(ledger) as connection:
        columns, questions = asked(connection, QUESTIONS)
        names, unread = asked(connection, UNREAD)
        heads, twice = asked(connection, SAME_PROMPT)
    same = _asked_twice(heads, twice)
    if not questions:
        return same or None

    rows = [[*map(str, row[:2]), *(f"{count:,}" for count in row[2:])] for row in questions]
    html = same + quiet(_NOTE) + Table("Questions", columns, rows).html()
    if not unread:
        return html
    examples = [
        (
            *(role, purpose, shortened(why, LONGEST)),
            shortened(stand_ins.in_text(about, said), LONGEST),
        )
        for role, purpose, why, said, about in unread
    ]
    return html + Table("Replies that could not be read", names[:-1], examples).html()


def _asked_twice(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Whether a prompt that was asked twice got one answer, by model and temperature."""
    if not rows:
        return ""
    cells = [["its own" if one is None else str(one) for one in row] for row in rows]
    return quiet(_TWICE) + Table("One prompt asked twice", heads, cells).html()


SECTION = Section("Roles", render)
