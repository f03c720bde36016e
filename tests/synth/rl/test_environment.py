"""Episodes for trainers on the echo world: what they show, when they end, what they are worth, and
faults, which are worth nothing.
"""

import asyncio
from typing import Any

import msgspec
import pytest

from synth.boundary import FaultError
from synth.envs.echo import EchoConfig, EchoEnv
from synth.flows.environments import bindings_of, open_env
from synth.rl.episode import OVER
from synth.rl.trl import RlEnvironment
from synth.rollout.limits import Limits
from synth.schemas.check import CheckResult
from synth.schemas.environment import AgentTurn
from synth.schemas.errors import ConfigError
from synth.schemas.outcome import Outcome
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall
from tests.synth.rollout.free_talk import Bar
from tests.synth.rollout.free_talk import task as talk


def task(**settings: Any) -> Task:
    """Says `words`, then finishes."""
    return bindings_of({}).make_tasks("echo", {"turns": 3} | settings, 5, 1)[0]


def words(of: Task) -> list[str]:
    return of.goal.rpartition(": ")[2].split()


def row(of: Task) -> dict[str, Any]:
    return {"task": msgspec.json.encode(of).decode(), "environment": of.env}


def played(environment: RlEnvironment, of: Task, *, finish: bool = True) -> None:
    environment.reset(row(of))
    for word in words(of):
        environment.call("echo", {"text": word})
    if finish:
        environment.call("finish", {})


def test_a_row_begins_its_task_with_the_messages_and_the_tools_of_a_rollout() -> None:
    environment, one = RlEnvironment(open_env), task()
    messages = environment.reset(row(one))
    assert [message["role"] for message in messages] == ["system", "user"]
    assert messages[1]["content"] == one.goal
    assert [tool["function"]["name"] for tool in environment.tools] == ["echo", "finish"]


def test_a_solved_task_is_worth_one_and_any_other_nothing() -> None:
    environment, one = RlEnvironment(open_env), task()
    played(environment, one)
    assert (environment.done, environment.outcome(), environment.reward()) == (
        True,
        Outcome.SUCCESS,
        1.0,
    )
    played(environment, one, finish=False)
    assert (environment.done, environment.outcome(), environment.reward()) == (
        False,
        Outcome.FAILURE,
        0.0,
    )
    environment.reset(one)
    environment.call("echo", '{"text": "nonsense"}')
    assert environment.reward() == 0.0


def test_a_limit_makes_nothing_of_what_the_check_would_accept() -> None:
    environment, one = RlEnvironment(open_env, Limits(max_turns=4)), task(turns=4)
    unfinished = msgspec.structs.replace(
        one, check=msgspec.structs.replace(one.check, required=one.check.required[:4])
    )
    played(environment, unfinished, finish=False)
    assert (environment.done, environment.outcome(), environment.reward()) == (
        True,
        Outcome.TRUNCATED,
        0.0,
    )
    assert environment.call("finish", {}) == OVER


def test_what_the_check_cannot_tell_has_no_reward() -> None:
    class Unsure(EchoEnv):
        async def check(self) -> CheckResult:
            return msgspec.structs.replace(await super().check(), passed=None)

    environment = RlEnvironment(lambda _, config: Unsure(EchoConfig.model_validate(dict(config))))
    played(environment, task())
    assert (environment.outcome(), environment.reward()) == (Outcome.UNKNOWN, None)


def test_nobody_is_shown_what_a_world_leaves_to_a_model_to_say() -> None:
    environment = RlEnvironment(lambda *_: Bar())
    for attempt in (lambda: environment.reset(talk()), environment.reward):
        with pytest.raises(FaultError, match="name a model for it"):
            attempt()


def test_after_the_end_nothing_is_carried_out() -> None:
    environment, one = RlEnvironment(open_env), task()
    played(environment, one)
    after = environment.step(
        AgentTurn(tool_calls=(ToolCall.received("c", "echo", '{"text": "more"}'),))
    )
    assert [(o.content, o.call_id, o.error) for o in after.observations] == [(OVER, "c", True)]
    assert after.done
    assert environment.step(AgentTurn("still there?")).observations[0].content == OVER
    assert environment.reward() == 1.0


def test_a_fault_of_the_world_is_no_reward_and_the_next_episode_is_a_fresh_one() -> None:
    environment = RlEnvironment(open_env)
    environment.reset(task(fail_at_turn=1))
    environment.call("echo", {"text": "a"})
    for attempt in (
        lambda: environment.call("echo", {"text": "b"}),
        environment.reward,
        lambda: environment.call("finish", {}),
    ):
        with pytest.raises(FaultError, match="planned: echo fails at turn 1"):
            attempt()
    played(environment, task())
    assert environment.reward() == 1.0
    environment.reset(task(raise_in_check=True))
    with pytest.raises(FaultError, match="raises in check"):
        environment.reward()


def test_a_world_that_hangs_is_given_up() -> None:
    environment = RlEnvironment(open_env, Limits(step_timeout_s=0.02))
    environment.reset(task(hang_at_turn=0))
    with pytest.raises(FaultError, match="timeout"):
        environment.call("echo", {"text": "a"})


@pytest.mark.parametrize("content", [{}, {"task": 3}, {"task": "{"}, {"task": '{"goal": "x"}'}])
def test_what_is_no_row_of_an_rl_export_is_one_line(content: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="the row") as found:
        RlEnvironment(open_env).reset(content)
    assert "\n" not in str(found.value)


def test_a_call_before_the_beginning_says_what_is_missing() -> None:
    with pytest.raises(ConfigError, match="call reset with a row"):
        RlEnvironment(open_env).call("echo", {})


def test_it_can_be_called_where_an_event_loop_runs() -> None:
    async def notebook() -> float:
        environment = RlEnvironment(open_env)
        played(environment, task())
        return environment.reward()

    assert asyncio.run(notebook()) == 1.0


def test_a_row_of_verl_begins_the_same_task() -> None:
    one = task()
    messages = RlEnvironment(open_env).reset(
        {"reward_model": {"style": "rule", "ground_truth": row(one)["task"]}}
    )
    assert messages[1]["content"] == one.goal
