"""The tests of one state: alternatives are found, and each is compared with the own act; now and
then the own act is, with itself.
"""

from collections.abc import Mapping
from itertools import chain

import msgspec

from synth.engine.asking import RoleClient
from synth.engine.context import Role, Run
from synth.ledger.role_reply import RoleReply
from synth.models.admission import ConcurrencyLimit
from synth.rollout.limits import Limits
from synth.rollout.start import ForcedAct, recorded_act
from synth.schemas.policy import Act
from synth.schemas.trajectory import Trajectory
from synth.synthesizers.continuations import Continuations
from synth.synthesizers.step_effect import Effect, step_effect
from synth.synthesizers.steps.alternatives import (
    Alternative,
    DecisionState,
    Sampled,
    asked_for,
    merged,
    played_there,
)
from synth.synthesizers.steps.labels import StepTest

TESTED_MASK = "tested_act"
"""Why nothing is trained on the act that a continuation begins with."""


EXPERT = "expert"
"""The policy that plays what the world itself plans, and the capability that it needs."""


class Tested(msgspec.Struct, frozen=True):
    """What came of a state: its tests, or why there are none; `open`: a rerun may tell more, and no
    label is made of it until then.
    """

    tests: tuple[StepTest, ...] = ()
    replies: tuple[RoleReply, ...] = ()
    continuations: tuple[Trajectory, ...] = ()
    untested: str | None = None
    open: bool = False


class StateTests:
    """The tests of one shard's states, by the continuations of one role."""

    def __init__(
        self,
        run: Run,
        shard: str,
        synthesizer: str,
        role_name: str,
        role: Role,
        sources: Mapping[str, Role],
        *,
        alternatives: int,
        samples: int,
        limits: Limits,
        places: ConcurrencyLimit,
        seed: int,
    ) -> None:
        self._run = run
        self._shard = shard
        self._synthesizer = synthesizer
        self._role_name = role_name
        self._role = role
        self._sources = sources
        self._alternatives = alternatives
        self._samples = samples
        self._limits = limits
        self._places = places
        self._seed = seed
        self._shared = Continuations(run, shard)
        self._asking = {
            name: RoleClient(run, shard, name, source)
            for name, source in sources.items()
            if source.model is not None
        }

    async def test(self, state: DecisionState, *, control: bool) -> Tested:
        """All tests of a state, one after the other: they share the continuations of the own
        act.
        """
        sampled = [
            await self._sample(name, source, state) for name, source in self._sources.items()
        ]
        replies = tuple(chain.from_iterable(found.replies for found in sampled))
        others = merged(state.own, [found.alternatives for found in sampled], self._alternatives)
        if any(found.open for found in sampled):
            return Tested(replies=replies, open=True)
        candidates: list[Alternative | None] = [
            *others,
            *([None] if control and not self._flips(state) else []),
        ]
        tests = [StepTest(other, await self._effect(state, other)) for other in candidates]
        lost = next((found.lost for found in sampled if found.lost is not None), None)
        return Tested(
            tests=tuple(tests),
            replies=replies,
            continuations=tuple(chain.from_iterable(test.effect.continuations for test in tests)),
            untested=None if others else lost or "no_alternative",
            open=any(test.effect.open for test in tests),
        )

    def _flips(self, state: DecisionState) -> bool:
        """Whether the own act is certain to come to the same again, so that comparing it with
        itself says nothing.
        """
        spec = self._run.spec_of(state.task.env, state.task.env_config)
        return self._role.policy.deterministic and spec.deterministic and self._role.user is None

    async def _sample(self, name: str, source: Role, state: DecisionState) -> Sampled:
        able = self._run.spec_of(state.task.env, state.task.env_config).capabilities
        if (source is self._role and source.policy.deterministic) or (
            source.policy.name == EXPERT and EXPERT not in able
        ):
            return Sampled(())
        if source.model is not None:
            return await asked_for(
                self._asking[name],
                name,
                source,
                state,
                self._seed,
                self._alternatives,
                self._samples,
            )
        version = self._run.spec_of(state.task.env, state.task.env_config).version
        return await played_there(
            self._shared,
            name,
            source,
            state,
            seed=self._seed,
            samples=self._samples,
            limits=self._limits,
            places=self._places,
            version=version,
        )

    async def _effect(self, state: DecisionState, other: Alternative | None) -> Effect:
        own = ForcedAct(act=recorded_act(state.parent.turns[state.turn]), mask=TESTED_MASK)
        return await step_effect(
            self._run,
            self._shard,
            synthesizer=self._synthesizer,
            parent=state.parent,
            task=state.task,
            turn=state.turn,
            good=own if other is None else ForcedAct(act=Act(turn=other.turn), mask=TESTED_MASK),
            bad=own,
            role_name=self._role_name,
            role=self._role,
            limits=self._limits,
            places=self._places,
            seed=self._seed,
            shared=self._shared,
        )
