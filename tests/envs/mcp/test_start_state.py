"""What an MCP world starts from: its folder and its task file, as they are now."""

import sys
from pathlib import Path
from typing import Any

import pytest

from synth.envs.mcp.settings import McpSettings
from synth.envs.mcp.world import WORLD, bound, start_state
from synth.flows.resolve import resolve
from synth.schemas.errors import ConfigError, FlowError
from synth.schemas.flow import Flow
from synth.synthesizers.reverse.choosing import chosen
from tests.flow_files import run_flow
from tests.synthesizers.reverse.test_choosing import task

TASK = '- goal: Make b.\n  check: {required: [{table: file, where: {id: b, content: "y"}}]}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "start"
    path.mkdir()
    (path / "todo.txt").write_text("paint the fence")
    return path


def state(folder: Path, **changes: Any) -> str:
    return start_state(McpSettings.model_validate(config(folder, **changes)), {})


def config(folder: Path, **changes: Any) -> dict[str, Any]:
    return {"command": ["server"], "folder": str(folder), **changes}


def test_a_start_folder_that_was_changed_emptied_or_filled_is_another_start(folder: Path) -> None:
    states = [state(folder)]
    (folder / "todo.txt").write_text("paint the gate")
    states.append(state(folder))
    (folder / "todo.txt").unlink()
    states.append(state(folder))
    assert len(set(states)) == 3
    (folder / "todo.txt").write_text("paint the fence")
    assert state(folder) == states[0]


def test_a_task_file_that_was_changed_is_another_start_and_one_that_is_worded_alike_is_not(
    folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "tasks.yaml"
    states = []
    for text in (TASK, f"# mine\n{TASK}", TASK.replace("Make b", "Write b")):
        path.write_text(text)
        states.append(state(folder, task_file=str(path)))
    assert states[0] == states[1] != states[2]
    assert state(folder) not in states
    path.unlink()
    with pytest.raises(ConfigError, match=r"tasks\.yaml: cannot be read"):
        state(folder, task_file=str(path))


@pytest.mark.parametrize(
    "stages", [[{"reverse_task": {"explorations": 1}}], [{"rollout": {"trials": 1}}]]
)
def test_a_start_folder_that_is_not_there_is_told_as_the_flow_is_read(
    folder: Path, stages: list[Any]
) -> None:
    env = {"name": "mcp", "tasks": 0, **config(folder / "gone")}
    flow = Flow.model_validate(
        {"name": "x", "env": env, "models": {"explorer": {"policy": "random"}}, "stages": stages}
    )
    with pytest.raises(
        FlowError, match=r"^env: .*gone: is no folder; `folder` names the start state"
    ):
        resolve(flow)


@pytest.mark.parametrize(
    "change",
    [
        {"command": ["other"]},
        {"without": ["go"]},
        {"masked": ["a"]},
        {"refused": ["a"]},
        {"environment": {"A": "b"}},
    ],
)
def test_another_server_is_another_start_and_its_tasks_are_others(
    folder: Path, change: dict[str, Any]
) -> None:
    assert state(folder) != state(folder, **change)
    explored = [
        bound(McpSettings.model_validate(config(folder, **one))).exploring for one in ({}, change)
    ]
    found = [exploring({}, 1) for exploring in explored if exploring is not None]
    assert found[0]["started_by"] != found[1]["started_by"]
    assert set(found[0]) == {"digest", "started_by", "explored_seed"}, (
        "nothing that starts anything stands in a task"
    )


def test_where_the_code_and_the_start_folder_lie_is_no_other_start(
    folder: Path, tmp_path: Path
) -> None:
    other = folder.rename(tmp_path / "moved")
    states = {
        state(other),
        state(other, read_only=["/usr"]),
        state(other, limits={"disk_mb": 3}),
        state(other, stateless=True),
    }
    assert len(states) == 1


def test_two_explorations_that_came_to_the_same_goal_give_one_task() -> None:
    exploring = bound(McpSettings(command=("server",))).exploring
    assert exploring is not None
    found = [exploring({}, seed) for seed in (1, 2)]
    assert found[0] != found[1]
    like = task(1, "create")
    tasks = [
        type(like).identified(
            env="mcp", goal=like.goal, seed=at, env_config=one, difficulty=like.difficulty
        )
        for at, one in enumerate(found)
    ]
    assert [one.seed for one in chosen(tasks, None, WORLD.told_apart_by).tasks] == [0]


@pytest.mark.slow
def test_a_rerun_makes_other_tasks_where_the_folder_or_the_server_is_another_and_else_none(
    folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "tasks.yaml").write_text(TASK)
    server = [sys.executable, str(Path(__file__).parent / "ill_server.py")]

    def ran(command: list[str]) -> tuple[set[str], int]:
        env = {
            "name": "mcp",
            "tasks": 1,
            **config(
                folder, command=command, unconfined=True, task_file=str(tmp_path / "tasks.yaml")
            ),
        }
        stages = [{"rollout": {"trials": 1, "limits": {"max_turns": 1}}}]
        flow = {
            "name": "x",
            "env": env,
            "models": {"explorer": {"policy": "random"}},
            "stages": stages,
        }
        run, _, _ = run_flow(Flow.model_validate(flow), str(tmp_path / "run"))
        return set(run.ledger.task_ids()), sum(
            len(shard.slots) for shard in run.ledger.state.shards
        )

    first = ran(server)
    assert ran(server) == first
    (folder / "todo.txt").write_text("paint the gate")
    second = ran(server)
    third = ran([*server, "garbage"])
    assert len(first[0] | second[0] | third[0]) == 3
    assert (first[1], second[1], third[1]) == (1, 2, 3)
    (folder / "todo.txt").write_text("paint the fence")
    assert ran(server) == (first[0], 3), "what was played before is current again"
