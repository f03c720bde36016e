"""What looks like a call and is none: words about calls, code, data, other tools."""

import pytest

from synth.models.replies.tool_call_recovery import with_recovered_calls
from synth.schemas.model import Completion
from tests.synth.text.calls.written import FORMS, TOOLS

CALL = '{"name": "search", "arguments": {"query": "a"}}'
SCHEMA = (
    '{"name": "search", "description": "Looks.", "parameters": {"type": "object", "properties": '
    '{"query": {"type": "string"}}}}'
)
NO_CALLS = {
    "json in a sentence": f"You could send {CALL} to it, if you like.",
    "a token in a sentence": "Mistral's models write [TOOL_CALLS] before their calls.",
    "a tag in a sentence": "Between <tool_call> and </tool_call> stands JSON.",
    "a call in a span of code": f"Write `<tool_call>{CALL}</tool_call>` and wait.",
    "a call between quotes": f"The manual says “<tool_call>{CALL}</tool_call>” on page 3.",
    "code that holds it": f"```python\ncall = {CALL}\nsend(call)\n```",
    "code that calls a function": '```python\nsearch(query="a")\n```',
    "code of several lines": "```js\nfunction search(query) {\n  return fetch(query);\n}\n```",
    "a shell command": "```bash\nsearch --query a\n```",
    "the tool's own schema": SCHEMA,
    "the tool's own schema in a fence": f"```json\n{SCHEMA}\n```",
    "data that is named like a tool": '{"name": "search", "hits": 3}',
    "data of another name": '{"name": "Ann", "arguments": {"for": "it"}}',
    "a plan that holds calls": f'{{\n  "plan": [\n    {CALL}\n  ]\n}}',
    "a list of people": '[{"name": "Ann"}, {"name": "Bob"}]',
    "an action that is no tool": "Thought: Done.\nAction: Finish\nAction Input: 42",
    "an action in words": "Action: I will look for it.\nThen I will tell you.",
    "a headline": "Action: search for the parcel\nOwner: Ann",
    "a function in words": "search(query) is the tool that looks things up.",
    "a Markdown link": "[search](https://example.com) finds it.",
    "another function in a list": "[print(a=1)]",
    "a signature": "get_weather(city: str, days: int) -> dict",
    "an address": "Mail to=functions.search is no address.",
    "the word analysis": "analysis of the data: it rains.",
}


@pytest.mark.parametrize("text", NO_CALLS.values(), ids=NO_CALLS)
def test_what_only_looks_like_a_call_is_none(text: str) -> None:
    read = with_recovered_calls(Completion(content=text), [], TOOLS)
    assert (read.tool_calls, read.content) == ((), text)
    assert "tool_call_unread" not in read.repairs


@pytest.mark.parametrize(
    "text", [NO_CALLS["a tag in a sentence"], NO_CALLS["a token in a sentence"]]
)
def test_marks_of_calls_that_stay_in_the_text_are_told(text: str) -> None:
    read = with_recovered_calls(Completion(content=text), [], TOOLS)
    assert read.repairs == ("tool_call_markup_in_text",)


@pytest.mark.parametrize("name", FORMS)
def test_a_call_of_no_tool_is_none_but_for_forms_that_mark_it(name: str) -> None:
    """A marked call of an unknown tool goes to the world, which says so; it is the agent's
    error.
    """
    text = FORMS[name]("fly_away", {"to": "Oslo"})
    read = with_recovered_calls(Completion(content=text), [], TOOLS)
    assert [call.name for call in read.tool_calls] in ([], ["fly_away"])
    unmarked = ("llama", "openai", "bare", "fenced", "react", "gemma", "without_tokens")
    if (name.startswith(unmarked) and name != "llama_function") or name == "pythonic":
        assert read.tool_calls == ()


def test_calls_without_a_mark_are_not_looked_for_in_thinking() -> None:
    read = with_recovered_calls(Completion(content=f"<think>\n{CALL}\n</think>\nNo."), [], TOOLS)
    assert read.tool_calls == ()
