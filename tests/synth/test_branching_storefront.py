"""What the storefront answered once it answers again, from every turn."""

import asyncio

import pytest

from synth.branching import branch, replay
from synth.envs.storefront import WORLD
from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import SampledBy
from tests.synth.recording import EXPERT, RANDOM, record


@pytest.mark.parametrize("policy", [EXPERT, RANDOM], ids=["expert", "random"])
def test_every_recorded_storefront_trajectory_replays_exactly_and_branches_at_every_turn(policy):
    async def all_of_it():
        for trial, task in enumerate(WORLD.make_tasks({}, 4, 3)):
            trajectory = await record(
                WORLD.open(task.env_config), task, policy, trial=trial, max_turns=12
            )
            again = await replay(WORLD.open(task.env_config), task, trajectory)
            assert again.first_difference is None
            for turn in range(len(trajectory.turns)):
                env = WORLD.open(task.env_config)
                await branch(env, task, trajectory, turn)
                done = [t for t in trajectory.turns[turn:] if t.sampled_by is not SampledBy.CANNED]
                rest = [await env.step(AgentTurn(t.content, t.tool_calls)) for t in done]
                assert [(r.observations, r.state_key) for r in rest] == [
                    (t.observations, t.state_key) for t in done
                ]

    asyncio.run(all_of_it())
