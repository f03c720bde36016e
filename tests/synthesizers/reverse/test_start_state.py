"""What a world starts from beside its settings, such as a folder: changed, it is explored anew;
gone, it is told at once.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from synth.envs.world import EnvEntry
from synth.schemas.errors import ConfigError, FlowError
from synth.schemas.flow import Flow
from synth.schemas.reverse import Draft, NoGoal, Window
from tests.flow_files import run_flow
from tests.synthesizers.reverse.deriving_on_shelves import shelf_flow, tasks_of
from tests.synthesizers.reverse.shelf_world import (
    SPEC,
    ShelfConfig,
    exploring,
    make_tasks,
    opened,
    write_goal,
)

PLACE: list[Path] = []
"""Where the shelves' start lies; a test names it."""


def start_state(config: Mapping[str, Any]) -> str:
    try:
        return PLACE[-1].read_text()
    except FileNotFoundError as error:
        raise ConfigError(f"{PLACE[-1].name}: is no folder") from error


def explored(settings: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    """The content of the start, as a number, moves the seed of every shelf."""
    return exploring(settings, seed + int(start_state(settings)))


WORLD = EnvEntry(
    SPEC,
    opened,
    make_tasks,
    ShelfConfig,
    write_goal=write_goal,
    exploring=explored,
    start_state=start_state,
)


def changing_goal(window: Window) -> Draft | NoGoal:
    """Somebody writes to the start at the first goal."""
    PLACE[-1].write_text("5")
    return write_goal(window)


CHANGING = replace(WORLD, write_goal=changing_goal)


@pytest.fixture
def start(tmp_path: Path) -> Path:
    path = tmp_path / "start"
    path.write_text("0")
    PLACE.append(path)
    return path


def watched() -> Flow:
    return shelf_flow(world=f"{__name__}:WORLD")


@pytest.mark.slow
def test_a_changed_start_is_explored_anew_and_put_back_the_first_tasks_are_there_again(
    start: Path, tmp_path: Path
) -> None:
    run_flow(watched(), str(tmp_path / "run"))
    first = tasks_of(tmp_path / "run")
    start.write_text("5")
    _, _, said = run_flow(watched(), str(tmp_path / "run"))
    assert 'explorations to do (start_state: "0" -> "5")' in said
    second = tasks_of(tmp_path / "run")
    assert first
    assert second
    assert not first.keys() & second.keys(), "tasks of two starts are never mixed"
    start.write_text("0")
    _, _, said = run_flow(watched(), str(tmp_path / "run"))
    assert "explorations" not in said
    assert tasks_of(tmp_path / "run") == first


@pytest.mark.slow
def test_a_start_that_changes_while_it_is_explored_ends_the_run_and_the_next_one_is_of_one_start(
    start: Path, tmp_path: Path
) -> None:
    changing = shelf_flow(world=f"{__name__}:CHANGING")
    with pytest.raises(ConfigError, match="was changed while it was explored; run again"):
        run_flow(changing, str(tmp_path / "run"))
    assert tasks_of(tmp_path / "run") == {}
    run_flow(changing, str(tmp_path / "run"))
    tasks = tasks_of(tmp_path / "run")
    assert tasks
    assert {task.env_config["start"] - task.seed for task in tasks.values()} == {5}


def test_a_start_that_is_not_there_is_told_with_its_place_before_a_run_folder_is_made(
    start: Path, tmp_path: Path
) -> None:
    start.unlink()
    with pytest.raises(FlowError, match=r"^env: start: is no folder$"):
        run_flow(watched(), str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()
