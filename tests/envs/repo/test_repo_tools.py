"""Calls that cannot be done."""

import json

import pytest

from synth.envs.repo.tools import problem_of, texts, tool_schemas
from synth.schemas import ToolCall


def problem(tool: str, **arguments: object) -> str | None:
    return problem_of(ToolCall.received("1", tool, json.dumps(arguments)))


def test_right_calls_have_no_problem() -> None:
    assert problem("bash", command="ls") is None
    assert problem("view", path="a") is None
    assert problem("view", path="a", lines="1-2") is None
    assert problem("replace", path="a", old="", new="x") is None
    assert problem("submit") is None


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("shell", {}, "no tool"),
        ("bash", {}, "takes command"),
        ("bash", {"command": 1}, "must be a text"),
        ("bash", {"command": "a" * 30_001}, "at most 30000"),
        ("bash", {"command": "a\0b"}, "character"),
        ("submit", {"answer": "x"}, "no arguments"),
        ("view", {"path": "a", "line": "1"}, "takes path and lines"),
    ],
)
def test_wrong_calls_are_told_in_words(tool: str, arguments: dict[str, object], why: str) -> None:
    assert why in (problem(tool, **arguments) or "")


def test_every_argument_has_a_bound() -> None:
    for tool in tool_schemas():
        assert tool["function"]["parameters"]["properties"].keys() <= texts().longest.keys()
