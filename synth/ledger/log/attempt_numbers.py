"""Numbers of attempts: what another process has committed meanwhile takes them first."""

from collections.abc import Sequence

import msgspec

from synth.ledger.log.fencing import FENCE
from synth.ledger.log.manifest import ShardLine
from synth.ledger.log.state import LedgerState
from synth.schemas import Trajectory, trajectory_id


def renumbered(state: LedgerState, trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """Attempts that another process committed meanwhile under the same number get the next free
    ones.
    """
    result, following = [], dict[str, int]()
    for one in trajectories:
        free = following.get(one.slot_id, state.next_attempt(one.slot_id))
        attempt = max(one.attempt, free)
        following[one.slot_id] = attempt + 1
        if attempt != one.attempt:
            identity = trajectory_id(one.slot_id, attempt)
            one = msgspec.structs.replace(one, attempt=attempt, trajectory_id=identity)
        result.append(one)

    return result


def is_outdated(state: LedgerState, line: ShardLine) -> bool:
    """Whether what others have committed meanwhile refuses a shard, or gives its attempts other
    numbers.
    """
    return FENCE.get() in state.fences or any(
        one.attempt < state.next_attempt(one.slot_id)
        or (state.settled(one.slot_id) and one.trajectory_id not in line.superseded)
        for one in line.slots
    )
