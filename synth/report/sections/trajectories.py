"""The trajectories: a list that is searched and filtered, each one to be opened, any two to be set
side by side.
"""

from synth.ledger.ledger import StoredLedger
from synth.report.browser.stand_ins import StandIns
from synth.report.section import Section
from synth.report.templates import rendered


def render(ledger: StoredLedger, stand_ins: StandIns) -> str | None:
    """The empty list, which the page's script fills."""
    return rendered("trajectories.html") if next(ledger.records(), None) is not None else None


SECTION = Section("Trajectories", render)
