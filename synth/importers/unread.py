"""What of a trajectory was not understood: content that a note stands for, and blocks that are kept
as they stood.
"""

import json
from collections import Counter
from collections.abc import Iterator

from synth.importers.conversation import LEFT_OUT, UNREAD_MASK, heard
from synth.importers.records import inside
from synth.schemas import Conversation, Trajectory, Turn

_SIGN = " left out on import]"


def unread(trajectory: Trajectory) -> Counter[str]:
    """How many pieces of each kind were not read."""
    spoken = Conversation(None, trajectory.opening, trajectory.turns)
    texts = [one.content for one in heard(spoken)]
    texts += [turn.content or "" for turn in trajectory.turns]
    noted = (kind for text in texts if _SIGN in text for kind in LEFT_OUT.findall(text))
    return Counter([*noted, *(kind for turn in trajectory.turns for kind in _kept(turn))])


def _kept(turn: Turn) -> Iterator[str]:
    """The kinds of the blocks of a turn that no note stands for."""
    if turn.mask != UNREAD_MASK or _SIGN in (turn.content or ""):
        return
    try:
        blocks = json.loads(turn.raw or "")
    except ValueError:
        blocks = []
    kinds = (inside(one, "type", str) for one in (blocks if isinstance(blocks, list) else []))
    yield from (kind for kind in kinds if kind)
