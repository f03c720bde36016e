"""Arms of a unit, as a study writes them, and their continuations."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from synth.engine.study.bench import Bench
from synth.engine.study.player import DecisionState, Proposal
from synth.engine.study.step_effect import Effect, Side, continued, step_effect
from synth.rollout.start import ForcedAct
from synth.schemas.environment import AgentTurn
from synth.schemas.outcome import Outcome
from synth.schemas.policy import Act
from synth.schemas.trajectory import Trajectory
from synth.stats.sequential import ROUND
from synth.text.transcript.acts import act_digest

CONTROL = "control"
"""The arm that the others are tested against."""
TESTED_MASK = "tested_act"
"""Why nothing is trained on the act that a continuation begins with."""


class Arm(msgspec.Struct, frozen=True):
    """One way on from a state: the act that is put there (none: the policy decides), then live.

    With `n` it is played so often, in rounds of two, until `enough` have succeeded; without, as
    long as the sequential test against the arm `control` asks for. `guidance` is whispered from
    there on, in arms with `n`.
    """

    name: str
    force: Act | None = None
    n: int | None = None
    enough: int | None = None
    guidance: str | None = None

    @property
    def put(self) -> ForcedAct:
        """What the sequential test puts there. Raises `ValueError` for an arm that puts nothing."""
        if self.force is None:
            raise ValueError(f"arm {self.name!r}: a sequential test needs `force`; or give `n`")
        return ForcedAct(act=self.force, mask=TESTED_MASK)


class Episodes(msgspec.Struct, frozen=True):
    """What the arms of a unit came to, by name; and the tests among them."""

    sides: Mapping[str, Side]
    effects: Mapping[str, Effect]
    attempts: Sequence[Trajectory] = ()
    forced: Mapping[str, AgentTurn] = {}
    unsettled: bool = False
    """Whether an arm with a number of continuations lost some that a rerun would play."""

    def __getitem__(self, arm: str) -> Side:
        return self.sides[arm]

    def sequential_test(self, treated: str, control: str = CONTROL) -> Effect:
        """The test of an arm against the control. Raises `ValueError` for arms that were not."""
        if control != CONTROL or treated not in self.effects:
            known = ", ".join(self.effects) or "none"
            raise ValueError(
                f"{treated!r} was not tested against {control!r}; tested against {CONTROL!r} "
                f"were: {known}"
            )
        return self.effects[treated]

    @property
    def open(self) -> bool:
        """Whether a rerun may tell more."""
        return self.unsettled or any(one.open for one in self.effects.values())

    def values(self, own: AgentTurn) -> Iterator[tuple[str, Side]]:
        """The acts of tests that came to a verdict, with their continuations."""
        for name, effect in self.effects.items():
            if effect.accepted is not None:
                yield act_digest(self.forced.get(name, own)), effect.good
                yield act_digest(self.forced.get(CONTROL, own)), effect.bad


async def play_arms(
    bench: Bench, state: DecisionState, arms: Sequence[Arm], proposal: Proposal | None = None
) -> Episodes:
    """Plays them, the sequential ones one after the other."""
    named = {arm.name: arm for arm in arms}
    effects: dict[str, Effect] = {}
    sides: dict[str, Side] = {}
    attempts: list[Trajectory] = []
    for arm in arms:
        if arm.n is not None:
            sides[arm.name], made = await _so_often(bench, state, arm, arm.n)
        elif arm.name != CONTROL:
            good, bad = arm.put, named[CONTROL].put
            effect = await step_effect(bench.shared, bench.player, state, good, bad)
            made, sides[arm.name], sides[CONTROL] = effect.continuations, effect.good, effect.bad
            ours = None if proposal is None or arm.force != proposal.act else proposal
            effects[arm.name] = msgspec.structs.replace(effect, proposal=ours)
        else:
            continue
        attempts += made
    forced = {arm.name: arm.force.turn for arm in arms if arm.force is not None}
    unsettled = any(_unsettled(sides[arm.name], arm.enough) for arm in arms if arm.n is not None)
    return Episodes(sides, effects, attempts, forced, unsettled)


async def same_act_twice(bench: Bench, state: DecisionState, arms: Sequence[Arm]) -> Episodes:
    """The control arm against itself: how often the test finds something where there is nothing."""
    (control,) = (arm for arm in arms if arm.name == CONTROL)
    again = msgspec.structs.replace(control, name="again")
    return await play_arms(bench, state, (again, control))


def undecided(side: Side, enough: int) -> bool:
    """Whether what was lost could have made it enough successes."""
    lost = sum(one.outcome in (None, Outcome.UNKNOWN) for one in side.played)
    return side.successes < enough <= side.successes + lost


def _unsettled(side: Side, enough: int | None) -> bool:
    open_ = any(one.open for one in side.played)
    return open_ and (enough is None or undecided(side, enough))


async def _so_often(
    bench: Bench, state: DecisionState, arm: Arm, n: int
) -> tuple[Side, list[Trajectory]]:
    """An arm with a fixed number of continuations."""
    put = None if arm.force is None else arm.put
    works = [
        continued(bench.run, bench.player, state, put, draw, arm.guidance)
        for draw in range(1, n + 1)
    ]
    side, attempts = Side(), list[Trajectory]()
    while len(side.played) < n and (arm.enough is None or side.successes < arm.enough):
        at, player = len(side.played), bench.player
        found, made = await bench.shared.filled(
            works[at : at + ROUND], player.role.model, player.places
        )
        side, attempts = Side((*side.played, *found)), [*attempts, *made]
    return side, attempts
