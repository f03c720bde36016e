"""One side of a pair: an act at a recorded state, and what a test says of it."""

from typing import Any

import msgspec
from msgspec.structs import replace

from synth.pairs.experiments import Experiment
from synth.pairs.turns import of_turn
from synth.schemas import Authorship, Trajectory, Turn
from synth.text.transcript.acts import act_digest


class PairAct(msgspec.Struct, frozen=True):
    """A turn of a recorded trajectory, who wrote it, and the row that tells of it: `successes` of
    `n` continuations after it passed, which makes a rate of `q` (unbiased, None where it is not
    known); `good`: what a test decided, None where none did.
    """

    trajectory: Trajectory
    turn: int
    policy: str
    authorship: Authorship
    row: Experiment
    q: float | None = None
    n: int = 0
    successes: int = 0
    good: bool | None = None

    @property
    def recorded(self) -> Turn:
        """The turn as it lies in the ledger."""
        return self.trajectory.turns[self.turn]

    @property
    def digest(self) -> str:
        """Of what was done, whatever its white space and the ids of its calls."""
        return act_digest(self.recorded)

    def told(self) -> dict[str, Any]:
        """What labels of turns have alike."""
        # of an act that was only continued no test was accepted, so nothing was continued anew
        q_confirm, n_confirm = (None, 0) if self.good is None else self.row.fresh(self.good)
        return of_turn(self.trajectory, self.turn) | {
            "source": self.row.metric,
            "q": self.q,
            "n": self.n,
            "q_confirm": q_confirm,
            "n_confirm": n_confirm,
            "method": self.row.method,
            "on_policy_for": self.row.on_policy_for,
            "policy": self.policy,
            "authorship": self.authorship,
        }


def counted(act: PairAct, valued: Experiment | None, share: float | None, n: int) -> PairAct:
    """The act with its continuations: as its value counts them, else as its test saw them, which
    gives no rate (a test stops when it has seen enough).
    """
    if valued is not None:
        return replace(act, q=valued.value, n=valued.n, successes=valued.successes)
    return replace(act, n=n, successes=round((share or 0.0) * n))
