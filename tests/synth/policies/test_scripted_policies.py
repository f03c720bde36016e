"""Expert, random walk and mixture: seeded, honest about authorship, and strict about settings."""

import asyncio
from collections import Counter
from importlib import import_module

import msgspec
import pytest
from pydantic import ValidationError

from synth.envs.echo import SPEC, WORLD, EchoEnv, make_tasks, open_echo
from synth.policies.chance import trial_seed
from synth.policies.mixture import mixture_policy
from synth.policies.registry import POLICIES
from synth.policies.scripted import NOTHING_LEFT, expert_policy, random_policy
from synth.schemas.environment import AgentTurn
from synth.schemas.errors import ConfigError
from synth.schemas.policy import Episode, View
from tests.synth.recording import RANDOM, recorded

CONFIG = {"turns": 6}
TASKS = make_tasks(CONFIG, 1, 3)


def policy(make, **settings):
    return make(settings, model_name=None, sampling={})


def said(trajectory):
    return [call.arguments for turn in trajectory.turns for call in turn.tool_calls]


def play(spec, task=TASKS[0], **settings):
    return recorded(WORLD, CONFIG, task, spec, **settings)


def which_profile(trajectory, task):
    """The misconception that an echo expert's turns betray."""
    words = [row.where["text"] for row in task.check.required if row.table == "said"]
    echoed = len(said(trajectory)) - 1
    return {len(words): "correct", len(words) - 1: "stops_early", len(words) + 1: "stutters"}[
        echoed
    ]


def test_every_registered_policy_names_an_existing_function():
    for target in POLICIES.values():
        module, _, attribute = target.partition(":")
        if module == "synth.policies.chat":
            continue
        assert callable(getattr(import_module(module), attribute))


def test_the_correct_expert_solves_its_tasks():
    assert all(play(policy(expert_policy), task).check_result.passed for task in TASKS)


def test_a_mixed_trial_keeps_one_profile_across_all_tasks():
    for trial in range(6):
        profiles = {
            which_profile(
                play(policy(expert_policy, profiles="mixed"), task, trial=trial, seed=7), task
            )
            for task in TASKS
        }
        assert len(profiles) == 1


def test_mixed_trials_draw_every_profile():
    drawn = {
        which_profile(play(policy(expert_policy, profiles="mixed"), trial=trial), TASKS[0])
        for trial in range(20)
    }
    assert drawn == {"correct", "stops_early", "stutters"}


def test_the_flow_seed_draws_other_profiles():
    def profiles(seed):
        return [
            which_profile(
                play(policy(expert_policy, profiles="mixed"), trial=t, seed=seed), TASKS[0]
            )
            for t in range(12)
        ]

    assert profiles(1) == profiles(1)
    assert profiles(1) != profiles(2)


def test_the_trial_seed_depends_on_flow_seed_and_trial_alone():
    seeds = {
        (seed, trial): trial_seed(Episode(None, None, trial, seed))
        for seed in range(20)
        for trial in range(20)
    }
    assert len(set(seeds.values())) == 400
    assert all(0 <= value < 2**63 for value in seeds.values())
    assert seeds[1, 11] == trial_seed(Episode(open_echo({}), None, 11, 1))


class ThinksAloud(EchoEnv):
    async def expert(self, profile=None, seed=0):
        return msgspec.structs.replace(
            await super().expert(profile, seed), thought="I know the answer."
        )


def test_thoughts_of_the_planner_are_not_the_agents():
    async def act():
        env = ThinksAloud(WORLD.config.model_validate(CONFIG))
        opening = await env.reset(TASKS[0])
        return await policy(expert_policy).open(Episode(env, None, 0, 0)).act(View(opening, ()))

    assert asyncio.run(act()).turn.thought is None


class Bare(EchoEnv):
    spec = msgspec.structs.replace(SPEC, name="bare", capabilities=frozenset({"facts"}))


@pytest.mark.parametrize(
    ("make", "capability"), [(expert_policy, "expert"), (random_policy, "affordances")]
)
def test_a_world_without_the_capability_is_named(make, capability):
    with pytest.raises(ConfigError, match=f"world bare has no {capability}"):
        policy(make).open(Episode(Bare(WORLD.config()), None, 0, 0))


def test_a_profile_that_the_world_does_not_know_is_refused_with_those_it_has():
    with pytest.raises(
        ConfigError, match="no profile 'stutter'; it has correct, mixed, stops_early, stutters"
    ):
        policy(expert_policy, profiles="stutter").open(Episode(open_echo({}), None, 0, 0))


def test_the_random_walk_repeats_for_the_same_seed_and_trial_only():
    walks = {
        (seed, trial): tuple(said(play(RANDOM, seed=seed, trial=trial, max_turns=8)))
        for seed in range(3)
        for trial in range(3)
    }
    assert walks[1, 1] == tuple(said(play(RANDOM, seed=1, trial=1, max_turns=8)))
    assert len(set(walks.values())) > 6


def test_the_random_walk_takes_each_affordance_about_as_often():
    class FourDoors(EchoEnv):
        async def affordances(self):
            return tuple(AgentTurn(door) for door in "abcd")

    async def doors():
        env = FourDoors(WORLD.config())
        opening = await env.reset(TASKS[0])
        walks = [RANDOM.open(Episode(env, None, trial, 0)) for trial in range(2000)]
        return Counter([(await walk.act(View(opening, ()))).turn.content for walk in walks])

    counts = asyncio.run(doors())
    assert set(counts) == set("abcd")
    assert all(abs(count - 500) < 4 * (2000 * 0.25 * 0.75) ** 0.5 for count in counts.values())


def test_the_random_walk_says_so_where_nothing_can_be_done():
    class NoWayOut(EchoEnv):
        async def affordances(self):
            return ()

    async def act():
        env = NoWayOut(WORLD.config())
        return (
            await RANDOM.open(Episode(env, None, 0, 0)).act(View(await env.reset(None), ()))
        ).turn

    assert asyncio.run(act()) == NOTHING_LEFT


@pytest.mark.parametrize(
    ("make", "settings"),
    [
        (expert_policy, {"profile": "mixed"}),
        (random_policy, {"seed": 1}),
        (mixture_policy, {"of": [{"policy": "random"}]}),
        (mixture_policy, {"of": [{"policy": "random", "weight": 0}, {"policy": "expert"}]}),
        (
            mixture_policy,
            {"of": [{"policy": "random", "weight": float("inf")}, {"policy": "expert"}]},
        ),
        (mixture_policy, {}),
    ],
)
def test_settings_that_no_policy_takes_are_errors(make, settings):
    with pytest.raises(ValidationError):
        make(settings, model_name=None, sampling={})
