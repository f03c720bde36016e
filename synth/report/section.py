"""A section of the report: its title, and what it has to say of a run, or nothing."""

from collections.abc import Callable

import msgspec

from synth.ledger.ledger import Ledger


class Section(msgspec.Struct, frozen=True):
    """`render` gives HTML; None where the run holds nothing to show."""

    title: str
    render: Callable[[Ledger], str | None]
