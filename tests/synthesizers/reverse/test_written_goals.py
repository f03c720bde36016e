"""What a writer sees, which of its replies are goals, and words for goals that rules wrote."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from synth.engine.asking import UnreadableError
from synth.schemas.environment import Opening
from synth.schemas.flow import Flow
from synth.schemas.model import Completion
from synth.schemas.reverse import Change, Operation, Window
from synth.schemas.trajectory import Observation, Turn
from synth.synthesizers.reverse.role_writer import messages, read_goal
from tests.flow_files import run_flow
from tests.synth.models.chat_server import ChatServer
from tests.synthesizers.reverse.deriving_on_shelves import tasks_of
from tests.synthesizers.reverse.shelf_world import NAME, call

pytestmark = pytest.mark.slow

MOVE = Operation(
    1, call("move_item", item="cup-1", box="box-2"), {"items/cup-1/place": Change("box-1", "box-2")}
)


LOOKED = Turn(0, None, call("look").tool_calls, (Observation("cup-1, cup-2"),))


WINDOW = Window(
    NAME,
    {},
    0,
    Opening(None, (), (Observation("Hello."),)),
    (LOOKED, Turn(1, None, MOVE.turn.tool_calls)),
    (MOVE,),
    {},
    {},
)


def goal(**changes: Any) -> Completion:
    return Completion(
        content="Here: "
        + json.dumps({"low_level": ["Move it."], "goal": "Put the cup into box-2."} | changes)
    )


def test_a_goal_is_read_with_one_instruction_per_operation() -> None:
    draft = read_goal(goal(), WINDOW)
    assert (draft.goal, draft.low_level, draft.structure) == (
        "Put the cup into box-2.",
        ("Move it.",),
        "",
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"goal": "Put the cup away."},
            "the goal does not say 'box-2', and nothing that was seen does",
        ),
        ({"goal": "Call move_item for box-2."}, "the goal names the tool move_item"),
        ({"goal": "  "}, "the goal has 0 characters"),
        ({"low_level": []}, "low_level has 0 instructions for 1 operations"),
        ({"low_level": {"first": "Move it."}}, "it is not the JSON object asked for"),
        ({"other": 1}, "it is not the JSON object asked for"),
    ],
)
def test_a_reply_that_cannot_be_used_says_why(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UnreadableError, match=re.escape(said)):
        read_goal(goal(**changes), WINDOW)


def test_the_writer_sees_what_was_seen_and_what_changed() -> None:
    shown = messages(WINDOW)[1]["content"]
    assert "cup-1, cup-2" in shown
    assert "items/cup-1/place: 'box-1' -> 'box-2'" in shown


def words(body: Any) -> dict[str, Any]:
    """Each request in the rules' words, with a few before them."""
    lines = re.findall(r"^\d+\. (.*)$", body["messages"][1]["content"], re.MULTILINE)
    text = json.dumps({"lines": [f"I have a wish here. {line}" for line in lines]})
    return {"role": "assistant", "content": text}


def nonsense(body: Any) -> dict[str, Any]:
    """As many lines as there are requests, which say nothing."""
    lines = re.findall(r"^\d+\. ", body["messages"][1]["content"], re.MULTILINE)
    text = json.dumps({"lines": ["Qwe rty uio pas dfg hjk lzx cvb nmq wer." for _ in lines]})
    return {"role": "assistant", "content": text}


def shop_flow(url: str | None) -> Flow:
    """The storefront, with a writer or without."""
    writer = {"model": "test", "base_url": url, "timeout_s": 5, "max_retries": 0}
    stage = {"explorations": 3, "per_exploration": 1}
    return Flow.model_validate(
        {
            "name": "shop",
            "seed": 11,
            "env": {"name": "storefront", "tasks": 0},
            "models": {"explorer": {"policy": "expert"}} | ({"writer": writer} if url else {}),
            "stages": [{"reverse_task": stage | ({"role": "writer"} if url else {})}],
        }
    )


def test_a_model_words_goals_that_rules_have_written_and_tested(tmp_path: Path) -> None:
    _, by_rules, _ = run_flow(shop_flow(None), str(tmp_path / "rules"))
    with ChatServer(words) as server:
        _, worded, _ = run_flow(shop_flow(server.url), str(tmp_path / "worded"))
    tasks = tasks_of(tmp_path / "worded").values()
    assert worded["reverse_task"]["verified"] == by_rules["reverse_task"]["verified"] >= 2
    for task in tasks:
        assert "1. I have a wish here. " in task.goal
        assert task.script["requests"]
        assert task.difficulty["tests"]["T8"]["read"] == "in the rules' words"


def test_words_that_say_nothing_become_no_goal(tmp_path: Path) -> None:
    with ChatServer(nonsense) as server:
        run_flow(shop_flow(server.url), str(tmp_path / "run"))
    assert not tasks_of(tmp_path / "run")
