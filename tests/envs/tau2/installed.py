"""τ²-bench for these tests: its domains, or a line that says what is missing; episodes, and the
package's own evaluation of them.
"""

import asyncio
import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from synth.schemas.environment import AgentTurn, Env
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall

tau2 = pytest.importorskip(
    "synth.envs.tau2", reason="needs tau2-bench: `make test-tau2`", exc_type=ImportError
)
WORLD, SPEC = tau2.WORLD, tau2.SPEC
DOMAINS = ("telecom", "retail", "airline")


def tasks(name: str, count: int, seed: int = 7) -> list[Task]:
    return list(WORLD.make_tasks({"domain": name}, seed, count))


def task_named(name: str, identity: str) -> Task:
    from synth.envs.tau2.tasks import made_task

    found = made_task(SPEC.name, name, identity)
    assert isinstance(found, Task), found
    return found


def calls(*done: tuple[str, dict[str, Any]]) -> AgentTurn:
    made = (
        ToolCall.received(f"c{n}", name, json.dumps(given)) for n, (name, given) in enumerate(done)
    )
    return AgentTurn(tool_calls=tuple(made))


def solution(task: Task) -> list[AgentTurn]:
    """The authors' actions, a turn each, and what ends them."""

    async def turns() -> list[AgentTurn]:
        env = WORLD.open(task.env_config)
        await env.reset(task)
        found: list[AgentTurn] = []
        while not found or found[-1].tool_calls:
            found.append(await env.expert())
            if (await env.step(found[-1])).done:
                break
        return found

    return asyncio.run(turns())


def passed(task: Task, turns: Iterable[AgentTurn]) -> bool | None:
    """The world's verdict."""

    async def run() -> bool | None:
        env = WORLD.open(task.env_config)
        await env.reset(task)
        for turn in turns:
            await env.step(turn)
        verdict: bool | None = (await env.check()).passed
        return verdict

    return asyncio.run(run())


def begun(task: Task) -> Env:
    """A world reset to a task."""
    env: Env = WORLD.open(task.env_config)
    asyncio.run(env.reset(task))
    return env


def theirs(task: Task, turns: Sequence[AgentTurn]) -> bool:
    """The verdict of the package's own evaluators, over messages whose answers a plain environment
    of the package gives: none of our code has a part in it.
    """
    from importlib import import_module

    from tau2.data_model.message import AssistantMessage, ToolCall, UserMessage  # type: ignore
    from tau2.data_model.tasks import RewardType  # type: ignore
    from tau2.evaluator.evaluator_action import ActionEvaluator  # type: ignore
    from tau2.evaluator.evaluator_communicate import CommunicateEvaluator  # type: ignore
    from tau2.evaluator.evaluator_env import EnvironmentEvaluator  # type: ignore

    name = str(task.env_config["domain"])
    module = import_module(f"tau2.domains.{name}.environment")
    (wanted,) = [one for one in module.get_tasks(None) if one.id == task.script["task"]]
    solo = name == "telecom"
    env = module.get_environment(solo_mode=solo)
    first = wanted.initial_state
    if first is not None:
        env.set_state(first.initialization_data, first.initialization_actions, [])
    messages: list[Any] = []
    for turn in turns:
        made = [
            ToolCall(id=f"{len(messages)}_{n}", name=one.name, arguments=one.parsed())
            for n, one in enumerate(turn.tool_calls)
            if one.name != "done"
        ]
        if made or turn.content:
            messages.append(
                AssistantMessage(role="assistant", content=turn.content, tool_calls=made or None)
            )
            messages += [env.get_response(one) for one in made]
        if not made and turn.content and not solo:
            messages.append(UserMessage(role="user", content="Thanks."))
    scored = {
        (RewardType.DB, RewardType.ENV_ASSERTION): EnvironmentEvaluator.calculate_reward(
            module.get_environment, wanted, messages, solo_mode=solo
        ),
        (RewardType.ACTION,): ActionEvaluator.calculate_reward(wanted, messages),
        (RewardType.COMMUNICATE,): CommunicateEvaluator.calculate_reward(wanted, messages),
    }
    basis = set(wanted.evaluation_criteria.reward_basis)
    return all(one.reward == 1.0 for kinds, one in scored.items() if basis & set(kinds))
