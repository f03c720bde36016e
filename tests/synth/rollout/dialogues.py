"""Storefront episodes in tests whose customer is a model behind a loopback server."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from synth.envs.storefront import WORLD
from synth.ledger.storage.journal import Event, Journal
from synth.models.registry import open_model
from synth.models.settings import ModelSettings
from synth.policies.chat import chat_policy
from synth.policies.scripted import expert_policy
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.slots import run_slots
from synth.schemas.policy import PolicySpec, User
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory, Turn

TASKS: tuple[Task, ...] = tuple(WORLD.make_tasks({"transient_rate": 0}, 31, 6))
EXPERT = expert_policy({}, model_name=None, sampling={})
CHAT = chat_policy({}, model_name="test-agent", sampling={})


def played(
    folder: Path,
    url: str | None,
    tasks: Sequence[Task] = TASKS,
    *,
    policy: PolicySpec = EXPERT,
    events: Mapping[tuple[str, int], Sequence[Event]] | None = None,
    settings: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
    agent_url: str | None = None,
    **user: Any,
) -> list[Trajectory]:
    """All attempts of an agent at the tasks; the rule-based customer where there is no `url`. The
    journal stays in the folder.

    With an `agent_url` the agent is a model as well.
    """

    async def fill() -> list[Trajectory]:
        talks_to, agent = None, None
        if agent_url is not None:
            agent = open_model(ModelSettings(model="test-agent", base_url=agent_url, max_retries=0))
        if url is not None:
            model = {
                "model": "test-user",
                "base_url": url,
                "timeout_s": 5,
                "max_retries": 0,
                **(settings or {}),
            }
            chat = open_model(ModelSettings.model_validate(model))
            assert WORLD.user is not None
            talks_to = User(**{"model": chat, "name": "test-user", "script": WORLD.user, **user})
        works = [
            EpisodeSpec(
                slot_id=f"slot{index}",
                task=task,
                trial=0,
                seed=1,
                synthesizer="rollout",
                policy=policy if agent is None else CHAT,
                limits=Limits(**(limits or {})),
                user=talks_to,
            )
            for index, task in enumerate(tasks)
        ]
        journal = Journal(folder / "journal" / "s.jsonl")
        try:
            return await run_slots(
                works,
                lambda work: WORLD.open(work.task.env_config),
                agent,
                journal,
                events or {},
                live_episodes=1,
            )
        finally:
            journal.close()
            if talks_to is not None:
                await talks_to.model.close()
            if agent is not None:
                await agent.close()

    return asyncio.run(fill())


def as_given(turn: Turn) -> Turn:
    """A turn in the customer's scripted words, without the time that it took."""
    return msgspec.structs.replace(
        turn, observations=tuple(seen.as_given() for seen in turn.observations), latency_ms=None
    )


def notes(trajectories: Sequence[Trajectory]) -> list[str]:
    """The kinds of all deviations, in order."""
    wordings = [
        seen.wording
        for t in trajectories
        for turn in t.turns
        for seen in turn.observations
        if seen.wording is not None
    ]
    return [
        found.kind
        for wording in wordings
        for turned_down in wording.turned_down
        for found in turned_down.deviations
    ]
