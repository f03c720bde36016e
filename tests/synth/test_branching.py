"""A world put before turn k is the recorded world, or it is drift."""

import asyncio
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.branching import DriftError, branch, replay
from synth.envs.echo import WORLD, EchoEnv, make_tasks, open_echo
from synth.schemas.canonical import content_hash
from synth.schemas.environment import AgentTurn
from synth.schemas.outcome import Fault, Outcome, Termination
from synth.schemas.policy import Act
from synth.schemas.trajectory import Observation, SampledBy, Source, ToolCall, Trajectory, Turn
from tests.synth.recording import EXPERT, RANDOM, record, recorded

CONFIG = {"turns": 3}
(TASK,) = make_tasks(CONFIG, 1, 1)
TRAJECTORY = recorded(WORLD, CONFIG, TASK, trial=1)
replaced = msgspec.structs.replace


def replayed(trajectory, *, config=CONFIG, task=TASK):
    return asyncio.run(replay(open_echo(config), task, trajectory))


def with_turn(index, **changes):
    turns = list(TRAJECTORY.turns)
    turns[index] = replaced(turns[index], **changes)
    return replaced(TRAJECTORY, turns=tuple(turns))


def with_observation(index, **changes):
    return with_turn(
        index, observations=(replaced(TRAJECTORY.turns[index].observations[0], **changes),)
    )


@pytest.mark.parametrize("turns", [1, 2, 8])
@pytest.mark.parametrize("trial", range(4))
@pytest.mark.parametrize("policy", [EXPERT, RANDOM], ids=["expert", "random"])
def test_every_recorded_echo_trajectory_replays_exactly(policy, trial, turns):
    config = {"turns": turns}
    for task in make_tasks(config, 9, 3):
        again = replayed(
            recorded(WORLD, config, task, policy, trial=trial), config=config, task=task
        )
        assert (again.matched, again.first_difference) == (True, None)


def test_the_replayed_verdict_is_given_back():
    assert replayed(TRAJECTORY).check == TRAJECTORY.check_result


MUTATIONS = {
    **{
        f"turn {index}: {name}": (index, what, with_observation(index, **changes))
        for index in range(len(TRAJECTORY.turns))
        for name, what, changes in [
            (
                "content",
                "observations",
                {"content": TRAJECTORY.turns[index].observations[0].content + " "},
            ),
            ("error", "observations", {"error": True}),
            ("source", "observations", {"source": Source.ENVIRONMENT}),
            ("call id", "observations", {"call_id": None}),
            ("name", "observations", {"name": "ech0"}),
        ]
    },
    "a missing observation": (1, "observations", with_turn(1, observations=())),
    "an extra observation": (
        1,
        "observations",
        with_turn(1, observations=(*TRAJECTORY.turns[1].observations, Observation("and?"))),
    ),
    "a doubled observation": (
        1,
        "observations",
        with_turn(1, observations=TRAJECTORY.turns[1].observations * 2),
    ),
    "a state key": (1, "state key", with_turn(1, state_key=TRAJECTORY.turns[0].state_key)),
    "no state key": (1, "state key", with_turn(1, state_key=None)),
    "the opening's content": (
        None,
        "observations",
        replaced(TRAJECTORY, opening=(Observation("Echo.", Source.USER),)),
    ),
    "no opening": (None, "observations", replaced(TRAJECTORY, opening=())),
    "the opening's state key": (None, "state key", replaced(TRAJECTORY, opening_state_key="0")),
    "the system prompt": (None, "system prompt", replaced(TRAJECTORY, system_prompt="Be kind.")),
    "the tools": (None, "tools", replaced(TRAJECTORY, tools=TRAJECTORY.tools[:1])),
}


@pytest.mark.parametrize(("turn", "what", "mutated"), MUTATIONS.values(), ids=MUTATIONS.keys())
def test_any_mutation_of_what_was_recorded_is_caught_where_it_is(turn, what, mutated):
    again = replayed(mutated)
    assert not again.matched
    assert (again.first_difference.turn, again.first_difference.what) == (turn, what)
    assert again.check is None
    with pytest.raises(DriftError) as drift:
        asyncio.run(branch(open_echo(CONFIG), TASK, mutated, len(mutated.turns)))
    assert (drift.value.difference.turn, drift.value.difference.what) == (turn, what)


@given(st.data())
def test_any_single_character_of_any_observation_counts(data):
    index = data.draw(st.integers(0, len(TRAJECTORY.turns) - 1))
    content = TRAJECTORY.turns[index].observations[0].content
    place = data.draw(st.integers(0, len(content) - 1))
    new = data.draw(st.characters(exclude_characters=content[place], exclude_categories=["Cs"]))
    found = replayed(
        with_observation(index, content=content[:place] + new + content[place + 1 :])
    ).first_difference
    assert (found.turn, found.what) == (index, "observations")


def test_a_record_that_goes_on_after_the_end_is_drift():
    last = TRAJECTORY.turns[-1]
    longer = replaced(TRAJECTORY, turns=(*TRAJECTORY.turns, replaced(last, index=last.index + 1)))
    assert (replayed(longer).first_difference.turn, replayed(longer).first_difference.what) == (
        last.index,
        "end",
    )


def test_a_record_that_claims_an_end_which_did_not_come_is_drift():
    found = replayed(replaced(TRAJECTORY, turns=TRAJECTORY.turns[:-1])).first_difference
    assert (found.turn, found.what) == (len(TRAJECTORY.turns) - 2, "end")


def test_a_stored_verdict_that_the_check_does_not_repeat_is_a_difference():
    other = replaced(TRAJECTORY.check_result, passed=not TRAJECTORY.check_result.passed)
    again = replayed(replaced(TRAJECTORY, check_result=other))
    assert (again.matched, again.first_difference.what) == (False, "verdict")
    assert again.check == TRAJECTORY.check_result


def test_a_verdict_of_an_older_check_may_differ_but_not_the_facts():
    older = replaced(
        TRAJECTORY.check_result, passed=not TRAJECTORY.check_result.passed, version="0"
    )
    assert replayed(replaced(TRAJECTORY, check_result=older)).matched
    other_facts = replaced(older, facts={**older.facts, "said/0/text": "other"})
    assert (
        replayed(replaced(TRAJECTORY, check_result=other_facts)).first_difference.what
        == "final facts"
    )


def test_an_attempt_that_ended_in_a_fault_replays_up_to_its_last_full_turn():
    cut = replaced(
        TRAJECTORY,
        turns=TRAJECTORY.turns[:2],
        outcome=Outcome.INVALID,
        termination=Termination.FAULT,
        fault=Fault.MODEL,
        check_result=None,
    )
    assert replayed(cut).matched


def test_drift_between_processes_is_caught():
    config = {"turns": 3, "drift_at_turn": 1}
    script = (
        "import sys, asyncio, msgspec; from tests.synth.recording import EXPERT, record; from "
        "synth.envs.echo import make_tasks, open_echo;"
        f"config = {config!r}; (task,) = make_tasks(config, 1, 1);"
        "sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(record(open_echo(config), task, "
        "EXPERT, trial=1))))"
    )
    told = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        check=True,
        timeout=60,
        cwd=Path(__file__).parents[2],
    )
    trajectory = msgspec.json.decode(told.stdout, type=Trajectory)
    (task,) = make_tasks(config, 1, 1)
    again = replayed(trajectory, config=config, task=task)
    assert (again.matched, again.first_difference.turn) == (False, 1)
    asyncio.run(branch(open_echo(config), task, trajectory, 1))
    with pytest.raises(DriftError, match="turn 1: observations recorded as"):
        asyncio.run(branch(open_echo(config), task, trajectory, 2))


@pytest.mark.parametrize("turn", [-1, len(TRAJECTORY.turns) + 1])
def test_there_is_no_state_before_a_turn_that_does_not_exist(turn):
    with pytest.raises(ValueError, match="no state before turn"):
        asyncio.run(branch(open_echo(CONFIG), TASK, TRAJECTORY, turn))


class Greets(EchoEnv):
    """An echo desk that greets first."""

    async def reset(self, task):
        return replaced(await super().reset(task), greeting="Hello!")

    async def step(self, turn):
        assert turn.content != "Hello!", "a greeting is no action"
        return await super().step(turn)


def test_a_canned_greeting_is_compared_but_not_replayed():
    def desk():
        return Greets(WORLD.config.model_validate(CONFIG))

    trajectory = asyncio.run(record(desk(), TASK, EXPERT, trial=1))
    assert (trajectory.turns[0].sampled_by, trajectory.opening) == (SampledBy.CANNED, ())
    assert asyncio.run(replay(desk(), TASK, trajectory)).matched
    opening = asyncio.run(branch(desk(), TASK, trajectory, 2))
    assert (opening.greeting, opening.observations) == (None, ())
    found = asyncio.run(replay(open_echo(CONFIG), TASK, trajectory)).first_difference
    assert (found.turn, found.what, found.expected, found.found) == (
        None,
        "greeting",
        "Hello!",
        None,
    )


class SpeaksInSurrogates(EchoEnv):
    """Answers text with a lone surrogate, which no ledger can hold."""

    async def step(self, turn):
        return (
            replaced(await super().step(turn), observations=(Observation("\ud800"),))
            if turn.content
            else await super().step(turn)
        )


def test_what_the_ledger_cannot_hold_is_compared_as_it_was_stored():
    env = SpeaksInSurrogates(WORLD.config.model_validate(CONFIG))
    turn = Turn(0, "hi", observations=(Observation("\ufffd"),), state_key=content_hash([]))
    stored = replaced(
        TRAJECTORY,
        turns=(turn,),
        check_result=None,
        termination=Termination.TURN_LIMIT,
        outcome=Outcome.TRUNCATED,
        reward=None,
    )
    assert asyncio.run(replay(env, TASK, stored)).matched


def test_arguments_that_are_no_json_are_replayed_to_the_letter():
    class Mumbles:
        async def act(self, view):
            return Act(turn=AgentTurn(tool_calls=(ToolCall.received("c", "echo", '{"text": '),)))

    mumbling = replaced(RANDOM, open=lambda episode: Mumbles())
    assert replayed(recorded(WORLD, CONFIG, TASK, mumbling, max_turns=2)).matched
