"""The sections of the report, in the order of the page, and what they are made of."""

from collections.abc import Callable
from typing import Any

import msgspec

from synth.ledger.ledger import StoredLedger
from synth.ledger.views import LedgerConnection
from synth.report.browser.stand_ins import StandIns
from synth.schemas import in_html

SECTIONS: dict[str, str] = {
    name: f"synth.report.sections.{name}:SECTION"
    for name in (
        "funnel",
        "methods",
        "tasks",
        "faults",
        "roles",
        "cost",
        "selection",
        "scores",
        "agreement",
        "graphs",
        "trajectories",
    )
}
"""By name, as `module:attribute`: a section is imported when it is rendered."""


class Section(msgspec.Struct, frozen=True):
    """`render` gives HTML; None where the run holds nothing to show. Texts of the run go through
    the stand-ins for what is secret.
    """

    title: str
    render: Callable[[StoredLedger, StandIns], str | None]


def asked(connection: LedgerConnection, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns and the rows of a table: the query names the columns as a reader is shown them,
    and writes counts and shares as text.
    """
    found = connection.execute(sql)
    return [name for name, *_ in found.description or ()], found.fetchall()


def paragraph(text: str) -> str:
    """A text as a paragraph of the page."""
    return f"<p>{in_html(text)}</p>"


def quiet(html: str) -> str:
    """A remark beside a table, with its markup."""
    return f'<p class="quiet">{html}</p>'


def shortened(text: str, longest: int) -> str:
    """On one line, cut where it is longer."""
    return cut(" ".join(text.split()), longest)


def cut(text: str, longest: int) -> str:
    """The beginning of a text that is longer."""
    return text if len(text) <= longest else f"{text[:longest]}…"
