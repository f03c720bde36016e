"""Logs of the harness: what is answered as it was becomes a trial of the world, everything else has
its reason.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from synth.branching import replay
from synth.importers.load import entries_of
from synth.importers.records import Imported, ImportSettings
from synth.schemas.task import Task
from synth.schemas.text.messages import to_messages
from synth.schemas.trajectory import Trajectory
from tests.envs.tau2.installed import SPEC, WORLD, solution, task_named

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
needs_real_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="real trajectories absent: ../shared/data"
)
Change = Callable[[dict[str, Any]], None]


def results(task: Task, **simulation: Any) -> dict[str, Any]:
    """A file of the harness, as an environment of the package answers the authors' actions."""
    from importlib import import_module

    from tau2.data_model.message import ToolCall  # type: ignore

    name = str(task.env_config["domain"])
    module = import_module(f"tau2.domains.{name}.environment")
    (wanted,) = [one for one in module.get_tasks(None) if one.id == task.script["task"]]
    env = module.get_environment()
    messages: list[dict[str, Any]] = [
        {"role": "assistant", "content": "Hi! How can I help you today?"},
        {"role": "user", "content": "I need something."},
    ]
    for at, turn in enumerate(solution(task)):
        made = [
            {"id": f"call_{at}_{n}", "name": one.name, "arguments": one.parsed()}
            for n, one in enumerate(turn.tool_calls)
        ]
        messages.append({"role": "assistant", "content": turn.content, "tool_calls": made or None})
        for one in made:
            answer = env.get_response(ToolCall(**one)).model_dump()
            messages.append({key: answer[key] for key in ("id", "role", "content", "error")})
    messages.append({"role": "user", "content": "Thanks! ###STOP###"})
    return {
        "info": {"environment_info": {"domain_name": name, "policy": env.get_policy()}},
        "tasks": [wanted.model_dump(mode="json")],
        "simulations": [
            {
                "id": "s",
                "task_id": wanted.id,
                "trial": 0,
                "termination_reason": "user_stop",
                "reward_info": {"reward": 1.0},
                "messages": messages,
                **simulation,
            }
        ],
    }


def relived(folder: Path, file: dict[str, Any]) -> tuple[Task, Trajectory] | str:
    (folder / "results.json").write_text(json.dumps(file))
    (entry,) = entries_of([folder], "auto", ImportSettings())
    assert isinstance(entry, Imported)
    assert WORLD.relive is not None
    found: tuple[Task, Trajectory] | str = asyncio.run(WORLD.relive(entry.task, entry.trajectory))
    return found


@pytest.mark.parametrize(("name", "identity"), [("retail", "5"), ("airline", "7")])
def test_a_log_becomes_a_trial_of_the_world(tmp_path: Path, name: str, identity: str) -> None:
    wanted = task_named(name, identity)
    found = relived(tmp_path, results(wanted))
    assert not isinstance(found, str), found
    task, trial = found
    assert task == wanted
    assert trial.benchmark == f"tau2-bench/{name}"
    spoken = [one["content"] for one in to_messages(trial) if one["role"] == "user"]
    assert spoken == ["I need something.", "Thanks! ###STOP###"]
    again = asyncio.run(replay(WORLD.open(task.env_config), task, trial))
    assert again.matched, again.first_difference
    assert again.check == trial.check_result


def _policy(file: dict[str, Any]) -> None:
    file["info"]["environment_info"]["policy"] += "\nBe brief."


def _answer(file: dict[str, Any]) -> None:
    messages = file["simulations"][0]["messages"]
    next(one for one in messages if one["role"] == "tool")["content"] = '{"other": "database"}'


def _greeting(file: dict[str, Any]) -> None:
    file["simulations"][0]["messages"][0]["content"] = "Good day."


def _task(file: dict[str, Any]) -> None:
    told = file["tasks"][0]["user_scenario"]["instructions"]
    told["reason_for_call"] = "You want a bicycle."


def _failed(file: dict[str, Any]) -> None:
    file["simulations"][0]["reward_info"]["reward"] = 0.0


def _cut_off(file: dict[str, Any]) -> None:
    file["simulations"][0]["termination_reason"] = "max_steps"


def test_an_agent_that_was_told_another_policy_is_told_it_again(tmp_path: Path) -> None:
    """A fork tunes the policy, and gives the domain another name."""
    wanted = task_named("retail", "5")
    file = results(wanted)
    _policy(file)
    file["info"]["environment_info"]["domain_name"] = "retail_brief"
    found = relived(tmp_path, file)
    assert not isinstance(found, str), found
    task, trial = found
    assert task.task_id != wanted.task_id
    assert task.check == wanted.check
    assert trial.system_prompt == file["info"]["environment_info"]["policy"]
    assert trial.benchmark == "tau2-bench/retail"
    again = asyncio.run(replay(WORLD.open(task.env_config), task, trial))
    assert again.matched, again.first_difference


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_answer, "other_answer"),
        (_greeting, "other_opening"),
        (_task, "unknown_task"),
        (_failed, "another_verdict"),
        (_cut_off, "undecided"),
    ],
)
def test_what_cannot_be_done_again_has_its_reason(tmp_path: Path, change: Change, why: str) -> None:
    file = results(task_named("retail", "5"))
    change(file)
    assert relived(tmp_path, file) == why


def test_telecoms_customers_have_tools_that_no_turn_shows(tmp_path: Path) -> None:
    """Its logs are talks: what the customer did with the phone stands in no turn of the agent's."""
    from importlib import import_module

    module = import_module("tau2.domains.telecom.environment")
    file = results(task_named("retail", "5"))
    file["tasks"] = [module.get_tasks("small")[0].model_dump(mode="json")]
    file["simulations"][0]["task_id"] = file["tasks"][0]["id"]
    file["info"]["environment_info"]["domain_name"] = "telecom"
    assert relived(tmp_path, file) == "customer_with_tools"


@needs_real_data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "relived", "others"),
    [
        ("tau2_retail_multi", 192, {"passed_by_doing_nothing": 8, "undecided": 8}),
        ("tau2_grok", 132, {"unknown_task": 8}),
        ("tau2_retail", 57, {"another_verdict": 39, "passed_by_doing_nothing": 2}),
        (
            "tau2_airline",
            32,
            {"another_verdict": 11, "passed_by_doing_nothing": 18, "undecided": 3},
        ),
    ],
)
def test_real_logs_are_answered_as_they_were(
    family: str, relived: int, others: dict[str, int]
) -> None:
    """Those with another verdict are of one harness, whose files say of each talk that it is about
    another task than it is.
    """
    entries = entries_of([DATA / family], "auto", ImportSettings())
    assert WORLD.relive is not None
    found = [
        asyncio.run(WORLD.relive(one.task, one.trajectory))
        for one in entries
        if isinstance(one, Imported)
    ]
    why = Counter(one for one in found if isinstance(one, str))
    assert why == others
    assert len(found) - why.total() == relived
    assert {one[0].env for one in found if not isinstance(one, str)} == {SPEC.name}
