"""The units of a study, the arms that it plays at one of them, and the continuations of each
arm.
"""

from collections.abc import Mapping, Sequence

import msgspec

from synth.engine.study.alternatives import Proposal
from synth.engine.study.effects.effect import Effect, Side
from synth.engine.study.shard import ShardContext
from synth.engine.study.step_effect import DecisionState, continued, step_effect
from synth.rollout.start import BranchPoint, ForcedAct, recorded_act
from synth.schemas import Act, AgentTurn, Outcome, Task, Trajectory
from synth.stats.sequential import ROUND

TREATED, CONTROL = "treated", "control"
"""The arm of a proposed act, and the one that the others are tested against."""
TESTED_MASK = "tested_act"
"""The reason why nothing is trained on the act that a continuation begins with."""


class Unit(msgspec.Struct, frozen=True):
    """A state at which arms are played: `rule` names what suggested it, and with `control` the own
    act is compared with itself there too (A/A). The engine adds the task.
    """

    start: BranchPoint
    rule: str = ""
    control: bool = False
    task: Task | None = None

    @property
    def state(self) -> DecisionState:
        """The state with its task. Raises `ValueError` for a unit that is only planned."""
        if self.task is None:
            raise ValueError("a planned unit has no task yet")
        return DecisionState(self.start.trajectory, self.task, self.start.turn)

    @property
    def recorded_act(self) -> Act:
        """The policy's own act there."""
        return recorded_act(self.start.trajectory.turns[self.start.turn])


class PlannedUnit(msgspec.Struct, frozen=True):
    """A unit before its trial is read; without a turn where only the trial itself tells."""

    trajectory_id: str
    turn: int | None = None
    rule: str = ""
    control: bool = False


class Arm(msgspec.Struct, frozen=True):
    """One way to continue from a state: puts the act `force` there (without one the policy
    decides), then plays live.

    With `n` it is played so often, in rounds of two, until `enough` have succeeded; without, as
    long as the sequential test against the arm `control` needs. `guidance` is hidden guidance from
    there on, in arms with `n`.
    """

    name: str
    force: Act | None = None
    n: int | None = None
    enough: int | None = None
    guidance: str | None = None

    @property
    def put(self) -> ForcedAct:
        """The act that the sequential test puts there. Raises `ValueError` for an arm that puts
        nothing.
        """

        if self.force is None:
            raise ValueError(f"arm {self.name!r}: a sequential test needs `force`; or give `n`")
        return ForcedAct(act=self.force, mask=TESTED_MASK)


class Episodes(msgspec.Struct, frozen=True):
    """The continuations of a unit's arms, by name, and the tests among them."""

    sides: Mapping[str, Side]
    effects: Mapping[str, Effect]
    attempts: Sequence[Trajectory] = ()
    forced: Mapping[str, AgentTurn] = {}
    open: bool = False
    """Whether a rerun may tell more."""

    def __getitem__(self, arm: str) -> Side:
        return self.sides[arm]

    def sequential_test(self, treated: str, control: str = CONTROL) -> Effect:
        """The test of an arm against the control. Raises `ValueError` for an arm that was not
        tested.
        """

        if control != CONTROL or treated not in self.effects:
            known = ", ".join(self.effects) or "none"
            raise ValueError(
                f"{treated!r} was not tested against {control!r}; tested against {CONTROL!r} "
                f"were: {known}"
            )
        return self.effects[treated]


async def play_arms(
    shard: ShardContext,
    state: DecisionState,
    arms: Sequence[Arm],
    proposal: Proposal | None = None,
) -> Episodes:
    """Plays the arms, the sequential ones one after the other."""
    named = {arm.name: arm for arm in arms}
    effects: dict[str, Effect] = {}
    sides: dict[str, Side] = {}
    attempts: list[Trajectory] = []
    still_open = False

    for arm in arms:
        if arm.n is not None:
            sides[arm.name], made = await _so_often(shard, state, arm, arm.n)
            attempts += made
            still_open |= unsettled(sides[arm.name], arm.enough)
        elif arm.name != CONTROL:
            good = arm.put
            bad = named[CONTROL].put
            effect = await step_effect(shard.episodes, shard.player, state, good, bad)
            if proposal is not None and arm.force == proposal.act:
                effect = msgspec.structs.replace(effect, proposed=proposal.described())

            effects[arm.name] = effect
            sides |= {arm.name: effect.good, CONTROL: effect.bad}
            attempts += effect.continuations
            still_open |= effect.open

    forced = {arm.name: arm.force.turn for arm in arms if arm.force is not None}
    return Episodes(sides, effects, attempts, forced, still_open)


async def same_act_twice(
    shard: ShardContext, state: DecisionState, arms: Sequence[Arm]
) -> Episodes:
    """Tests the control arm against itself: an accepted test there is a false discovery."""
    (control,) = (arm for arm in arms if arm.name == CONTROL)
    again = msgspec.structs.replace(control, name="again")
    return await play_arms(shard, state, (again, control))


def undecided(side: Side, enough: int) -> bool:
    """Whether lost continuations could have made it enough successes."""
    lost = sum(one.outcome in (None, Outcome.UNKNOWN) for one in side.played)
    return side.successes < enough <= side.successes + lost


def unsettled(side: Side, enough: int | None) -> bool:
    """Whether a rerun would play lost continuations of an arm with a number."""
    may_change = enough is None or undecided(side, enough)
    return may_change and any(one.open for one in side.played)


async def _so_often(
    shard: ShardContext, state: DecisionState, arm: Arm, n: int
) -> tuple[Side, list[Trajectory]]:
    """Plays an arm with a number of continuations."""
    puts = () if arm.force is None else (arm.put,)
    specs = [
        continued(shard.run, shard.player, state, puts, draw, arm.guidance)
        for draw in range(1, n + 1)
    ]
    side = Side()
    attempts = list[Trajectory]()

    # in rounds, so that no continuation is played once enough have passed
    while len(side.played) < n and (arm.enough is None or side.successes < arm.enough):
        at = len(side.played)
        found, made = await shard.episodes.filled(specs[at : at + ROUND], shard.player)
        side = Side((*side.played, *found))
        attempts = [*attempts, *made]

    return side, attempts
