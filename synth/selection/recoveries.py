"""What came back from an error: base trials by the stage `topology`, injected runs by the stage
that put the mistake there.

Such a row is learnt for its way back: the turns that led astray stay in the context without loss.
"""

from collections.abc import Mapping, Sequence

import msgspec

from synth.ledger.ledger import StoredLedger
from synth.ledger.typed import read
from synth.schemas import AttributionLabel, Potentials, given
from synth.topology.trajectory_measures import Excursion

EXCURSION = "excursion"
"""Why such a turn carries no loss."""


def excursion_masks(
    excursions: Sequence[Excursion], by_turn: Sequence[float | None], turns: Sequence[int]
) -> dict[int, str]:
    """Turn -> `excursion`, for the turns that made it worse.

    `by_turn` are the potentials that the excursions were found with, `turns` the indices of those
    turns in the trajectory (canned turns have neither). Of an excursion that the agent came back
    from knowingly, those are the turns down to its lowest potential, the last one where several are
    as low, and what follows carries loss; of one that was left without a re-read, an undo or a
    stated correction, all turns before the return; of one without return, all turns from its first.
    """
    masked: list[int] = []

    for found in excursions:
        if found.back is None:
            masked += range(found.turn, len(by_turn))
        elif not found.diagnosed:
            masked += range(found.turn, found.back)
        else:
            known = [
                (value, -at)
                for at, value in enumerate(by_turn)
                if value is not None and found.turn <= at < found.back
            ]

            masked += range(found.turn, 1 - min(known)[1])

    return {turns[at]: EXCURSION for at in sorted(set(masked))}


ENVIRONMENT = "environment"
CHUNK = 500


class RecoveredTrial(msgspec.Struct, frozen=True):
    """Where a trial came back from a fall of potential, as the stage `topology` tells."""

    excursions: tuple[Excursion, ...]


class Recoveries(msgspec.Struct, frozen=True):
    """`masks`: trajectory -> its turns that made it worse, with the reason; `sides`: injected run
    -> whose mistake it came back from.
    """

    masks: Mapping[str, Mapping[int, str]]
    sides: Mapping[str, str]

    def masks_of(self, identity: str) -> Mapping[int, str]:
        """Turns without loss; none where it did not recover, or its own masks say it."""
        return self.masks.get(identity, {})


def recoveries(ledger: StoredLedger) -> Recoveries:
    """Those of the current flow."""
    came_back = {
        (row.subject_id, row.stage_key): row.about.excursions
        for row in read(ledger, RecoveredTrial, ("recovered",))
        if row.value == 1
    }

    masks: dict[str, Mapping[int, str]] = {}
    # potentials are long: read for those alone that came back
    subjects = sorted({identity for identity, _ in came_back})

    for at in range(0, len(subjects), CHUNK):
        for row in read(ledger, Potentials, ("potential",), subjects=subjects[at : at + CHUNK]):
            if (found := came_back.get((row.subject_id, row.stage_key))) is not None:
                masks[row.subject_id] = excursion_masks(found, row.about.by_turn, row.about.turns)

    sides = {
        row.subject_id: str(given(row.about.side))
        for row in read(ledger, AttributionLabel, ("recovery",))
        if row.value == 1
    }

    return Recoveries(masks, sides)
