"""A log that is a folder with a file for each event is one run."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from synth.importers.records import Imported, Rejection
from tests.synth.importers.imports import imported


def event(place: int, source: str, **more: Any) -> dict[str, Any]:
    return {"id": place, "timestamp": f"2025-08-12T09:14:{place:02d}", "source": source, **more}


def run(command: str, place: int) -> list[dict[str, Any]]:
    said = event(place, "agent", action="run", args={"command": command, "thought": "I look."})
    extras = {"command": command}
    seen = event(place + 1, "agent", observation="run", content=f"of {command}", extras=extras)
    return [said, seen | {"cause": place}]


ASKED = event(0, "user", action="message", args={"content": "Mend it."})
EVENTS = [ASKED, *(one for at in range(1, 13, 2) for one in run(f"ls {at}", at))]


def written(folder: Path, events: list[dict[str, Any]] = EVENTS) -> Path:
    folder.mkdir(parents=True)
    for place, one in enumerate(events):
        (folder / f"{place}.json").write_text(json.dumps(one, indent=2))
    return folder


def of(source: Path) -> tuple[list[Imported], list[Rejection]]:
    found = list(imported([source]))
    return [one for one in found if isinstance(one, Imported)], [
        one for one in found if isinstance(one, Rejection)
    ]


def commands(found: Imported) -> list[str]:
    calls = [call for turn in found.trajectory.turns for call in turn.tool_calls]
    return [json.loads(call.arguments)["command"] for call in calls]


def test_events_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("one", "another"):
        events = EVENTS if name == "one" else EVENTS[:5]
        written(tmp_path / "sessions" / name / "events", events)
    (another, one), rejected = of(tmp_path)
    assert (commands(one), rejected) == ([f"ls {at}" for at in range(1, 13, 2)], [])
    assert commands(another) == ["ls 1", "ls 3"]
    assert one.trajectory.opening[0].content == "Mend it."
    assert [commands(each) for each in of(tmp_path / "sessions" / "one" / "events")[0]] == [
        commands(one)
    ]


def test_the_cache_beside_them_is_not_read_as_well(tmp_path: Path) -> None:
    events = written(tmp_path / "s" / "events")
    cache = tmp_path / "s" / "event_cache"
    cache.mkdir()
    (cache / "0-13.json").write_text(json.dumps(EVENTS))
    found, (copy,) = of(tmp_path)
    assert [len(commands(one)) for one in found] == [6]
    assert (copy.file, copy.reason) == ("s/event_cache", "folder_again")
    shutil.rmtree(events)
    assert [len(commands(one)) for one in of(tmp_path)[0]] == [6]


def test_an_event_that_is_empty_or_broken_is_named_and_the_others_come(tmp_path: Path) -> None:
    events = written(tmp_path / "events")
    (events / "3.json").write_text("")
    (events / "13.json").write_text('{"id": 13, "sour')
    (found,), rejected = of(tmp_path)
    assert [(one.file, one.locator, one.reason) for one in rejected] == [
        ("events", "line4", "bad_record"),
        ("events", "line14", "not_json"),
    ]
    assert commands(found) == [f"ls {at}" for at in range(1, 13, 2) if at != 3]


@pytest.mark.parametrize("place", [0, 4])
def test_a_pipe_among_the_events_is_named_and_not_waited_for(tmp_path: Path, place: int) -> None:
    events = written(tmp_path / "events")
    (events / f"{place}.json").unlink()
    os.mkfifo(events / f"{place}.json")
    _, rejected = of(tmp_path)
    assert "not_a_file" in {one.reason for one in rejected}


def test_numbered_files_of_whole_runs_stay_files(tmp_path: Path) -> None:
    for place in range(3):
        chat = [{"role": "user", "content": f"{place}?"}, {"role": "assistant", "content": "Yes."}]
        (tmp_path / f"{place}.json").write_text(json.dumps({"messages": chat}))
    found, rejected = of(tmp_path)
    assert ([one.trajectory.opening[0].content for one in found], rejected) == (
        ["0?", "1?", "2?"],
        [],
    )


def delegated(ended: bool) -> list[dict[str, Any]]:
    given = {"agent": "BrowsingAgent", "inputs": {"task": "Find the version."}, "thought": "Ask."}
    handed = event(3, "agent", action="delegate", args=given)
    outputs = {"outputs": {"content": "3.50"}}
    answer = event(6, "agent", observation="delegate", content="3.50", cause=3, extras=outputs)
    events = [ASKED, *run("ls 1", 1), handed, *run("ls 4", 4), answer, *run("ls 7", 7)]
    return events if ended else events[:6]


def test_who_was_handed_a_task_has_a_trajectory_of_its_own_without_a_verdict(
    tmp_path: Path,
) -> None:
    log = tmp_path / "runs.jsonl"
    run_of = {"instance_id": "django__django-1", "test_result": {"report": {"resolved": True}}}
    log.write_text(json.dumps(run_of | {"history": delegated(True)}))
    (whole, part), rejected = of(log)
    names = [
        [call.name for turn in one.trajectory.turns for call in turn.tool_calls]
        for one in (whole, part)
    ]
    assert (names, rejected) == ([["run", "delegate", "run"], ["run"]], [])
    assert [str(one.trajectory.outcome) for one in (whole, part)] == ["success", "unknown"]
    assert [one.trajectory.opening[0].content for one in (whole, part)] == [
        "Mend it.",
        "Find the version.",
    ]
    assert whole.trajectory.turns[1].observations[0].content == "3.50"
    assert part.names == ()


def test_a_log_that_ends_while_somebody_else_is_at_work_keeps_both(tmp_path: Path) -> None:
    whole, part = of(written(tmp_path / "events", delegated(False)))[0]
    assert ([len(one.trajectory.turns) for one in (whole, part)]) == [2, 1]
