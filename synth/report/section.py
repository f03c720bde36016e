"""A section of the report: its title, and what it has to say of a run, or nothing."""

from collections.abc import Callable

import msgspec

from synth.ledger.ledger import Ledger
from synth.report.browser.stand_ins import StandIns


class Section(msgspec.Struct, frozen=True):
    """`render` gives HTML; None where the run holds nothing to show. Texts of the run go through
    the stand-ins for what is secret.
    """

    title: str
    render: Callable[[Ledger, StandIns], str | None]
