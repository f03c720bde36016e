"""Trees of a search: a trajectory a path."""

from pathlib import Path
from typing import Any

import pytest

from tests.synth.importers.research_records import call, load, node


def tree(*children: dict[str, Any], win: bool = True) -> dict[str, Any]:
    schema = {
        "name": "find",
        "description": "d",
        "parameters": {"type": "object", "properties": {}},
    }
    return {
        "win": win,
        "tree": {"tree": node("Action Input", "", *children)},
        "answer_generation": {"query": "q", "function": [schema]},
    }


def test_a_tree_is_a_trajectory_per_path_and_a_second_try_was_prompted_for(tmp_path: Path) -> None:
    gave_up = node("Thought", "hopeless", call("Finish", 4, is_terminal=False, pruned=True))
    answered = node("Thought", "again", call("Finish", 3, finished=True))
    cut = call("find", 12, pruned=True)
    good, bad = load(tmp_path, tree(call("find", 0, gave_up, answered), cut))
    assert bad == []
    first, second, third = (f.trajectory for f in good)
    assert [t.outcome for t in (first, second, third)] == ["failure", "success", "truncated"]
    assert [(t.parent_id, t.pivot_turn) for t in (first, second, third)] == [
        (None, None),
        (first.trajectory_id, 1),
        (second.trajectory_id, 0),
    ]
    assert [turn.mask for turn in second.turns] == [None, "unrecorded_prompt"]
    assert [(turn.content, turn.tool_calls[0].name) for turn in second.turns] == [
        (None, "find"),
        ("again", "Finish"),
    ]
    assert third.turns[0].observations[0].error
    assert first.tools[0]["function"]["name"] == "find"
    assert len({t.content_hash for t in (first, second, third)}) == 3


@pytest.mark.parametrize(
    "broken", [node("Reflection", "x"), node("Action Input", "{}"), {"description": "x"}]
)
def test_a_tree_of_another_shape_is_refused(tmp_path: Path, broken: dict[str, Any]) -> None:
    good, bad = load(tmp_path, tree(broken))
    assert (good, [b.reason for b in bad]) == ([], ["bad_record"])


def test_a_tree_without_a_turn_is_refused(tmp_path: Path) -> None:
    assert [b.reason for b in load(tmp_path, tree())[1]] == ["no_turns"]
