"""What TRL finds in an environment: tools that are their own schemas, in the order of the world, a
reset and a reward.
"""

import inspect
from typing import Any

import msgspec
import pytest

from synth.boundary import FaultError
from synth.envs.echo import EchoConfig, EchoEnv
from synth.flows.environments import bindings_of, open_env
from synth.rl.trl import environment_factories
from synth.schemas.check import CheckResult
from synth.schemas.errors import ConfigError

TASK = bindings_of({}).make_tasks("echo", {"turns": 2}, 5, 1)[0]
BROKEN = bindings_of({}).make_tasks("echo", {"turns": 2, "fail_at_turn": 0}, 5, 1)[0]
ECHO = {
    "type": "function",
    "function": {
        "name": "echo",
        "description": "Says a text back.",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
    },
}
FINISH = {
    "type": "function",
    "function": {
        "name": "finish",
        "description": "Ends the work.",
        "parameters": {"type": "object", "properties": {}},
    },
}


def row(**changes: Any) -> dict[str, Any]:
    task = changes.pop("of", TASK)
    text = msgspec.json.encode(task).decode()
    return {
        "task": text,
        "environment": "echo",
        "tool_schemas": [ECHO, FINISH],
        "task_id": task.task_id,
        "prompt": [],
        **changes,
    }


def made(found: Any) -> Any:
    return environment_factories([found], open_env)["echo"]()


def tools(environment: Any) -> list[Any]:
    """As GRPOTrainer of TRL 1.16 finds them."""
    members = inspect.getmembers(type(environment), predicate=inspect.isfunction)
    return [
        getattr(environment, name)
        for name, _ in members
        if name not in ("reset", "get_reward") and not name.startswith("_")
    ]


def begun(environment: Any, found: dict[str, Any]) -> Any:
    assert (
        environment.reset(**{name: value for name, value in found.items() if name != "environment"})
        is None
    )
    return environment


def test_tools_are_the_schemas_of_the_row_in_their_order_and_can_be_called_by_name() -> None:
    environment = begun(made(row()), row())
    echo, finish = tools(environment)
    assert [echo, finish] == [ECHO, FINISH]
    assert (echo.__name__, finish.__name__) == ("echo", "finish")
    first, second = TASK.goal.rpartition(": ")[2].split()
    assert first in echo(text=first)
    echo(text=second)
    assert environment.get_reward() == 0.0
    finish()
    assert environment.get_reward() == 1.0


def test_environments_of_one_factory_share_no_world() -> None:
    factory = environment_factories([row()], open_env)["echo"]
    one, other = begun(factory(), row()), begun(factory(), row())
    for tool, arguments in zip(
        [tools(one)[0]] * 2, TASK.goal.rpartition(": ")[2].split(), strict=True
    ):
        tool(text=arguments)
    tools(one)[1]()
    assert (one.get_reward(), other.get_reward()) == (1.0, 0.0)


def test_a_fault_is_no_reward_which_trl_leaves_out() -> None:
    environment = begun(made(row(of=BROKEN)), row(of=BROKEN))
    with pytest.raises(FaultError, match="planned"):
        tools(environment)[0](text="a")
    assert environment.get_reward() is None


def test_what_the_check_cannot_tell_is_no_reward_either() -> None:
    class Unsure(EchoEnv):
        async def check(self) -> CheckResult:
            return msgspec.structs.replace(await super().check(), passed=None)

    def unsure(_: str, config: Any) -> Any:
        return Unsure(EchoConfig.model_validate(dict(config)))

    environment = begun(environment_factories([row()], unsure)["echo"](), row())
    tools(environment)[1]()
    assert environment.get_reward() is None


def test_a_world_that_cannot_be_opened_is_no_reward_and_the_training_goes_on() -> None:
    def broken(name: str, config: Any) -> Any:
        raise OSError("no port is free")

    environment = begun(environment_factories([row()], broken)["echo"](), row())
    with pytest.raises(FaultError, match="opening the world: OSError: no port is free"):
        tools(environment)[0](text="a")
    assert environment.get_reward() is None


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row(tool_schemas=[])], "shows no tools: no trial of it was played"),
        ([row(), row(tool_schemas=[ECHO])], "tasks of echo show different tools"),
    ],
)
def test_rows_that_trl_cannot_be_told_of_are_refused_before_training(
    rows: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        environment_factories(rows, open_env)


def test_a_world_that_shows_other_tools_than_the_row_ends_the_training() -> None:
    found = row(tool_schemas=[FINISH])
    with pytest.raises(ConfigError, match="shows other tools than the row says"):
        begun(made(found), found)
