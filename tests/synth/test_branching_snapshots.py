"""Going on from any turn of a recorded trajectory, by replay or from a snapshot."""

import asyncio

import pytest

from synth.branching import DriftError, branch
from synth.envs.echo import WORLD, EchoEnv, open_echo
from synth.schemas.environment import AgentTurn, Opening, Snapshot
from tests.synth.test_branching import CONFIG, TASK, TRAJECTORY, replaced


async def rest_from(env, task, trajectory, turn):
    """The recorded turns from `turn` on, done in a world that was branched there."""
    return [await env.step(AgentTurn(t.content, t.tool_calls)) for t in trajectory.turns[turn:]]


@pytest.mark.parametrize("with_snapshots", [False, True], ids=["by replay", "by snapshot"])
def test_going_on_from_every_turn_gives_the_recorded_rest(with_snapshots):
    async def from_every_turn():
        source, snapshots = open_echo(CONFIG), {}
        await source.reset(TASK)
        for index, turn in enumerate(TRAJECTORY.turns):
            snapshots[index] = await source.snapshot()
            await source.step(AgentTurn(turn.content, turn.tool_calls))
        for turn in range(len(TRAJECTORY.turns) + 1):
            env = open_echo(CONFIG)
            opening = await branch(
                env, TASK, TRAJECTORY, turn, snapshots=snapshots if with_snapshots else None
            )
            assert opening == Opening(
                TRAJECTORY.system_prompt,
                TRAJECTORY.tools,
                TRAJECTORY.opening,
                TRAJECTORY.opening_state_key,
            )
            rest = await rest_from(env, TASK, TRAJECTORY, turn)
            assert [(r.observations, r.state_key) for r in rest] == [
                (t.observations, t.state_key) for t in TRAJECTORY.turns[turn:]
            ]
            assert await env.check() == TRAJECTORY.check_result

    asyncio.run(from_every_turn())


class CountsItsSteps(EchoEnv):
    """Says how many steps and resets this instance itself was asked for."""

    steps = resets = 0

    async def step(self, turn):
        self.steps += 1
        return await super().step(turn)

    async def reset(self, task):
        self.resets += 1
        return await super().reset(task)


def branched_with(snapshots, turn):
    async def branched():
        env = CountsItsSteps(WORLD.config.model_validate(CONFIG))
        await branch(env, TASK, TRAJECTORY, turn, snapshots=snapshots)
        return env.resets, env.steps

    return asyncio.run(branched())


def snapshot_before(turn):
    async def taken():
        env = open_echo(CONFIG)
        await branch(env, TASK, TRAJECTORY, turn)
        return await env.snapshot()

    return asyncio.run(taken())


def test_the_latest_fitting_snapshot_saves_the_steps_before_it():
    snapshots = {0: snapshot_before(0), 1: snapshot_before(1), 3: snapshot_before(3)}
    assert branched_with(snapshots, 2) == (0, 1)
    assert branched_with(snapshots, 3) == (0, 0)
    assert branched_with(None, 3) == (1, 3)


def test_a_snapshot_of_another_version_is_not_used():
    taken = snapshot_before(1)
    assert branched_with({1: Snapshot(taken.env, "0", taken.blob)}, 2) == (1, 2)


def test_steps_after_a_snapshot_are_still_compared():
    wrong = {1: snapshot_before(0)}
    with pytest.raises(DriftError, match="turn 1: state key"):
        branched_with(wrong, 2)


class CannotBePutAside(CountsItsSteps):
    """A world that cannot put itself aside."""

    spec = replaced(WORLD.spec, capabilities=WORLD.spec.capabilities - {"snapshot"})


def test_a_world_without_snapshots_is_replayed_even_if_some_are_given():
    env = CannotBePutAside(WORLD.config.model_validate(CONFIG))
    asyncio.run(branch(env, TASK, TRAJECTORY, 2, snapshots={1: snapshot_before(1)}))
    assert (env.resets, env.steps) == (1, 2)
