"""The attributor that asks nobody: of the strongest kind of suspicion that a transcript raises, the
earliest turn.
"""

import msgspec

from synth.filters.attribution.suspects import (
    Suspect,
    last_resort,
    middling,
    own_turns,
    strong,
    weak,
)
from synth.schemas.trajectory import Trajectory

LONE_AGENT = "agent"


class Attribution(msgspec.Struct, frozen=True):
    """Who, when, how. `agreement`: share of a judge's draws that say so; 1 of rules, which always
    say the same.
    """

    agent: str
    turn: int
    mode: str
    why: str
    rule: str | None = None
    agreement: float = 1.0


def by_rules(trajectory: Trajectory) -> Attribution | None:
    """None where no agent did anything."""
    own = own_turns(trajectory)
    if not own:
        return None
    for kind in (strong, middling, weak):
        found = min(kind(trajectory, own), key=lambda suspect: suspect.turn, default=None)
        if found is not None:
            return _attribution(trajectory, found)
    return _attribution(trajectory, last_resort(own))


def agent_of(trajectory: Trajectory, turn: int) -> str:
    """Who took a turn; `agent` where there is only one, without a name."""
    return trajectory.turns[turn].agent or LONE_AGENT


def _attribution(trajectory: Trajectory, suspect: Suspect) -> Attribution:
    return Attribution(
        agent_of(trajectory, suspect.turn), suspect.turn, suspect.mode, suspect.why, suspect.rule
    )
