"""The view `recovery` of a trajectory: what made it worse stays in the context and carries no loss,
what mended it is learnt (rigor 8.2).

The loss mask is the whole view: nothing is cut out, so that the student sees the error that it
learns to come back from.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from synth.loss_turns import MASKS
from synth.topology.trajectory_measures import Excursion

EXCURSION = "excursion"
"""Why such a turn carries no loss."""


def excursion_masks(
    excursions: Sequence[Excursion], by_turn: Sequence[float | None], turns: Sequence[int]
) -> dict[int, str]:
    """Turn -> `excursion`, for the turns that made it worse.

    `by_turn` are the potentials that the excursions were found with, `turns` the indices of those
    turns in the trajectory (canned turns
    have neither). Of an excursion that the agent came back from knowingly, those are the turns down
    to its lowest potential, the last one
    where several are as low, and what follows carries loss; of one that was left without a re-read,
    an undo or a stated correction, all
    turns before the return; of one without return, all turns from its first.
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


def recovery_masks(recovered: Mapping[str, Any], potential: Mapping[str, Any]) -> dict[int, str]:
    """The same from the `detail` of the scores `recovered` and `potential` that the stage
    `topology` has written for a trajectory.
    """
    found = msgspec.convert(recovered["excursions"], tuple[Excursion, ...])
    return excursion_masks(found, potential["by_turn"], potential["turns"])


def decided_masks(details: Iterable[Mapping[str, Any]]) -> dict[int, str]:
    """The masks that the details of a row's decisions name."""
    return {
        int(turn): reason for detail in details for turn, reason in detail.get(MASKS, {}).items()
    }
