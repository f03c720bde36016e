"""Worlds that answer with something else, greet, block or hang; a full disk."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from synth.envs.echo import WORLD
from synth.ledger.storage.journal import Journal
from synth.rollout.episode import EpisodeSpec
from synth.rollout.live_envs.threads import ThreadedEnv, Threads
from synth.rollout.slots import run_slots
from synth.schemas.environment import AgentTurn, Env, Opening, Response
from synth.schemas.errors import SynthError
from synth.schemas.outcome import Fault, Outcome
from synth.schemas.trajectory import (
    Observation,
    SampledBy,
    Source,
    Trajectory,
)
from tests.synth.rollout.episodes import fill, policy_of, work


def test_a_world_that_answers_with_something_else_is_at_fault(tmp_path: Path) -> None:
    class Odd:
        spec = WORLD.spec

        def __init__(self, response: Any) -> None:
            self._response = response

        async def reset(self, task: Any) -> Opening:
            return Opening("", (), ())

        async def step(self, turn: AgentTurn) -> Any:
            return self._response

        async def check(self) -> Any:
            return True

        async def close(self) -> None:
            return

    for answer in (
        "text",
        Response(("text",)),
        Response((), reward=float("nan")),
        Response((), done=True),
    ):  # type: ignore[arg-type]
        found = fill(
            tmp_path,
            [work(policy_of(lambda view: AgentTurn("hi")))],
            worlds=lambda work, answer=answer: Odd(answer),
        )
        assert {t.fault for t in found} == {Fault.ENVIRONMENT}


def test_a_canned_greeting_is_a_masked_turn_that_nobody_sampled(tmp_path: Path) -> None:
    class Greeting:
        spec = WORLD.spec

        async def reset(self, task: Any) -> Opening:
            return Opening(
                "",
                (),
                (Observation("Where is my order?", Source.USER),),
                greeting="Hello, how can I help?",
            )

        async def step(self, turn: AgentTurn) -> Response:
            return Response((), done=True)

        async def check(self) -> Any:
            return await WORLD.open({"turns": 3}).check()

        async def close(self) -> None:
            return

    (first, *_) = fill(
        tmp_path,
        [work(policy_of(lambda view: AgentTurn("It is on its way.")))],
        worlds=lambda work: Greeting(),
    )
    greeting = first.turns[0]
    assert (greeting.sampled_by, greeting.mask, greeting.content) == (
        SampledBy.CANNED,
        "canned_greeting",
        "Hello, how can I help?",
    )
    assert first.opening == ()
    assert greeting.observations[0].content == "Where is my order?"


def test_a_full_disk_stops_the_run_instead_of_becoming_a_fault(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").symlink_to("/dev/full")
    with pytest.raises(SynthError, match="the disk is full"):
        fill(tmp_path, [work()])


def test_blocking_worlds_leave_the_event_loop_free_and_a_hang_costs_one_episode(
    tmp_path: Path,
) -> None:
    threads = Threads(2)
    gaps: list[float] = []

    async def scene() -> list[Trajectory]:
        journal = Journal(tmp_path / "j.jsonl")
        works = [work(index=i, step_timeout_s=2) for i in range(3)]

        def open_world(work: EpisodeSpec) -> Env:
            return ThreadedEnv(WORLD.open({"turns": 3, "blocking_ms": 30}), threads)

        async def heartbeat() -> None:
            loop = asyncio.get_running_loop()
            while True:
                began = loop.time()
                await asyncio.sleep(0.005)
                gaps.append(loop.time() - began)

        beat = asyncio.create_task(heartbeat())
        found = await run_slots(
            works,
            open_world,
            None,
            journal,
            {},
            live_episodes=8,
        )
        beat.cancel()
        journal.close()
        return found

    found = asyncio.run(scene())
    assert [t.outcome for t in found] == [Outcome.SUCCESS] * 3
    assert len(gaps) > 20, "the loop ran while worlds blocked"
    assert sorted(gaps)[int(len(gaps) * 0.5)] < 0.03, (
        "a blocking step takes 30 ms; the loop must not wait for it"
    )
