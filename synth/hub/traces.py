"""A sample of the trajectories behind the rows, as session traces that the Hub's viewer shows."""

from collections.abc import Iterable

from synth.exporters.registry import form_of
from synth.exporters.sft_rows import sft_row
from synth.ledger.decided import decided
from synth.ledger.ledger import Ledger
from synth.schemas.canonical import content_hash
from synth.set_aside import SetAside

FOLDER = "traces"


def traces(
    ledger: Ledger, identities: Iterable[str], most: int, aside: SetAside
) -> dict[str, bytes]:
    """Path -> JSON lines, of at most `most` of the trajectories: the first in the order of their
    hashes, redacted as rows are.

    Those that cannot be written are noted in `aside`.
    """
    form = form_of("sft", "sts")
    known = set(identities) & set(ledger.state.current_valid())
    drawn = set(sorted(known, key=lambda identity: content_hash(["trace", identity]))[:most])
    if not drawn:
        return {}
    clean = (trajectory for trajectory, _ in decided(ledger, aside, drawn))
    written = list(
        aside.each(
            clean, lambda one: one.trajectory_id, lambda one: form.record(sft_row(one, form))
        )
    )
    return {
        f"{FOLDER}/{record['name']}": record["text"].encode()
        for record in sorted(written, key=lambda record: record["name"])
    }
