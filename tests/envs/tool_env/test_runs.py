"""An environment by the kit in flows, in the conformance suite, and with its gold calls."""

import asyncio
import sys
from pathlib import Path
from typing import Any, Literal

import pytest

from synth.envs.audit.audit import audit
from synth.envs.audit.questions import QUESTIONS
from synth.envs.registry import ENVS
from synth.envs.tool_env import Require, Task, ToolEnv, ToolError, tool, world_of
from synth.envs.world import EnvEntry
from synth.flows.own.bindings import Bindings, SaidByUser
from synth.flows.parts import look_also_in, world
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from tests.envs.conformance.checks import conformance
from tests.envs.tool_env.shelf import Shelf, task_of
from tests.flow_files import run_flow


def test_tasks_carry_the_settings_that_differ_and_open_what_they_were_made_for():
    found = world_of(Shelf)
    (task,) = found.make_tasks({"size": 6}, 3, 1)
    assert (task.env, task.env_config, task.seed) == (
        "tests.envs.tool_env.shelf:Shelf",
        {"size": 6},
        3,
    )
    assert found.make_tasks({"size": 4}, 3, 1)[0].env_config == {}
    assert asyncio.run(found.open(task.env_config).facts()) is not None


def test_gold_makes_an_expert_and_mutants_that_all_fail():
    found, task = world_of(Shelf), task_of(Shelf)
    assert {
        "expert",
        "affordances",
        "snapshot",
        "facts",
        "tasks",
        "recheck",
    } == found.spec.capabilities
    assert found.mutants is not None

    async def asked() -> list[str]:
        from synth.envs.bots import expert
        from synth.envs.transcript import perform, play

        solved = await play(found.open({}), task, expert(), seed=1)
        assert solved.verdict.passed
        assert [turn.content for turn in solved.actions] == [None, None, "That is done."]
        assert [call.call_id for turn in solved.actions for call in turn.tool_calls] == [
            "call_0",
            "call_1",
        ]
        kinds = []
        for kind, actions in found.mutants(task, solved):
            assert not (await perform(found.open({}), task, actions)).verdict.passed, kind
            kinds.append(kind)
        return kinds

    # look: no argument, and leaving it out or swapping it changes nothing; put: left out, another
    # box, another list
    assert asyncio.run(asked()) == ["dropped_call", "changed_argument", "changed_argument"]


def test_an_order_that_matters_is_a_mutant():
    found = world_of(Ordered)
    (task,) = found.make_tasks({}, 0, 1)

    async def kinds() -> list[str]:
        from synth.envs.bots import expert
        from synth.envs.transcript import play

        solved = await play(found.open({}), task, expert(), seed=1)
        return [] if found.mutants is None else [kind for kind, _ in found.mutants(task, solved)]

    assert asyncio.run(kinds()) == ["dropped_call", "reordered", "dropped_call"]


class Ordered(ToolEnv):
    """First up, then on."""

    version, licence = "1", "CC0-1.0"

    def start(self, task: Task | None) -> str:
        self.at = "floor"
        return "Go."

    @tool
    def up(self) -> None:
        """Climb."""
        self.at = "roof" if self.at == "floor" else self.at

    @tool
    def on(self) -> None:
        """Walk on."""
        self.at = "tower" if self.at == "roof" else "ditch"

    def tasks(self, seed: int, count: int) -> list[Task]:
        return [
            Task.new(self, seed + i, "Go.", Require("at", "tower"), gold=[("up", {}), ("on", {})])
            for i in range(count)
        ]


@pytest.mark.slow
def test_a_flow_plays_it_by_expert_and_at_random_filters_and_exports(tmp_path: Path):
    content = {
        "name": "shelf",
        "seed": 3,
        "env": {"name": "tests.envs.tool_env.shelf:Shelf", "tasks": 3, "size": 6},
        "models": {"explorer": {"policy": "expert"}},
        "stages": [
            {"rollout": {"trials": 2}},
            {"filter": ["solved", "reexecuted"]},
            {"export": {"kinds": ["sft"], "as": "trl", "include_scripted": True}},
        ],
    }
    _, reports, said = run_flow(Flow.model_validate(content), str(tmp_path / "expert"))
    assert reports["rollout"]["outcomes"] == {"success": 6}, said
    assert {f["name"]: f["kept"] for f in reports["filter"]["filters"]} == {
        "solved": {"success": 6},
        "reexecuted": {"same": 6},
    }
    assert reports["export"]["datasets"]["sft"]["rows"] == 6
    content["models"] = {"explorer": {"policy": "random"}}
    content["stages"] = [{"rollout": {"trials": 2, "limits": {"max_turns": 5}}}]
    _, reports, said = run_flow(Flow.model_validate(content), str(tmp_path / "random"))
    assert reports["rollout"]["outcomes"] == {"truncated": 6}, said


@pytest.mark.slow
def test_the_conformance_suite_passes_it_whole():
    findings = asyncio.run(conformance(world_of(Shelf), {}, seed=7, tasks=4))
    unasked = {finding.name for finding in findings if finding.passed is not True}
    assert unasked == {"own_bots_fail", "secrets_stay_hidden"}, "it names neither"
    assert not any(finding.passed is False for finding in findings)


def test_a_dotted_name_stands_for_the_class_as_for_a_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "alias.py").write_text("from tests.envs.tool_env.shelf import Shelf as Boxes\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    look_also_in(tmp_path)
    found = world("alias:Boxes")
    assert isinstance(found, EnvEntry)
    assert found.spec.name == "alias:Boxes"
    assert found.make_tasks({}, 1, 1)[0].env == "alias:Boxes"
    assert "alias" in sys.modules
    assert "alias:Boxes" not in ENVS


class Lamp(ToolEnv):
    """A room with one lamp."""

    name, version, licence = "lamp", "1", "Apache-2.0"

    def start(self, task: Task | None) -> str:
        self.lamp = "off"
        return task.goal if task else "Look around."

    @tool
    def switch(self, to: Literal["on", "off"]) -> str:
        """Switch the lamp on or off."""
        self.lamp = to
        return f"The lamp is {to}."

    @tool(read_only=True)
    def facts(self) -> dict[str, str]:
        """Return the state of the room."""
        return {"lamp": self.lamp}

    def tasks(self, seed: int, count: int) -> list[Task]:
        return [
            Task.new(self, seed + i, "Switch the lamp on.", Require("lamp", "on"))
            for i in range(count)
        ]


@pytest.mark.slow
def test_an_environment_without_gold_fails_no_check_and_lacks_only_an_expert_and_affordances():
    found = world_of(Lamp)
    assert found.spec.name == "lamp"
    findings = asyncio.run(conformance(found, {}, seed=7, tasks=3))
    assert [finding for finding in findings if finding.passed is False] == []
    unasked = {finding.name for finding in findings if finding.passed is None}
    assert unasked == {
        "expert_solves",
        "expert_profiles",
        "expert_plans_from_state",
        "random_affordance_fails",
        "steps_after_the_end",
        "own_bots_fail",
        "secrets_stay_hidden",
    }


@pytest.mark.slow
def test_with_gold_the_questions_of_the_audit_pass_and_mutants_of_the_kit_are_asked_too():
    asked = [
        question for question in QUESTIONS if question.name != "latency"
    ]  # that is the machine's, and what else runs on it
    report = asyncio.run(audit(world_of(Shelf), {}, seed=7, tasks=4, questions=asked))
    assert {answer.name: answer.passed for answer in report.answers} == {
        question.name: True for question in asked
    }
    (mutants,) = (
        table
        for answer in report.answers
        for table in answer.tables
        if table.title == "Mutants by kind"
    )
    # of each of four tasks: the put left out, with another box, with another list
    assert next(row for row in mutants.rows if row[0] == "own") == (
        "own",
        "12",
        "0",
        "12",
        "12",
        "100 %",
    )


class Jammed(Lamp):
    @tool
    def switch(self, to: Literal["on", "off"]) -> str:
        """Switch the lamp on or off."""
        raise ToolError("The switch is jammed.")

    def tasks(self, seed: int, count: int) -> Any:
        required = Require("lamp", "on")
        return [
            Task.new(self, seed + i, "On, please.", required, gold=[("switch", {"to": "on"})])
            for i in range(count)
        ]


@pytest.mark.slow
def test_an_audit_says_how_a_gold_call_was_answered_that_does_not_work() -> None:
    asked = [question for question in QUESTIONS if question.name == "expert"]
    report = asyncio.run(audit(world_of(Jammed), {}, seed=7, tasks=1, questions=asked))
    (answer,) = report.answers
    said = " ".join(str(finding.detail) for finding in answer.findings)
    call = """turn 0, switch {"to":"on"}, was answered 'The switch is jammed.'"""
    assert not answer.passed
    assert call in said


class Listed(Lamp):
    def tasks(self, seed: int, count: int) -> Any:
        return ["Switch the lamp on."]


def test_tasks_that_are_none_are_refused_in_one_line() -> None:
    name = f"{__name__}:Listed"
    with pytest.raises(
        ConfigError,
        match=r"make_tasks gave a str, not a synth.schemas.task.Task \(make one with "
        r"Task.identified\)",
    ):
        Bindings({name: SaidByUser(name)}).make_tasks(name, {}, 1, 1)


class Swapped(Lamp):
    def tasks(self, count: int, seed: int) -> Any:  # type: ignore[override]
        required = Require("lamp", "on")
        return [Task.new(self, seed + i, "On, please.", required) for i in range(count)]


class Misnamed(Lamp):
    def tasks(self, first: int, count: int) -> Any:
        return []


def test_tasks_get_seed_and_count_by_name_or_one_line_that_says_so() -> None:
    swapped = world_of(Swapped).make_tasks({}, 40, 2)
    assert [task.seed for task in swapped] == [40, 41]
    with pytest.raises(ConfigError, match=r"Misnamed.tasks is called with seed and count: missing"):
        world_of(Misnamed).make_tasks({}, 40, 2)
