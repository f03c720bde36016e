"""Actions that stand in texts become calls, the text as written stays, and what answered them is an
answer of a tool; an example in an answer to a person stays text.
"""

import time
from pathlib import Path
from typing import Any

import pytest

from synth.importers.actions.markup import in_tags
from synth.importers.actions.unplayed import writes_a_call
from synth.importers.records import Imported
from tests.synth.importers.imports import read_document

ANSWERED = {
    "hermes": '<tool_call>\n{"name": "find", "arguments": {"q": "x"}}\n</tool_call>',
    "xml of functions": "<function=find>\n<parameter=q>x</parameter>\n</function>",
    "xml within tool_call": (
        "<tool_call>\n<function=find>\n<parameter=q>\nx\n</parameter>\n</function>\n</tool_call>"
    ),
    "invoke": (
        '<function_calls>\n<invoke name="find">\n<parameter name="q">x</parameter>\n</invoke>\n'
        "</function_calls>"
    ),
    "function with json": '<function=find>{"q": "x"}</function>',
    "mistral": '[TOOL_CALLS] [{"name": "find", "arguments": {"q": "x"}}]',
    "react": 'Thought: Look.\nAction: find\nAction Input: {"q": "x"}',
    "react json": 'Thought:\nLook.\nAction:\n{"name": "find", "arguments": {"q": "x"}}',
    "react fenced": (
        'Thought: Look.\nAction:\n```json\n{"action": "find", "action_input": {"q": "x"}}\n```'
    ),
    "act": '{"name": "find", "arguments": {"q": "x"}}',
    "json fence": 'Look.\n```json\n{"name": "find", "arguments": {"q": "x"}}\n```',
}


def load(tmp_path: Path, *messages: Any) -> Imported:
    (found,), bad = read_document(tmp_path, {"messages": list(messages)})
    assert bad == []
    assert isinstance(found, Imported)
    return found


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def agent(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


@pytest.mark.parametrize("text", ANSWERED.values(), ids=ANSWERED.keys())
def test_an_action_in_any_writing_is_a_call_and_the_text_is_kept(tmp_path: Path, text: str) -> None:
    found = load(tmp_path, user("q"), agent(text), user("API output: 3"), agent("It is 3."))
    acted, told = found.trajectory.turns
    assert [(call.name, call.parsed()) for call in acted.tool_calls] == [("find", {"q": "x"})]
    assert acted.raw == text
    (answer,) = acted.observations
    assert (answer.source, answer.content) == ("tool", "API output: 3")
    assert answer.call_id == acted.tool_calls[0].call_id
    assert (told.content, told.tool_calls, told.raw) == ("It is 3.", (), None)


@pytest.mark.parametrize("name", ["react", "react json", "act", "json fence"])
def test_the_same_words_to_a_person_stay_words(tmp_path: Path, name: str) -> None:
    found = load(tmp_path, user("How do I call it?"), agent(ANSWERED[name]), user("Thanks!"))
    (turn,) = found.trajectory.turns
    assert (turn.content, turn.tool_calls, turn.raw) == (ANSWERED[name], (), None)
    assert turn.observations[0].source == "user"


def test_a_shell_block_in_a_chat_with_a_person_stays_text(tmp_path: Path) -> None:
    text = "Run this:\n```bash\nls\n```"
    found = load(tmp_path, user("How?"), agent(text), user("It works"), agent("Good."))
    assert [turn.content for turn in found.trajectory.turns] == [text, "Good."]


def test_a_reply_action_is_words_to_the_user_with_the_thought_beside_it(tmp_path: Path) -> None:
    reply = 'Thought:\nAsk.\nAction:\n{"name": "respond", "arguments": {"content": "Which one?"}}'
    found = load(
        tmp_path,
        user("q"),
        agent(reply),
        user("That one."),
        agent(ANSWERED["react json"]),
        user("API output: {}"),
        agent(reply),
    )
    first, second, third = found.trajectory.turns
    assert (first.content, first.tool_calls, first.raw) == ("Which one?", (), reply)
    assert first.observations[0].source == "user"
    assert second.observations[0].source == "tool"
    assert third.content == "Which one?"


def test_several_calls_in_tags_are_one_turn(tmp_path: Path) -> None:
    one, other = (
        f'<tool_call>{{"name": "f", "arguments": {{"n": {n}}}}}</tool_call>' for n in (1, 2)
    )
    answers = {
        "role": "tool",
        "content": "<tool_response>a</tool_response>\n<tool_response>b</tool_response>",
    }
    (turn,) = load(tmp_path, user("q"), agent(f"Both.\n{one}\n{other}"), answers).trajectory.turns
    assert turn.content == "Both."
    assert [call.parsed() for call in turn.tool_calls] == [{"n": 1}, {"n": 2}]
    ids = [call.call_id for call in turn.tool_calls]
    assert [(ids.index(o.call_id or ""), o.content) for o in turn.observations] == [
        (0, "a"),
        (1, "b"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "f", "arguments": {"n": 1}',
        "<tool_call>not json</tool_call>",
        "<tool_call>{}</tool_call>",
    ],
)
def test_a_tag_that_cannot_be_read_stays_text(tmp_path: Path, text: str) -> None:
    (turn,) = load(tmp_path, user("q"), agent(text)).trajectory.turns
    assert turn.content == text
    assert turn.tool_calls == ()


def test_a_loop_of_acts_in_words_is_one_of_calls(tmp_path: Path) -> None:
    chat = [user("Put the apple away.")]
    for step in ("go to table", "take apple", "go to fridge"):
        chat += [agent(f"Thought: now.\nAction: {step}"), user(f"You {step}.")]
    found = load(tmp_path, *chat)
    assert [turn.tool_calls[0].parsed() for turn in found.trajectory.turns] == [
        {"action": step} for step in ("go to table", "take apple", "go to fridge")
    ]
    assert {one.source for turn in found.trajectory.turns for one in turn.observations} == {"tool"}


def test_an_action_of_swe_agent_stands_beside_its_thought(tmp_path: Path) -> None:
    text = "DISCUSSION\nLook.\n```\nls -a\n```"
    history = [
        {"role": "system", "content": "s", "agent": "main"},
        {"role": "user", "content": "Fix it.", "agent": "main"},
        {
            "role": "assistant",
            "content": text,
            "thought": "DISCUSSION\nLook.\n",
            "action": "ls -a\n",
            "agent": "main",
        },
        {"role": "user", "content": "a.py", "agent": "main"},
        {"role": "assistant", "content": "?", "thought": "?", "action": "", "agent": "main"},
        {"role": "user", "content": "Your output was not formatted.", "agent": "main"},
    ]
    (found,), bad = read_document(tmp_path, {"history": history, "trajectory": [], "info": {}})
    assert bad == []
    acted, failed = found.trajectory.turns
    assert acted.tool_calls[0].parsed() == {"command": "ls -a\n"}
    assert (acted.content, acted.raw) == ("DISCUSSION\nLook.", text)
    assert [(o.source, o.content) for o in acted.observations] == [("tool", "a.py")]
    assert (failed.tool_calls, failed.observations[0].source) == ((), "environment")


@pytest.mark.parametrize("language", ["bash", "mswea_bash_command"])
def test_a_command_of_mini_swe_agent_is_a_call_and_two_are_none(
    tmp_path: Path, language: str
) -> None:
    block = f"```{language}\nls\n```"
    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": f"THOUGHT: look\n\n{block}"},
        {"role": "user", "content": "a.py"},
        {"role": "assistant", "content": f"{block}\n{block}"},
        {"role": "user", "content": "Exactly one."},
    ]
    run = {"trajectory_format": "mini-swe-agent-1.1", "info": {}, "messages": messages}
    (found,), bad = read_document(tmp_path, run)
    assert bad == []
    acted, failed = found.trajectory.turns
    assert acted.tool_calls[0].parsed() == {"command": "ls"}
    assert (acted.content, acted.observations[0].source) == ("THOUGHT: look", "tool")
    assert (failed.tool_calls, failed.observations[0].source) == ((), "environment")


NATIVE = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "y"}'}}
    ],
}


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ('{"name": "cancel_order", "arguments": {"id": "W1"}}', "call_in_text"),
        ('I will do it.\n\n{\n  "name": "cancel",\n  "arguments": {"id": 1}\n}', "call_in_text"),
        ('{"type": "message", "content": "Which one?"}', None),
        ('{"name": "Ann", "city": "Bonn"}', None),
        ("{not json} {'name': 'cancel'}", None),
    ],
)
def test_a_call_that_an_agent_with_calls_only_wrote_to_a_person_carries_no_loss(
    tmp_path: Path, text: str, mask: str | None
) -> None:
    answer = {"role": "tool", "tool_call_id": "c1", "content": "1 found"}
    found = load(tmp_path, user("q"), NATIVE, answer, agent(text), user("No!"), agent("Sorry."))
    assert [turn.mask for turn in found.trajectory.turns] == [None, mask, None]
    assert found.trajectory.turns[1].content == text
    alone = load(tmp_path, user("q"), agent(text), user("Thanks."))
    assert [turn.mask for turn in alone.trajectory.turns] == [None]


SHELL = "\n(Open file: n/a)\n(Current directory: /x)\nbash-$"


def test_a_bare_fence_is_a_command_where_swe_agents_shell_answers(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        user("Fix it."),
        agent("Look.\n```\nls -F\n```"),
        user(f"setup.py{SHELL}"),
        agent("Done.\n```\nsubmit\n```"),
    )
    first, last = found.trajectory.turns
    assert [call.parsed() for call in (*first.tool_calls, *last.tool_calls)] == [
        {"command": "ls -F"},
        {},
    ]
    assert first.observations[0].source == "tool"
    told = load(tmp_path, user("q"), agent("See:\n```\nls\n```"), user("Thanks"), agent("Fine."))
    assert [turn.tool_calls for turn in told.trajectory.turns] == [(), ()]


def test_an_object_as_python_prints_it_is_a_call_between_tags(tmp_path: Path) -> None:
    text = "<tool_call>\n{'arguments': {'q': 'it\\'s'}, 'name': 'find'}\n</tool_call>"
    found = load(tmp_path, user("q"), agent(text), user("<tool_response>3</tool_response>"))
    (turn,) = found.trajectory.turns
    assert [(call.name, call.parsed()) for call in turn.tool_calls] == [("find", {"q": "it's"})]
    assert turn.raw == text


def test_chatml_in_one_text_is_a_chat(tmp_path: Path) -> None:
    text = (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nRain?<|im_end|>\n"
        '<|im_start|>assistant\n<tool_call>\n{"name": "rain", "arguments": {}}\n'
        "</tool_call><|im_end|>\n"
        "<|im_start|>user\n<tool_response>\nyes\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\nYes.<|im_end|>\n"
    )
    (found,), bad = read_document(tmp_path, {"text": text})
    assert bad == []
    assert isinstance(found, Imported)
    one = found.trajectory
    assert (one.system_prompt, one.opening[0].content) == ("Be brief.", "Rain?")
    assert [call.name for call in one.turns[0].tool_calls] == ["rain"]
    assert [seen.content for seen in one.turns[0].observations] == ["yes"]
    assert one.turns[1].content == "Yes."


@pytest.mark.parametrize("hostile", [('{"x":[' + "0," * 500) * 1000, '{"a":' * 200_000])
def test_a_megabyte_of_objects_that_never_end_is_read_a_few_times_and_holds_no_call(
    hostile: str,
) -> None:
    began = time.process_time()
    assert not writes_a_call(hostile)
    assert time.process_time() - began < 5  # tens of seconds where each beginning is read anew


@pytest.mark.parametrize("arguments", ["{'q': b'x'}", "{'q': {1, 2}}", "{'q': 1e999}", "{1j: 2}"])
def test_what_python_prints_and_json_cannot_say_is_no_call(arguments: str) -> None:
    assert in_tags(f"<tool_call>{{'name': 'find', 'arguments': {arguments}}}</tool_call>") is None
