"""The tasks that a world of the user's own makes: what no run can use is told."""

import sys
from pathlib import Path

import pytest

from synth.flows.own.bindings import Bindings, SaidByUser
from synth.flows.parts import look_also_in
from synth.schemas.errors import ConfigError

TASKS = """
from synth.schemas.task import Task
from synth.envs.echo import EchoConfig, SPEC, open_echo
from synth.envs.world import EnvEntry
def make_tasks(config, seed, count):
    {body}
WORLD = EnvEntry(SPEC, open_echo, make_tasks, EchoConfig)
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path, as the one that holds a flow file is."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    look_also_in(tmp_path)
    return tmp_path


def said(name: str) -> Bindings:
    """What a flow of the user's own binds that names this world."""
    return Bindings({name: SaidByUser(name)})


@pytest.mark.parametrize(
    ("name", "body", "line"),
    [
        (
            "tasks_raise",
            "return [config['absent']]",
            r"make_tasks: KeyError: 'absent' \(tasks_raise\.py:6 in make_tasks\)",
        ),
        ("tasks_text", "return ['a']", "make_tasks gave a str, not a synth.schemas.task.Task"),
        ("tasks_none", "return None", "make_tasks: TypeError: "),
        (
            "tasks_env",
            "return [Task.identified(env='tasks_env', goal='g')]",
            "a task with env='tasks_env'; it must be 'tasks_env:WORLD'",
        ),
        (
            "tasks_seed",
            "return [Task.identified(env='tasks_seed:WORLD', goal='g', seed=2**63)]",
            "beyond 64 bits",
        ),
    ],
)
def test_tasks_that_no_run_can_use_are_told(mine: Path, name: str, body: str, line: str) -> None:
    (mine / f"{name}.py").write_text(TASKS.format(body=body))
    with pytest.raises(ConfigError, match=line):
        said(f"{name}:WORLD").make_tasks(f"{name}:WORLD", {}, 1, 1)


def test_a_world_that_makes_tasks_without_end_is_asked_for_as_many_as_are_wanted(
    mine: Path,
) -> None:
    body = "return (Task.identified(env='tasks_endless:WORLD', goal=str(i)) for i in iter(int, 1))"
    (mine / "tasks_endless.py").write_text(TASKS.format(body=body))
    assert len(said("tasks_endless:WORLD").make_tasks("tasks_endless:WORLD", {}, 1, 3)) == 3


@pytest.mark.parametrize("seed", [2**63 - 1, -(2**63)])
@pytest.mark.parametrize("name", ["echo", "storefront"])
def test_our_worlds_take_the_first_and_the_last_seed(name: str, seed: int) -> None:
    assert len(said(name).make_tasks(name, {}, seed, 2)) == 2
