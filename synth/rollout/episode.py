"""An episode to be played: what it is made of, and the run that it belongs to."""

from collections.abc import Callable

import msgspec

from synth.boundary import FaultError
from synth.rollout.limits import Limits
from synth.rollout.start import BranchPoint
from synth.schemas import PolicySpec, Task, Usage, User


class EpisodeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One slot to fill: a task, a policy, a trial; `first_attempt` counts the tries that the ledger
    already holds.

    With a `start` it continues a recorded trajectory, as the continuation number `draw` of its
    trial, which draws by its `luck`; `guidance` is whispered from there on. `gold_informed`:
    whoever made the work looked at gold.
    """

    slot_id: str
    task: Task
    trial: int
    seed: int
    synthesizer: str
    policy: PolicySpec
    limits: Limits
    role: str | None = None
    user: User | None = None
    first_attempt: int = 0
    start: BranchPoint | None = None
    draw: int = 0
    luck: str = ""
    guidance: str | None = None
    gold_informed: bool = False


class Host(msgspec.Struct, frozen=True):
    """The run that episodes belong to: whether a further one may begin, and whom it tells what each
    turn has used once the agent has decided it, what each reply of the user's model has used, and
    which fault ended an attempt.
    """

    may_start: Callable[[], bool] = lambda: True
    turned: Callable[[Usage | None], None] = lambda usage: None
    spoke: Callable[[Usage], None] = lambda usage: None
    faulted: Callable[[FaultError], None] = lambda error: None


UNWATCHED = Host()
