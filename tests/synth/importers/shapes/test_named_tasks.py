"""Trials whose records name their task are trials of one task, however its user opened."""

from pathlib import Path
from typing import Any

from synth.importers.records import Imported
from tests.synth.importers.imports import read_lines


def chat(said: str, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": said}, {"role": "assistant", "content": "ok"}]
    return {"messages": messages, **more}


def tasks_and_trials(tmp_path: Path, *rows: dict[str, Any]) -> list[tuple[str, int]]:
    found, bad = read_lines(tmp_path, rows)
    assert bad == []
    known: dict[str, str] = {}
    named = [one for one in found if isinstance(one, Imported)]
    return [
        (known.setdefault(one.trajectory.task_id, f"task {len(known)}"), one.trajectory.trial)
        for one in named
    ]


def test_trials_of_a_named_task_are_of_one_task_however_the_user_opened(tmp_path: Path) -> None:
    rows = [
        chat("Cancel it.", task_id="t1", trial=0),
        chat("Hi, cancel it please.", task_id="t1", trial=1),
        chat("Where is it?", task_id="t2", trial=0),
        chat("Something without a name"),
        chat("And where is it now?", task_id="t2", trial=1),
    ]
    assert tasks_and_trials(tmp_path, *rows) == [
        ("task 0", 0),
        ("task 0", 1),
        ("task 1", 0),
        ("task 2", 0),
        ("task 1", 1),
    ]


def test_a_name_without_numbers_of_trials_may_be_that_of_a_set(tmp_path: Path) -> None:
    rows = [chat("Add 1 and 1.", task_id="maths"), chat("Add 2 and 2.", task_id="maths")]
    assert tasks_and_trials(tmp_path, *rows) == [("task 0", 0), ("task 1", 0)]


def test_a_name_that_hundreds_bear_is_that_of_a_set(tmp_path: Path) -> None:
    rows = [chat(f"Add {at} and 1.", task_id="maths", trial=at) for at in range(65)]
    assert len({task for task, _ in tasks_and_trials(tmp_path, *rows)}) == 65


def test_numbers_that_two_attempts_share_tell_nothing(tmp_path: Path) -> None:
    rows = [chat("Add 1.", task_id="a", trial=0), chat("Add 2.", task_id="a", trial=0)]
    assert tasks_and_trials(tmp_path, *rows) == [("task 0", 0), ("task 1", 0)]


def test_trials_and_tasks_may_have_other_names(tmp_path: Path) -> None:
    rows = [
        chat("Cancel it.", problem_id=7, rollout=0),
        chat("Hi, cancel it please.", problem_id=7, rollout=1),
    ]
    assert tasks_and_trials(tmp_path, *rows) == [("task 0", 0), ("task 0", 1)]


def test_numbers_that_run_on_from_name_to_name_are_those_of_records(tmp_path: Path) -> None:
    rows = [chat(f"Do {at}.", task_name=("maths", "code")[at % 2], attempt=at) for at in range(6)]
    assert len({task for task, _ in tasks_and_trials(tmp_path, *rows)}) == 6


def test_attempts_under_two_system_prompts_are_at_two_tasks(tmp_path: Path) -> None:
    rows = [
        chat(f"Cancel {at}.", task_id="3", trial=at, system=f"You sell {what}.")
        for at, what in enumerate(("shoes", "flights"))
    ]
    assert len({task for task, _ in tasks_and_trials(tmp_path, *rows)}) == 2
