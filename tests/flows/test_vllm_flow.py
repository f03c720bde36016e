"""A flow on engine vllm: several servers, one of which dies in the middle; an only server that
restarts.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from synth.ledger import StoredLedger
from synth.schemas.trajectory import Trajectory
from tests.flow_files import model_flow, run_flow
from tests.synth.models.chat_brains import Body, echo_expert
from tests.synth.models.chat_server import ChatServer

ENV = {"name": "echo", "tasks": 12, "turns": 3}
STAGES = [{"rollout": {"trials": 4}}]
WEIGHTS = {"fingerprint": None, "root": "weights/1", "model": "test"}


def rolled_out(urls: list[str], folder: Path, **model: Any) -> list[Trajectory]:
    flow = model_flow(
        "",
        model={"engine": "vllm", "base_url": urls, "max_retries": 0, **model},
        env=ENV,
        stages=STAGES,
    )
    run_flow(flow, str(folder))
    return list(StoredLedger(str(folder)).trajectories())


def after(calls: int, then: Callable[[], None]) -> Callable[[Body], dict[str, Any]]:
    """Plays the expert, and lets something happen once, after so many calls."""
    seen = [0]

    def brain(body: Body) -> dict[str, Any]:
        seen[0] += 1
        if seen[0] == calls:
            then()
        return echo_expert(body)

    return brain


@pytest.mark.slow
def test_episodes_keep_token_ids_and_the_weights_that_spoke(tmp_path: Path) -> None:
    with ChatServer(echo_expert, **WEIGHTS) as one, ChatServer(echo_expert, **WEIGHTS) as two:
        trajectories = rolled_out([one.url, two.url], tmp_path / "run")
    assert {(t.outcome, t.weights_id) for t in trajectories} == {("success", "weights/1")}
    assert all(
        turn.prompt_token_ids and turn.completion_token_ids
        for t in trajectories
        for turn in t.turns
    )


@pytest.mark.slow
def test_one_task_is_asked_of_one_server(tmp_path: Path) -> None:
    with ChatServer(echo_expert, **WEIGHTS) as one, ChatServer(echo_expert, **WEIGHTS) as two:
        rolled_out([one.url, two.url], tmp_path / "run", max_in_flight=1)
        goals = [
            {body["messages"][1]["content"] for body in server.bodies} for server in (one, two)
        ]
    assert len(goals[0] | goals[1]) == 12
    assert goals[0] & goals[1] == set()
    assert min(map(len, goals)) > 0


@pytest.mark.slow
def test_a_server_that_dies_in_mid_run_costs_no_episode(tmp_path: Path) -> None:
    with ChatServer(echo_expert, **WEIGHTS) as stays:
        dies = ChatServer(**WEIGHTS)
        dies.brain = after(
            30, lambda: dies._loop.call_soon_threadsafe(lambda: asyncio.ensure_future(dies.stop()))
        )
        with dies:
            trajectories = rolled_out([stays.url, dies.url], tmp_path / "run", max_retries=2)
    assert len(trajectories) == 48
    assert {t.outcome for t in trajectories} == {"success"}
    assert dies.counts()["total"] >= 30
    assert stays.counts()["answered"] > 192 / 2, "of 192 calls it had to answer the greater part"


@pytest.mark.slow
def test_an_only_server_that_restarts_in_mid_run_costs_no_episode_and_other_weights_are_told(
    tmp_path: Path,
) -> None:
    first = ChatServer(latency_s=0.01, **WEIGHTS)
    second = ChatServer(echo_expert, **{**WEIGHTS, "root": "weights/2"})

    async def restart() -> None:
        await first.stop()
        second.port = first.port
        await asyncio.sleep(0.3)
        await second.start()

    first.brain = after(
        60, lambda: first._loop.call_soon_threadsafe(lambda: asyncio.ensure_future(restart()))
    )
    with first:
        trajectories = rolled_out([first.url], tmp_path / "run", max_retries=1, max_in_flight=8)
    assert len(trajectories) == 48
    assert {t.outcome for t in trajectories} == {"success"}
    told = {t.weights_id for t in trajectories}
    assert {"weights/1", "weights/2"} <= told <= {"weights/1", "mixed", "weights/2"}, (
        "mixed where an episode was under way"
    )
