"""What a stage concludes from all its work: rows whose worth depends on work that came after what
they are about.
"""

from collections.abc import Sequence

import msgspec

from synth.ledger.ledger import Decision, Score, StageRef, StoredLedger
from synth.ledger.log.stage_keys import conclusion
from synth.schemas import content_hash


def finalize_labels(
    ledger: StoredLedger,
    ref: StageRef,
    *,
    scores: Sequence[Score] = (),
    decisions: Sequence[Decision] = (),
) -> None:
    """Writes a stage's conclusion in place of the one before, which no view shows any more; nothing
    where both are the same.
    """
    name = content_hash(msgspec.to_builtins([scores, decisions]))
    before = ledger.refresh().concluded(ref.stage_key)
    if before.name == name if before is not None else not (scores or decisions):
        return
    key = StageRef(ref.stage, conclusion(ref.stage_key))
    ledger.commit(key, scores=scores, decisions=decisions, name=name)
