"""A run on a fork whose ways have known chances, and a failed trial that took the left one."""

import asyncio
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from synth.engine.context import Role, Run
from synth.engine.progress import progress_for
from synth.engine.study.effects.effect import Effect
from synth.engine.study.episodes import ShardEpisodes
from synth.engine.study.player import Player
from synth.engine.study.step_effect import DecisionState, step_effect
from synth.ledger.ledger import StageRef, StoredLedger
from synth.ledger.storage.journal import Journal
from synth.models.admission import ConcurrencyLimit
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.slots import run_slots
from synth.rollout.start import ForcedAct, recorded_act
from synth.schemas.flow import Flow
from synth.schemas.outcome import Outcome
from synth.schemas.policy import Act, PolicySpec
from synth.schemas.trajectory import Trajectory
from tests.synthesizers.fork_world import SPEC, WORLD, dice, make_tasks, roller, take

SEED = 5


class Bench:
    """A run on a fork whose ways have known chances, and a failed trial that took the left one."""

    def __init__(self, folder: Path, policy: PolicySpec | None = None, **config: Any) -> None:
        self.ledger = StoredLedger(str(folder / "run"), create=True)
        none: Callable[..., Any] = lambda *given: pytest.fail("nothing is made here")  # noqa: E731
        self.run = Run(
            self.ledger,
            Flow(name="f"),
            {},
            lambda name, settings: WORLD.open({**config, **settings}),
            none,
            lambda name, settings: SPEC,
            progress_for(quiet=True),
        )
        (self.task,) = make_tasks({}, 1, 1)
        self.role = Role(policy or roller({}, model_name=None, sampling={}), None)
        self.parent = self._parent()
        dice.opened, dice.thrown = 0, []

    def _parent(self) -> Trajectory:
        left = roller({}, model_name=None, sampling={})
        work = EpisodeSpec(
            slot_id="base",
            task=self.task,
            trial=0,
            seed=SEED,
            synthesizer="rollout",
            policy=left,
            limits=Limits(),
            role="explorer",
        )
        with self.journal("base"):
            filled = run_slots(
                [work],
                lambda work: WORLD.open({"left": 0}),
                None,
                self.run.journals["base"],
                {},
                live_episodes=1,
            )
            (parent,) = asyncio.run(filled)
        assert parent.outcome is Outcome.FAILURE
        return parent

    @contextmanager
    def journal(self, name: str, *, keep: bool = False) -> Any:
        journal = self.run.journals[name] = Journal(
            self.ledger.journal_folder / f"key-{name}.jsonl"
        )
        try:
            yield
        finally:
            journal.close(discard=not keep)

    async def effect(
        self, good: ForcedAct | None = None, bad: ForcedAct | None = None, **changes: Any
    ) -> Effect:
        player = Player("explorer", self.role, Limits(), ConcurrencyLimit(8), SEED, "critical_step")
        names = {"limits", "seed", "synthesizer"} & changes.keys()
        player = replace(player, **{name: changes.pop(name) for name in names})
        shared = changes.pop("shared", None) or ShardEpisodes(self.run, "s")
        state = DecisionState(self.parent, self.task, 0)
        own = ForcedAct(act=recorded_act(self.parent.turns[0]), mask="tested_act")
        return await step_effect(shared, player, state, good or RIGHT, bad or own, **changes)

    def tested(self, *tests: Any) -> list[Effect]:
        """Effects one after the other, with what they have in common played once."""

        async def all_() -> list[Effect]:
            shared = ShardEpisodes(self.run, "s")
            return [await test(shared=shared) for test in tests or (self.effect,)]

        with self.journal("s"):
            return asyncio.run(all_())

    def commit(self, effects: list[Effect]) -> None:
        made = [attempt for effect in effects for attempt in effect.continuations]
        self.ledger.commit(StageRef("critical_step", "key"), trajectories=made, tasks=[self.task])


RIGHT = ForcedAct(act=Act(turn=take("right")), mask="tested_act")
