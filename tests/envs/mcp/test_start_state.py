"""What an MCP world starts from: its folder and its task file, as they are now."""

from pathlib import Path
from typing import Any

import pytest

from envs.mcp.world import WORLD, start_state
from flows.resolve import resolve
from schemas.errors import ConfigError, FlowError
from schemas.flow import Flow
from synthesizers.reverse.choosing import chosen
from tests.synthesizers.reverse.test_choosing import task

TASK = '- goal: Make b.\n  check: {required: [{table: file, where: {id: b, content: "y"}}]}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "start"
    path.mkdir()
    (path / "todo.txt").write_text("paint the fence")
    return path


def config(folder: Path, **changes: Any) -> dict[str, Any]:
    return {"command": ["server"], "folder": str(folder), **changes}


def test_a_start_folder_that_was_changed_emptied_or_filled_is_another_start(folder: Path) -> None:
    states = [start_state(config(folder))]
    (folder / "todo.txt").write_text("paint the gate")
    states.append(start_state(config(folder)))
    (folder / "todo.txt").unlink()
    states.append(start_state(config(folder)))
    assert len(set(states)) == 3
    (folder / "todo.txt").write_text("paint the fence")
    assert start_state(config(folder)) == states[0]


def test_a_task_file_that_was_changed_is_another_start_and_one_that_is_worded_alike_is_not(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "tasks.yaml"
    states = []
    for text in (TASK, f"# mine\n{TASK}", TASK.replace("Make b", "Write b")):
        path.write_text(text)
        states.append(start_state(config(folder, task_file=str(path))))
    assert states[0] == states[1] != states[2]
    assert start_state(config(folder)) not in states
    path.unlink()
    with pytest.raises(ConfigError, match=r"tasks\.yaml: cannot be read"):
        start_state(config(folder, task_file=str(path)))


@pytest.mark.parametrize("stages", [[{"reverse_task": {"explorations": 1}}], [{"rollout": {"trials": 1}}]])
def test_a_start_folder_that_is_not_there_is_told_as_the_flow_is_read(folder: Path, stages: list[Any]) -> None:
    env = {"name": "mcp", "tasks": 0, **config(folder / "gone")}
    flow = Flow.model_validate({"name": "x", "env": env, "models": {"explorer": {"policy": "random"}}, "stages": stages})
    with pytest.raises(FlowError, match=r"^env: .*gone: is no folder; `folder` names the start state"):
        resolve(flow)


def test_two_explorations_that_came_to_the_same_goal_give_one_task() -> None:
    assert WORLD.exploring is not None
    found = [WORLD.exploring({"command": ["server"]}, seed) for seed in (1, 2)]
    assert found[0] != found[1]
    like = task(1, "create")
    tasks = [
        type(like).identified(env="mcp", goal=like.goal, seed=at, env_config=one, difficulty=like.difficulty)
        for at, one in enumerate(found)
    ]
    assert [one.seed for one in chosen(tasks, None, WORLD.told_apart_by).tasks] == [0]
