"""AgentRx, Who&When, FireAct and ToolBench, hand-written: what the real files do not show."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.engine.progress import progress_for
from synth.importers.commit import import_into
from synth.schemas.trajectory import Turn
from tests.synth.importers.research_records import load


def attempt_with_index(task_id: int) -> dict[str, Any]:
    messages = [
        {"role": "system", "content": "Retail agent policy", "index": 1},
        {"role": "user", "content": "cancel", "index": 2},
        {"role": "assistant", "content": "Done.", "index": 3},
    ]
    return {
        "task_id": task_id,
        "trial": task_id,
        "reward": 0.0,
        "info": {"task": {"instruction": f"i{task_id}"}},
        "traj": messages,
    }


def label(trajectory_id: int, step: int) -> dict[str, Any]:
    failure = {
        "failure_id": 1,
        "step_number": step,
        "failure_category": "c",
        "failed_agent": "Assistant",
    }
    return {
        "trajectory_id": trajectory_id,
        "failures": [failure],
        "root_cause": {"failure_id": 1},
        "failure_summary": "s",
    }


@pytest.mark.parametrize("names", [("a.json", "b.json"), ("b.json", "a.json")])
def test_labels_find_their_trajectory_whichever_file_comes_first(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / names[0]).write_text(
        json.dumps([attempt_with_index(4), attempt_with_index(5)])
    )
    (tmp_path / "in" / names[1]).write_text(
        json.dumps([label(4, 3), label(5, 2), label(6, 3), label(4, 9)])
    )
    run = str(tmp_path / "run")
    tally = import_into(run, [tmp_path / "in"], "auto", progress_for(quiet=True))
    assert tally.marks == 4
    assert [(r.locator, r.reason) for r in tally.rejections] == [
        ("2", "no_trajectory"),
        ("3", "bad_record"),
    ]
    again = import_into(run, [tmp_path / "in"], "auto", progress_for(quiet=True))
    assert (again.marks, again.total(["present"])) == (0, 2)


def blame(**fields: Any) -> dict[str, Any]:
    history = [
        {"content": "plan", "role": "assistant", "name": "Planner"},
        {"content": "exit 1", "role": "user", "name": "Computer_terminal"},
        {"content": "so", "role": "user", "name": "Checker"},
    ]
    return {
        "history": history,
        "question": "q",
        "mistake_agent": "Checker",
        "mistake_step": "2",
        "is_correct": False,
        **fields,
    }


def test_named_agents_are_turns_and_the_terminal_answers_them(tmp_path: Path) -> None:
    ((found,), _) = load(tmp_path, blame())
    turns = found.trajectory.turns
    assert [(turn.agent, turn.content) for turn in turns] == [
        ("Planner", "plan"),
        ("Checker", "so"),
    ]
    assert [(o.source, o.name, o.content) for o in turns[0].observations] == [
        ("environment", "Computer_terminal", "exit 1")
    ]
    assert (
        found.trajectory.outcome,
        found.marks[0].turn,
        msgspec.to_builtins(found.marks[0].detail)["message"],
    ) == ("failure", 1, 2)


def test_an_agent_that_speaks_in_a_role_is_the_agent(tmp_path: Path) -> None:
    history = [
        {"content": "q", "role": "human"},
        {"content": "go", "role": "Orchestrator (thought)"},
    ]
    ((found,), _) = load(tmp_path, blame(history=history, mistake_step="1"))
    assert [turn.agent for turn in found.trajectory.turns] == ["Orchestrator"]
    assert (found.trajectory.opening[0].content, found.trajectory.benchmark) == ("q", None)
    assert [mark.detail for mark in found.marks if mark.metric == "speaker_role"] == [
        {"agent": "Orchestrator", "role": "thought"}
    ]


@pytest.mark.parametrize(
    "blamed", ["WebSurfer", "Web Surfer", "web_surfer", "WebSurfer (-> Orchestrator)"]
)
def test_the_blamed_agent_is_the_one_that_spoke_however_it_is_spelled(
    tmp_path: Path, blamed: str
) -> None:
    history = [
        {"content": "q", "role": "human"},
        {"content": "look", "role": "Orchestrator (-> WebSurfer)"},
        {"content": "found", "role": "WebSurfer"},
        {"content": "exit 1", "role": "ComputerTerminal"},
    ]
    ((found,), _) = load(tmp_path, blame(history=history, mistake_step="2", mistake_agent=blamed))
    assert [turn.agent for turn in found.trajectory.turns] == ["Orchestrator", "WebSurfer"]
    assert (found.marks[0].blamed, found.marks[0].turn) == ("WebSurfer", 1)
    assert found.trajectory.turns[1].observations[0].source == "environment"


@pytest.mark.parametrize(
    ("speaker", "agent", "role"),
    [
        ("Orchestrator (-> Assistant (coder))", "Orchestrator", "-> Assistant (coder)"),
        ("Orchestrator (termination condition)", "Orchestrator", "termination condition"),
        ("Orchestrator(-> WebSurfer):", "Orchestrator", "-> WebSurfer"),
        ("Orchestrator -> WebSurfer", "Orchestrator", "-> WebSurfer"),
        ("Orchestrator → WebSurfer", "Orchestrator", "→ WebSurfer"),
        ("Orchestrator [thought]", "Orchestrator", "thought"),
        ("Coder (v2) (thought)", "Coder", "(v2) (thought)"),
        ("Web-Surfer", "Web-Surfer", None),
    ],
)
def test_a_role_is_told_from_its_agent_however_it_is_written(
    tmp_path: Path, speaker: str, agent: str, role: str | None
) -> None:
    history = [{"content": "q", "role": "human"}, {"content": "go", "role": speaker}]
    told = blame(history=history, mistake_step="1", mistake_agent=speaker)
    ((found,), _) = load(tmp_path, told)
    assert [turn.agent for turn in found.trajectory.turns] == [agent]
    assert found.marks[0].blamed == agent
    roles = [mark.detail for mark in found.marks if mark.metric == "speaker_role"]
    assert roles == ([] if role is None else [{"agent": agent, "role": role}])


def test_an_agent_that_is_spelled_in_two_ways_is_one_agent(tmp_path: Path) -> None:
    names = ["human", "Orchestrator (thought)", "web_surfer", "orchestrator", "WebSurfer"]
    history = [{"content": "x", "role": name} for name in names]
    told = blame(history=history, mistake_step=4.0, mistake_agent="Web Surfer")
    ((found,), _) = load(tmp_path, told)
    agents = ["Orchestrator", "web_surfer", "Orchestrator", "web_surfer"]
    assert [turn.agent for turn in found.trajectory.turns] == agents
    assert (found.marks[0].blamed, found.marks[0].turn) == ("web_surfer", 3)


def test_of_several_blamed_agents_the_one_that_speaks_at_the_step_is_meant(tmp_path: Path) -> None:
    ((found,), _) = load(tmp_path, blame(mistake_agent="Planner, checker", mistake_step="2"))
    assert found.marks[0].blamed == "Checker"


@pytest.mark.parametrize("person", ["human", "User", "UserProxy", "user_proxy (input)"])
def test_people_are_no_agents_whichever_field_names_them(tmp_path: Path, person: str) -> None:
    history = [
        {"content": "q", "role": "user", "name": person},
        {"content": [{"type": "text", "text": "go"}], "role": "assistant", "name": "Planner"},
    ]
    told = blame(history=history, mistake_step="step 1", mistake_agent="planner")
    ((found,), _) = load(tmp_path, told | {"is_correct": "False"})
    assert [(turn.agent, turn.content) for turn in found.trajectory.turns] == [("Planner", "go")]
    assert found.trajectory.outcome == "failure"


def test_a_run_that_nobody_has_judged_comes_in_without_a_label(tmp_path: Path) -> None:
    ((found,), _) = load(tmp_path, blame(mistake_step=None, mistake_agent=None))
    assert (found.trajectory.outcome, found.marks) == ("failure", ())


@pytest.mark.parametrize(
    "broken",
    [*({"mistake_step": s} for s in ("3", "-1", "two")), {"history": ["x"]}, {"question": 1}],
)
def test_a_label_outside_the_history_is_refused(tmp_path: Path, broken: dict[str, Any]) -> None:
    good, bad = load(tmp_path, blame(**broken))
    assert (good, [b.reason for b in bad]) == ([], ["bad_record"])


@pytest.mark.parametrize("reward", [True, False, None])
def test_both_shapes_of_fireact_give_the_same_turns(tmp_path: Path, reward: bool | None) -> None:
    steps = [
        ("Thought: look\nAction: search[ß [x]]", "two\nlines"),
        ("Thought: done\nAction: finish[7]", f"Episode finished, reward = {reward}"),
    ]
    text = "Intro.\n\n### Instruction:\nWhy?\n\n### Response:\n" + "".join(
        f"{w}\nObservation: {o}\n" for w, o in steps
    )
    messages = [{"role": "user", "content": "Why?"}]
    for written, answer in steps:
        messages += [
            {"role": "assistant", "content": written},
            {"role": "user", "content": f"Observation: {answer}"},
        ]
    common = {"reward": reward, "em": reward, "f1": 0.5, "gt": "7", "pred": "7", "prompt": ""}
    good, bad = load(tmp_path, {"12": {"traj": text, **common}, "13": {"traj": messages, **common}})
    assert bad == []
    first, second = (f.trajectory for f in good)
    assert first.turns == second.turns
    assert [
        (t.thought, t.tool_calls[0].name, json.loads(t.tool_calls[0].arguments))
        for t in first.turns
    ] == [
        ("look", "search", {"query": "ß [x]"}),
        ("done", "finish", {"answer": "7"}),
    ]
    assert first.turns[0].observations[0].content == "two\nlines"
    assert (first.system_prompt, second.system_prompt) == ("Intro.", None)
    assert {f.trajectory.outcome for f in good} == {
        {True: "success", False: "failure", None: "unknown"}[reward]
    }
    assert good[0].task == good[1].task


def episode(tmp_path: Path, response: str) -> tuple[Turn, ...]:
    """The turns of an episode whose text the model wrote, observations between."""
    text = f"### Instruction:\nWhy?\n\n### Response:\n{response}"
    ((found,), _) = load(tmp_path, {"1": {"traj": text, "reward": None, "em": None, "gt": "y"}})
    return found.trajectory.turns


def test_only_the_first_action_of_a_step_was_executed_and_such_a_turn_is_masked(
    tmp_path: Path,
) -> None:
    written = "Thought: a\nAction: search[x]\nThought: b\nAction: finish[y]\nObservation: nothing"
    (turn,) = episode(tmp_path, written)
    assert ([call.name for call in turn.tool_calls], turn.mask, turn.thought) == (
        ["search"],
        "text_after_action",
        "a",
    )


def test_text_without_an_action_is_content(tmp_path: Path) -> None:
    first, second = episode(tmp_path, "Thought: hm\nObservation: nothing\nThought: stop")
    assert (first.content, first.tool_calls, second.content, second.observations) == (
        "Thought: hm",
        (),
        "Thought: stop",
        (),
    )
    assert [one.content for one in first.observations] == ["nothing"]
