"""One section of a card, of a ledger without configurations unless they are given."""

from collections.abc import Mapping

from synth.hub.card.card import Described, body
from synth.hub.outgoing import Searched
from synth.hub.row_facts import RowFacts
from synth.ledger import StoredLedger

MIT: Mapping[str, str] = {"license": "mit"}
NO_FACTS: Mapping[str, RowFacts] = {}


def section(
    ledger: StoredLedger,
    title: str,
    facts: Mapping[str, RowFacts] = NO_FACTS,
    licence: Mapping[str, str] = MIT,
) -> str:
    """What stands below a heading."""
    searched = Searched(0, 0, 0, None)
    text = body(Described(ledger, "me/set", licence, (), facts, searched, 0))
    (found,) = [part for part in text.split("\n## ") if part.startswith(f"{title}\n")]
    return found.partition("\n")[2].strip()
