"""Actions in writings of further families of agents, one and several in a turn; what answered them
is no user's, and what only looks like an action stays text.
"""

import time
from pathlib import Path
from typing import Any

import pytest

from synth.importers.actions.elements import in_elements
from synth.importers.actions.markup import named_call
from synth.importers.records import Imported
from tests.synth.importers.imports import read_document
from tests.synth.importers.shapes.test_actions import agent, load, user

LANGCHAIN = 'Action:\n```json\n{"action": "find", "action_input": "in Oslo"}\n```'
ONE_CALL = {
    "codeact": (
        "Sum.\n```python\nprint(1 + 2)\n```",
        "Execution result:\n3",
        ("python", {"code": "print(1 + 2)"}),
    ),
    "codeact in tags": (
        "<execute>\nprint(3)\n</execute>",
        "Observation: 3",
        ("execute", {"input": "print(3)"}),
    ),
    "cline": (
        "<read_file>\n<path>a b.py</path>\n<from>1</from>\n</read_file>",
        "[read_file for 'a b.py'] Result:\nx",
        ("read_file", {"path": "a b.py", "from": "1"}),
    ),
    "api-bank": (
        "API-Request: [AddAlarm(time='8:00', label='x, (y)')]",
        "API output: success",
        ("AddAlarm", {"time": "8:00", "label": "x, (y)"}),
    ),
    "a name with blanks": (
        '[Market Trends API(country="us", of=[1, 2])]',
        "Observation: ok",
        ("Market Trends API", {"country": "us", "of": [1, 2]}),
    ),
    "llama's token": (
        '<|python_tag|>find.call(city="Oslo")',
        "Observation: 1",
        ("find", {"city": "Oslo"}),
    ),
    "glaive": (
        """<functioncall> {"name": "rate", "arguments": '{"base": "USD"}'} <|endoftext|>""",
        'FUNCTION RESPONSE: {"rate": 1}',
        ("rate", {"base": "USD"}),
    ),
    "one argument in words": (LANGCHAIN, "Observation: 3", ("find", {"input": "in Oslo"})),
    "round brackets": (
        "Thought: Who?\nAction: get_relations(Barack Obama)",
        "Observation: spouse",
        ("get_relations", {"input": "Barack Obama"}),
    ),
    "arguments beside the name": (
        '{"thought": "t", "action": "click", "index": 3}',
        "Observation: ok",
        ("click", {"index": 3}),
    ),
    "an object that holds the call": (
        '{"thoughts": "t", "command": {"name": "find", "args": {"q": "ü"}}}',
        "Observation: ok",
        ("find", {"q": "ü"}),
    ),
    "webarena": (
        "In summary, the next action I will perform is ```click [1]```",
        "OBSERVATION:\n[2] b",
        ("act", {"action": "click [1]"}),
    ),
    "tags of an action": (
        "<action>\nclick('a51')\n</action>",
        "Observation: x",
        ("click", {"input": "'a51'"}),
    ),
    "elements of a name and of arguments": (
        '<tool_call>\n<name>find</name>\n<arguments>{"q": "x"}</arguments>\n</tool_call>',
        "Observation: 1",
        ("find", {"q": "x"}),
    ),
    "a name in other letters": (
        "思考: 見る\nAction: 検索[東京]",
        "**Observation:** 結果",
        ("検索", {"input": "東京"}),
    ),
    "an object of Python's in a fence": (
        "```JSON\n{'name': 'find', 'arguments': {'q': None}}\n```",
        "Observation: 1",
        ("find", {"q": None}),
    ),
    "an argument with a line like an action": (
        "Thought: t\nAction: write\nAction Input: a\nAction: not\nb",
        "Observation: ok",
        ("write", {"input": "a\nAction: not\nb"}),
    ),
}


def calls_of(found: Imported) -> list[list[tuple[str, Any]]]:
    return [
        [(call.name, call.parsed()) for call in turn.tool_calls] for turn in found.trajectory.turns
    ]


@pytest.mark.parametrize(("text", "answer", "call"), ONE_CALL.values(), ids=ONE_CALL.keys())
def test_an_action_is_the_call_that_it_says(
    tmp_path: Path, text: str, answer: str, call: tuple[str, Any]
) -> None:
    found = load(tmp_path, user("q"), agent(text), user(answer), agent("Done."))
    assert calls_of(found) == [[call], []]
    acted = found.trajectory.turns[0]
    assert acted.raw == text
    assert [(one.source, one.content) for one in acted.observations] == [("tool", answer)]


@pytest.mark.parametrize(
    "text",
    [
        '```json\n[{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {}}]\n```',
        '{"tool_calls": [{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {}}]}',
        "[f(x=1), g()]",
        'Thought: two\nAction: f\nAction Input: {"x": 1}\nAction: g\nAction Input: {}',
    ],
)
def test_several_actions_of_a_text_are_as_many_calls(tmp_path: Path, text: str) -> None:
    found = load(tmp_path, user("q"), agent(text), user("Observation: 1"), agent("Done."))
    assert calls_of(found) == [[("f", {"x": 1}), ("g", {})], []]


def test_answers_in_tags_that_a_user_sends_answer_each_its_call(tmp_path: Path) -> None:
    one = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    sent = "<tool_response>\n1\n</tool_response>\n<tool_response>\nü\n</tool_response>"
    found = load(tmp_path, user("q"), agent(f"{one}\n{one}"), user(sent), agent("Done."))
    acted, _ = found.trajectory.turns
    assert [(one.source, one.content) for one in acted.observations] == [
        ("tool", "1"),
        ("tool", "ü"),
    ]
    assert [one.call_id for one in acted.observations] == [one.call_id for one in acted.tool_calls]


def test_what_a_model_made_up_behind_its_act_is_no_answer(tmp_path: Path) -> None:
    text = "Thought: x\nAction: find[x]\nObservation: made up\nThought: z\nAction: Finish[up]"
    found = load(tmp_path, user("q"), agent(text), user("Observation: real"), agent("Done."))
    first, _ = found.trajectory.turns
    assert calls_of(found) == [[("find", {"input": "x"})], []]
    assert [one.content for one in first.observations] == ["Observation: real"]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Sure:\n```python\nprint(1)\n```", "Output: 1\nWhy?"),
        ("<div>\n<p>hi</p>\n</div>", "Output: hi"),
        ("It goes:\nThought: x\nAction: find[x]\nObservation: y\nFinal Answer: w", "Thanks"),
        ('{"name": "f", "argument": {"x": 1}}', "Observation: 1"),
        ("Use ```ls``` here.", "Result: it works"),
        ("Sure:\n```python\nprint(1)\n```", "Code output is wrong: it says 1"),
        ("Try:\n```bash\nls -l\n```", "Command output was empty, what now?"),
        ('Hermes:\n```\n<tool_call>{"name": "f", "arguments": {}}</tool_call>\n```', "Thanks"),
        ('`<tool_call>{"name": "f", "arguments": {}}</tool_call>` it is.', "Thanks"),
        ('For example\n```xml\n<invoke name="f"></invoke>\n```\nor so.', "Thanks"),
        ("Action: boil water\nObservation: it boils\nAction: wait\n", "Nice plan"),
        ("The template has:\n```\n</think>\n```\nand no more.", "Thanks"),
    ],
)
def test_what_a_person_is_shown_stays_text(tmp_path: Path, text: str, answer: str) -> None:
    found = load(tmp_path, user("q"), agent(text), user(answer), agent("Good."))
    assert [turn.content for turn in found.trajectory.turns] == [text, "Good."]
    assert calls_of(found) == [[], []]


def test_arguments_under_a_key_that_nobody_knows_are_not_lost(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="argument"):
        named_call({"name": "f", "argument": {"x": 1}})
    text = '<tool_call>{"name": "f", "argument": {"x": 1}}</tool_call>'
    found = load(tmp_path, user("q"), agent(text), user("ok"), agent("Good."))
    assert [turn.content for turn in found.trajectory.turns] == [text, "Good."]


def test_an_answer_of_a_tool_is_no_users_where_no_call_could_be_read(tmp_path: Path) -> None:
    found = load(tmp_path, user("q"), agent("calling f of x"), user("API output: 3"), agent("3."))
    assert [one.source for one in found.trajectory.turns[0].observations] == ["environment"]


def test_a_loop_may_begin_with_an_answer_that_does_nothing_yet(tmp_path: Path) -> None:
    messages = [user("You are in a kitchen."), agent("OK.")]
    for act in ("go to fridge 1", "open fridge 1", "take apple 1"):
        messages += [user(f"before {act}"), agent(f"THOUGHT: so\nACTION: {act}")]
    found = load(tmp_path, *messages)
    assert [len(turn.tool_calls) for turn in found.trajectory.turns] == [0, 1, 1, 1]
    assert found.trajectory.turns[1].observations[0].source == "tool"


def test_a_user_may_speak_behind_the_act_that_ends_a_run(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        user("Who?"),
        agent("Thought: a\nAction: find[x]"),
        user("Observation: W"),
        agent("Thought: b\nAction: Finish[W]"),
        user("And his wife?"),
        agent("Thought: c\nAction: find[wife]"),
        user("Observation: V"),
        agent("Thought: d\nAction: Finish[V]"),
    )
    sources = [[one.source for one in turn.observations] for turn in found.trajectory.turns]
    assert sources == [["tool"], ["user"], ["tool"], []]


def test_the_final_answer_of_langchain_is_words(tmp_path: Path) -> None:
    last = 'Thought: k\nAction:\n```\n{"action": "Final Answer", "action_input": "It is 3."}\n```'
    found = load(tmp_path, user("q"), agent(LANGCHAIN), user("Observation: 3"), agent(last))
    assert calls_of(found) == [[("find", {"input": "in Oslo"})], []]
    assert found.trajectory.turns[1].content == "It is 3."


@pytest.mark.parametrize("text", ["<a>" * 300_000, "<a><b>" * 150_000 + "</a>"])
def test_a_megabyte_of_tags_is_looked_at_in_no_time(text: str) -> None:
    begun = time.process_time()
    assert in_elements(text) is None
    assert time.process_time() - begun < 2


@pytest.mark.slow
def test_a_megabyte_of_answers_without_end_is_looked_at_in_no_time(tmp_path: Path) -> None:
    begun = time.process_time()
    text = "<information>" * 80_000
    (found,), _ = read_document(tmp_path, {"messages": [user("q"), agent(text)]})
    assert isinstance(found, Imported)
    assert found.trajectory.turns[0].content == text
    assert time.process_time() - begun < 3


def test_a_list_that_answers_several_calls_is_dealt_out(tmp_path: Path) -> None:
    answer = '[{"t": 1.0},  "é"]'
    told = {"role": "tool", "content": answer}
    found = load(tmp_path, user("q"), agent("[f(x=1), g()]"), told, agent("Done."))
    acted = found.trajectory.turns[0]
    assert [(one.content, one.call_id) for one in acted.observations] == [
        ('{"t": 1.0}', acted.tool_calls[0].call_id),
        ('"é"', acted.tool_calls[1].call_id),
    ]


@pytest.mark.parametrize("answer", ["[1]", "[1, 2] ok", "[1, 2", '{"a": [1, 2]}'])
def test_what_is_no_list_of_as_many_answers_stays_one(tmp_path: Path, answer: str) -> None:
    told = {"role": "tool", "content": answer}
    found = load(tmp_path, user("q"), agent("[f(x=1), g()]"), told, agent("Done."))
    assert [one.content for one in found.trajectory.turns[0].observations] == [answer]


def test_arguments_that_break_off_are_kept_as_written_and_not_learnt(tmp_path: Path) -> None:
    text = 'Action: f\nAction Input: {"x": 2,}'
    found = load(tmp_path, user("q"), agent(text), user("Observation: bad"), agent("Done."))
    (call,) = found.trajectory.turns[0].tool_calls
    assert (call.arguments, call.parse_error is None) == ('{"x": 2,}', False)


def test_an_empty_answer_to_an_act_is_the_tools(tmp_path: Path) -> None:
    acts = [agent("Action: f[1]"), user(""), agent("Action: f[2]"), user("Observation: 2")]
    found = load(tmp_path, user("q"), *acts, agent("Done."))
    sources = [[one.source for one in turn.observations] for turn in found.trajectory.turns]
    assert sources == [["tool"], ["tool"], []]


def test_a_system_message_may_be_the_answer(tmp_path: Path) -> None:
    told = {"role": "system", "content": "Observation: 2"}
    found = load(tmp_path, user("q"), agent("Action: f[1]"), told, agent("Done."))
    assert calls_of(found) == [[("f", {"input": "1"})], []]
    assert [one.source for one in found.trajectory.turns[0].observations] == ["tool"]
