"""Runs that stand in one answer, or in steps alone, become the turns that they stand for."""

from pathlib import Path
from typing import Any

import pytest

from tests.synth.importers.imports import read_document
from tests.synth.importers.shapes.test_actions import agent, load, user
from tests.synth.importers.shapes.test_actions_elsewhere import calls_of


def test_a_whole_run_in_one_answer_is_taken_apart(tmp_path: Path) -> None:
    text = (
        "Thought: a\nAction: find\nAction Input: x\nObservation: one\ntwo\n"
        "Thought: b\nAction: find[y]\nObservation: three\nThought: c\nFinal Answer: 4"
    )
    found = load(tmp_path, user("q"), agent(text))
    turns = found.trajectory.turns
    assert calls_of(found) == [[("find", {"input": "x"})], [("find", {"input": "y"})], []]
    told = [[(one.source, one.content) for one in turn.observations] for turn in turns]
    assert told == [
        [("tool", "Observation: one\ntwo")],
        [("tool", "Observation: three")],
        [],
    ]
    assert turns[2].content == "Thought: c\nFinal Answer: 4"


def test_what_was_found_stands_in_no_answer_of_a_searching_agent(tmp_path: Path) -> None:
    text = (
        "<search>q</search>\n<information>Doc 1</information>\n<think>b</think><answer>W</answer>"
    )
    found = load(tmp_path, user("q"), agent(f"<think>a</think>\n{text}"))
    first, last = found.trajectory.turns
    assert calls_of(found) == [[("search", {"input": "q"})], []]
    assert first.thought == "a"
    assert [one.content for one in first.observations] == ["<information>Doc 1</information>"]
    assert (last.content, last.thought) == ("<answer>W</answer>", "b")
    assert last.raw == "<think>b</think><answer>W</answer>"


@pytest.mark.parametrize("asked", [None, [{"role": "system", "content": "S"}, user("fix")]])
def test_a_run_of_swe_agent_without_a_history_is_read_from_its_steps(
    tmp_path: Path, asked: Any
) -> None:
    steps = [
        {
            "action": f"{act}\n",
            "observation": f"did {act}",
            "response": f"I do.\n```\n{act}\n```",
            "thought": "I do.\n",
            "query": asked,
        }
        for act in ("ls -a", "edit 1:1\nü\nend_of_edit", "submit")
    ]
    run = {"environment": "main", "trajectory": steps, "info": {"exit_status": "submitted"}}
    (found,), bad = read_document(tmp_path, run)
    assert bad == []
    one = found.trajectory
    assert calls_of(found) == [[("bash", {"command": step["action"]})] for step in steps]
    assert [[seen.content for seen in turn.observations] for turn in one.turns] == [
        ["did ls -a"],
        ["did edit 1:1\nü\nend_of_edit"],
        ["did submit"],
    ]
    assert {seen.source for turn in one.turns for seen in turn.observations} == {"tool"}
    assert one.system_prompt == (None if asked is None else "S")
    # without the question nobody learns the answers
    assert {turn.mask for turn in one.turns} == {None if asked else "after_unseen_content"}
