"""Branches and replays stand on TextWorld as on any world, with snapshots and without."""

import asyncio

import pytest

pytest.importorskip(
    "synth.envs.textworld",
    reason="the extra is missing: pip install -c constraints.txt -e '.[textworld]'",
    exc_type=ImportError,
)

from synth.branching import branch, replay
from synth.envs.textworld import WORLD
from synth.schemas.environment import AgentTurn
from synth.text.provenance import provenance
from tests.envs.textworld.installed import tasks
from tests.synth.recording import EXPERT, RANDOM, record, recorded


@pytest.mark.slow
def test_trajectories_replay_exactly_and_branch_at_every_turn_with_and_without_snapshots() -> None:
    async def all_of_it() -> None:
        for task, policy in zip(tasks(2), (EXPERT, RANDOM), strict=True):
            trajectory = await record(WORLD.open(task.env_config), task, policy, max_turns=12)
            assert (
                await replay(WORLD.open(task.env_config), task, trajectory)
            ).first_difference is None
            halfway = WORLD.open(task.env_config)
            await branch(halfway, task, trajectory, len(trajectory.turns) // 2)
            snapshots = {len(trajectory.turns) // 2: await halfway.snapshot()}
            for turn in range(len(trajectory.turns)):
                for kept in ({}, snapshots):
                    env = WORLD.open(task.env_config)
                    await branch(env, task, trajectory, turn, snapshots=kept)
                    rest = [
                        await env.step(AgentTurn(t.content, t.tool_calls))
                        for t in trajectory.turns[turn:]
                    ]
                    assert [(r.observations, r.state_key) for r in rest] == [
                        (t.observations, t.state_key) for t in trajectory.turns[turn:]
                    ]
                    await env.close()

    asyncio.run(all_of_it())


@pytest.mark.slow
def test_every_name_that_the_expert_uses_was_shown_before() -> None:
    reports = [
        provenance(recorded(WORLD, task.env_config, task, EXPERT, trial=trial))
        for task in tasks(2)
        for trial in range(2)
    ]
    assert [finding for report in reports for finding in report.unjustified] == []
    assert sum(report.counts["observed"] for report in reports) > 5
