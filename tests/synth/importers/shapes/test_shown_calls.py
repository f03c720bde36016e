"""What an answer shows is no call, and what a person says of outputs no answer of a tool."""

import time
from pathlib import Path

import pytest

from synth.importers.actions.markup import in_tags
from synth.importers.actions.written import by_convention
from tests.synth.importers.shapes.test_actions import agent, load, user
from tests.synth.importers.shapes.test_actions_elsewhere import ONE_CALL, calls_of


@pytest.mark.parametrize(
    "text",
    [
        "Now it is:\n```xml\n<project>\n<my_name>x</my_name>\n</project>\n```",
        "Now it is:\n```xml\n<read_file>\n<path>x</path>\n</read_file>\n```",
        "Now it is:\n<div>\n<p>x</p>\n</div>",
    ],
)
def test_markup_that_an_agent_shows_stays_text(tmp_path: Path, text: str) -> None:
    act, answer, call = ONE_CALL["cline"]
    last = "<attempt_completion>\n<result>It is.</result>\n</attempt_completion>"
    shown = [agent(text), user("Thanks. Finish.")]
    found = load(tmp_path, user("q"), agent(act), user(answer), *shown, agent(last))
    assert calls_of(found) == [[call], [], [("attempt_completion", {"result": "It is."})]]
    assert found.trajectory.turns[1].content == text


def test_a_line_of_a_document_that_an_agent_shows_is_no_act(tmp_path: Path) -> None:
    last = "Thought: k\nFinal Answer: use\n```yaml\nEffect: Allow\nAction: s3:GetObject\n```\nOK?"
    acts = [agent("Thought: t\nAction: find[x]"), user("Observation: y")]
    found = load(tmp_path, user("q"), *acts, agent(last))
    assert calls_of(found) == [[("find", {"input": "x"})], []]
    assert found.trajectory.turns[1].content == last


def test_an_act_may_stand_in_a_fence_with_its_thought(tmp_path: Path) -> None:
    text = "I do:\n```\nThought: t\nAction: find[x]\n```"
    found = load(tmp_path, user("q"), agent(text), user("Observation: y"), agent("So."))
    assert [len(turn.tool_calls) for turn in found.trajectory.turns] == [1, 0]


@pytest.mark.parametrize("said", ["Tool results should be cached. How?", "Code output matters."])
def test_a_person_may_speak_of_outputs(tmp_path: Path, said: str) -> None:
    found = load(tmp_path, user("q"), agent("Hello."), user(said), agent("So."))
    assert [one.source for one in found.trajectory.turns[0].observations] == ["user"]


@pytest.mark.parametrize(
    "answer", ["Tool output 1: x", "Tool result for find: x", "Function response\nx", "Tool result"]
)
def test_an_answer_of_a_harness_is_known_by_its_heading(tmp_path: Path, answer: str) -> None:
    found = load(tmp_path, user("q"), agent("```bash\nls\n```"), user(answer), agent("So."))
    assert calls_of(found) == [[("bash", {"command": "ls"})], []]


def test_a_call_in_a_fence_that_was_answered_is_a_call(tmp_path: Path) -> None:
    text = 'I look:\n```\n<tool_call>{"name": "f", "arguments": {}}</tool_call>\n```\nNow.'
    sent = "<tool_response>1</tool_response>"
    found = load(tmp_path, user("q"), agent(text), user(sent), agent("So."))
    assert calls_of(found) == [[("f", {})], []]
    alone = '```xml\n<tool_call>{"name": "f", "arguments": {}}</tool_call>\n```'
    assert calls_of(load(tmp_path, user("q"), agent(alone))) == [[("f", {})]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": 1 ' * 10_000 + "x",
        "<tool><name>a</name><args>{" * 10_000,
        '<invoke name="a">x ' * 15_000,
        "<function=a>" + "<parameter=x>" * 20_000 + "</function>",
        "[TOOL_CALLS] [x] " * 15_000 + "y",
        "Action: x" + "\n" * 100_000 + "y",
        "Action: x" + " " * 100_000 + "y",
    ],
)
def test_calls_that_nothing_ends_are_looked_at_in_no_time(text: str) -> None:
    begun = time.process_time()
    in_tags(text)
    by_convention(text)
    assert time.process_time() - begun < 4
