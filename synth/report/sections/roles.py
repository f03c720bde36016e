"""Roles: what was asked of those that play no episode, how much of it could be read, and examples
of what could not.
"""

from synth.engine.table import Table
from synth.ledger.ledger import Ledger
from synth.ledger.tables.asked_roles import QUESTIONS, UNREAD
from synth.ledger.views import connect
from synth.report.browser.stand_ins import StandIns
from synth.report.section import Section, asked, quiet, shortened

LONGEST = 200
_NOTE = (
    "A reply that cannot be read is asked for again with the reason, twice at most; nothing is "
    "made up for one. A refusal is no answer, and nobody's failure."
)


def render(ledger: Ledger, stand_ins: StandIns) -> str | None:
    """The questions by role, then replies that could not be read."""
    with connect(ledger) as connection:
        columns, questions = asked(connection, QUESTIONS)
        names, unread = asked(connection, UNREAD)
    if not questions:
        return None

    rows = [[*map(str, row[:2]), *(f"{count:,}" for count in row[2:])] for row in questions]
    html = quiet(_NOTE) + Table("Questions", columns, rows).html()
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


SECTION = Section("Roles", render)
