"""A model writes the goals: read strictly, asked again where it cannot be read, never asked twice
for the same, kept in the ledger.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from synth.ledger import StoredLedger
from synth.ledger.tables.asked_roles import QUESTIONS, UNREAD
from synth.ledger.views import connect
from synth.schemas.errors import ConfigError, SynthError
from synth.schemas.flow import Flow
from synth.synthesizers.reverse.report import TESTS
from tests.flow_files import run_flow
from tests.synth.models.chat_server import ChatServer, Mishap
from tests.synthesizers.reverse.deriving_on_shelves import shelf_flow, tasks_of
from tests.synthesizers.reverse.drawer_world import WORLDS
from tests.synthesizers.reverse.shelf_world import NAME

pytestmark = pytest.mark.slow


SHED = "tests.synthesizers.reverse.shed_world"


WORLD = f"{NAME.partition(':')[0]}:NO_RULES"


def writes(body: Any) -> dict[str, Any]:
    """A goal that says every value of the operations."""
    operations = body["messages"][1]["content"].partition("The operations:\n")[2]
    lines = re.findall(r"^\d+\. (.*)$", operations, re.MULTILINE)
    values = re.findall(r'":"([^"]+)"', operations)
    text = json.dumps(
        {"low_level": [f"Do {line}" for line in lines], "goal": f"See to {' and '.join(values)}."}
    )
    return {"role": "assistant", "content": text}


def written_flow(url: str, **changes: Any) -> Flow:
    flow = shelf_flow(world=WORLD, stage={"explorations": 4, "shard": 4, "role": "writer"})
    models = {
        "explorer": {"policy": "expert"},
        "writer": {"model": "test", "base_url": url, "timeout_s": 5, "max_retries": 0},
    }
    return Flow.model_validate(flow.model_dump(mode="json") | {"models": models} | changes)


def test_a_model_writes_the_goals_and_what_it_said_is_kept(tmp_path: Path) -> None:
    with ChatServer(writes) as server:
        _, reports, _ = run_flow(written_flow(server.url), str(tmp_path / "run"))
        asked = server.counts()["total"]
        run_flow(written_flow(server.url), str(tmp_path / "run"))
        assert server.counts()["total"] == asked, "a rerun asks nothing"
        for body in server.bodies:
            operations = re.findall(r"^\d+\. ", body["messages"][1]["content"], re.MULTILINE)
            form = body["response_format"]["json_schema"]["schema"]["properties"]["low_level"]
            assert form["minItems"] == form["maxItems"] == len(operations)
    tasks = tasks_of(tmp_path / "run")
    assert len(tasks) == reports["reverse_task"]["verified"] > 0
    assert all(task.goal.startswith("See to ") for task in tasks.values())
    with connect(StoredLedger(str(tmp_path / "run"))) as connection:
        (found,) = connection.execute(
            "SELECT count(*), min(role), min(purpose), sum(prompt_tokens) > 0 FROM replies_all"
        ).fetchall()
    assert found == (asked, "writer", "write_goal", True)


def test_a_class_whose_expert_plays_gold_gets_tasks_of_which_nobody_read_the_goal(
    tmp_path: Path,
) -> None:
    with ChatServer(writes) as server:
        flow = written_flow(server.url).model_dump(mode="json")
        flow |= {"env": {"name": f"{SHED}:Shed", "tasks": 2}}
        _, reports, _ = run_flow(Flow.model_validate(flow), str(tmp_path / "run"))
    assert reports["reverse_task"]["details"]["faults"] == {}
    tests = [
        one.difficulty["tests"] for one in tasks_of(tmp_path / "run").values() if one.difficulty
    ]
    assert len(tests) == reports["reverse_task"]["verified"] > 0
    assert {one["T8"]["passed"] for one in tests} == {None}
    assert all(one["T4"]["passed"] for one in tests)


def bare_flow(url: str) -> Flow:
    """A world that has nothing but facts and affordances."""
    flow = written_flow(url).model_dump(mode="json") | {
        "env": {"name": f"{WORLDS}:BARE", "tasks": 0}
    }
    return Flow.model_validate(flow)


def test_a_world_without_rules_expert_or_tasks_gets_goals_from_the_writer(tmp_path: Path) -> None:
    with ChatServer(writes) as server:
        _, reports, _ = run_flow(bare_flow(server.url), str(tmp_path / "run"))
    tasks = tasks_of(tmp_path / "run")
    assert len(tasks) == reports["reverse_task"]["verified"] > 3
    assert all(
        task.goal.startswith("See to D-") and task.check is not None and task.check.required
        for task in tasks.values()
    )
    verdicts = {
        name: {task.difficulty["tests"][name]["passed"] for task in tasks.values()}
        for name in TESTS
    }
    assert "drawers(locked, open)" in {task.difficulty["structure"] for task in tasks.values()}, (
        "words vary: the check tells goals apart"
    )
    assert verdicts == {name: {None} if name in ("T7", "T8") else {True} for name in TESTS}, (
        "no question, no expert"
    )
    assert not any("?" in task.difficulty["signature"] for task in tasks.values()), (
        "the writer is not asked for questions"
    )


def test_without_a_writer_a_world_without_rules_is_refused_in_one_line(tmp_path: Path) -> None:
    flow = shelf_flow(world=f"{WORLDS}:BARE")
    with pytest.raises(
        ConfigError,
        match=r"world '.*:BARE' has no rules that say what was achieved .*; let a model say it: "
        r"`role: writer`",
    ):
        run_flow(flow, str(tmp_path / "run"))


BAD = {
    "prose": "Gladly!",
    "empty": "",
    "half an object": '{"low_level": ["Do it."], "goal": "See',
    "a list": "[1, 2]",
    "wrong types": '{"low_level": "Do it.", "goal": 7}',
    "missing": '{"goal": "See to it."}',
    "further keys": '{"low_level": ["Do it."], "goal": "See to it.", "sure": true}',
    "no goal": '{"low_level": ["Do it."], "goal": ""}',
    "too many steps": '{"low_level": ["a", "b", "c", "d", "e", "f"], "goal": "See to it."}',
    "nothing said": '{"low_level": ["Do it."], "goal": "See to it."}',
    "too long": json.dumps({"low_level": ["Do it."], "goal": "See to it. " * 400}),
    "deep": '{"low_level": ' + "[" * 5000 + "]" * 5000 + ', "goal": "x"}',
    "lone surrogate": '{"low_level": ["\\ud800"], "goal": "\\ud800"}',
}


def test_bad_replies_of_every_kind_cost_a_window_and_never_the_run(tmp_path: Path) -> None:
    said = iter(BAD.values())

    def replies(body: Any) -> dict[str, Any]:
        return (
            {"role": "assistant", "content": text}
            if (text := next(said, None)) is not None
            else writes(body)
        )

    with ChatServer(replies) as server:
        _, reports, _ = run_flow(bare_flow(server.url), str(tmp_path / "run"))
    assert next(said, None) is None, "all were given"
    report = reports["reverse_task"]
    assert report["rejected"]["no_goal_writer_unreadable"] == len(BAD) // 3, (
        "after three bad replies the window is given up"
    )
    assert report["verified"] > 0


def test_what_cannot_be_read_is_no_goal(tmp_path: Path) -> None:
    with ChatServer(lambda body: {"role": "assistant", "content": "Gladly!"}) as server:
        _, reports, _ = run_flow(written_flow(server.url), str(tmp_path / "run"))
        asked = server.counts()["total"]
    report = reports["reverse_task"]
    assert report["verified"] == 0
    assert set(report["rejected"]) <= {"no_goal_writer_unreadable", "depends_on_before"}
    assert asked == 3 * report["rejected"]["no_goal_writer_unreadable"]
    with connect(StoredLedger(str(tmp_path / "run"))) as connection:
        told = connection.execute(QUESTIONS).fetchall()
        ((role, purpose, why, said, _),) = connection.execute(UNREAD).fetchall()
    assert told == [("writer", "write_goal", asked // 3, 0, 0, 0, asked // 3)]
    assert (role, purpose, said) == ("writer", "write_goal", "Gladly!")
    assert why == "it holds no JSON object"


def test_the_tokens_of_the_writer_are_told_as_its_own(tmp_path: Path) -> None:
    with ChatServer(writes) as server:
        _, _, shown = run_flow(written_flow(server.url), str(tmp_path / "run"))
    assert "by the writer)" in shown
    assert "by the user" not in shown


def test_a_server_that_fails_once_costs_one_window(tmp_path: Path) -> None:
    with ChatServer(writes, mishaps=[Mishap("bad_request")]) as server:
        _, reports, _ = run_flow(written_flow(server.url), str(tmp_path / "run"))
    assert reports["reverse_task"]["rejected"]["no_goal_writer_fault"] == 1
    assert reports["reverse_task"]["verified"] > 0


@pytest.mark.parametrize("explorations", [1, 8])
def test_a_server_that_is_not_there_loses_no_window(tmp_path: Path, explorations: int) -> None:
    stage = {"explorations": explorations, "shard": 4, "role": "writer"}
    with ChatServer(writes) as server:
        flow = written_flow(server.url, stages=[{"reverse_task": stage}])
        run_flow(flow, str(tmp_path / "whole"))
        asked = server.counts()["total"]
    with (
        ChatServer(writes, mishaps=[Mishap("status", status=401)] * 1000) as server,
        pytest.raises(SynthError, match=r"HTTP 401.*run again"),
    ):
        run_flow(written_flow(server.url, stages=[{"reverse_task": stage}]), str(tmp_path / "run"))
    with ChatServer(writes) as server:
        _, reports, _ = run_flow(
            written_flow(server.url, stages=[{"reverse_task": stage}]), str(tmp_path / "run")
        )
        assert server.counts()["total"] == asked
    assert "no_goal_writer_fault" not in reports["reverse_task"]["rejected"]
    assert tasks_of(tmp_path / "run").keys() == tasks_of(tmp_path / "whole").keys() != set()


def test_what_a_slow_writer_takes_is_not_taken_from_the_exploration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synth.synthesizers.reverse_task.LIMIT_S", 1.0)
    stage = {"explorations": 1, "shard": 1, "role": "writer"}
    with ChatServer(writes, latency_s=1.3) as server:
        _, reports, _ = run_flow(
            written_flow(server.url, stages=[{"reverse_task": stage}]), str(tmp_path / "run")
        )
    assert reports["reverse_task"]["verified"] > 0


def test_the_role_must_be_a_model_of_the_flow(tmp_path: Path) -> None:
    flow = shelf_flow(world=WORLD, stage={"role": "explorer"})
    with pytest.raises(
        ConfigError,
        match=r"role: a model is needed as 'explorer': add `explorer: {model: ...}` to the flow's "
        r"models$",
    ):
        run_flow(flow, str(tmp_path / "run"))
