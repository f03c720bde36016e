"""Episodes of echo worlds."""

import asyncio
from pathlib import Path
from typing import Any

from synth.envs.echo import WORLD
from synth.ledger.storage.journal import Journal
from synth.policies.scripted import expert_policy
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.slots import run_slots
from synth.schemas.policy import Act, Episode, Policy, PolicySpec, View
from synth.schemas.trajectory import (
    Authorship,
    Trajectory,
)

TASKS = WORLD.make_tasks({"turns": 3}, 1, 3)


EXPERT = expert_policy({}, model_name=None, sampling={})


def policy_of(act: Any) -> PolicySpec:
    """A policy from a function of the view."""

    class One:
        async def act(self, view: View) -> Act:
            found = act(view)
            return found if isinstance(found, Act) else Act(turn=found)

    def open_policy(episode: Episode) -> Policy:
        return One()

    return PolicySpec(
        name="one", authorship=Authorship.SCRIPTED, identity={"one": 1}, open=open_policy
    )


def work(policy: PolicySpec = EXPERT, index: int = 0, **limits: Any) -> EpisodeSpec:
    task = TASKS[index]
    return EpisodeSpec(
        slot_id=f"slot{index}",
        task=task,
        trial=0,
        seed=1,
        synthesizer="rollout",
        policy=policy,
        limits=Limits(**limits),
    )


def fill(
    tmp_path: Path,
    works: list[EpisodeSpec],
    config: dict[str, Any] | None = None,
    worlds: Any = None,
) -> list[Trajectory]:
    journal = Journal(tmp_path / "journal.jsonl")
    open_world = worlds or (lambda work: WORLD.open({"turns": 3, **(config or {})}))
    try:
        return asyncio.run(
            run_slots(
                works,
                open_world,
                None,
                journal,
                {},
                live_episodes=8,
            )
        )
    finally:
        journal.close()
