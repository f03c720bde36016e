"""What a model calls is held to what the methods declare."""

import asyncio
import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import Observation, Source
from tests.envs.tool_env.shelf import Shelf, answers, call, opened, played, task_of


def test_the_opening_is_the_docstring_the_tools_and_what_the_user_says():
    opening = asyncio.run(opened(Shelf).reset(task_of(Shelf)))
    assert opening.system_prompt == "A shelf of boxes.\n\nPut things where they belong."
    assert opening.observations == (Observation("Put 4 into the red box.", Source.USER),)
    assert [one["function"]["name"] for one in opening.tools] == [
        "look",
        "put",
        "paint",
        "roll",
        "leave",
    ]


def test_schemas_come_from_annotations_and_docstrings():
    (put, paint) = (Shelf.tools[name].schema()["function"] for name in ("put", "paint"))
    assert put == {
        "name": "put",
        "description": "Put numbers into a box.",
        "parameters": {
            "type": "object",
            "properties": {
                "box": {"type": "string", "enum": ["red", "blue"]},
                "numbers": {"type": "array", "items": {"type": "integer"}},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
            "required": ["box", "numbers"],
        },
    }
    assert paint["parameters"]["properties"] == {
        "colour": {"type": "string", "enum": ["green", "grey"]},
        "share": {"type": "number"},
        "dry": {"type": "boolean"},
        "coats": {"type": "integer", "enum": [1, 2]},
    }
    assert paint["parameters"]["required"] == ["colour"]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("put", '{"box": "red"}', "put takes box, numbers, note; numbers is missing."),
        (
            "put",
            '{"box": "red", "numbers": [1], "x": 1}',
            "put takes box, numbers, note; there is no argument 'x'.",
        ),
        ("put", '{"box": "pink", "numbers": [1]}', "put: box: Input should be 'red' or 'blue'."),
        (
            "put",
            '{"box": "red", "numbers": [1, "2"]}',
            "put: numbers[1]: Input should be a valid integer.",
        ),
        (
            "put",
            '{"box": "red", "numbers": [1.0]}',
            "put: numbers[0]: Input should be a valid integer.",
        ),
        (
            "put",
            '{"box": "red", "numbers": [true]}',
            "put: numbers[0]: Input should be a valid integer.",
        ),
        ("put", '{"box": "red", "numbers": null}', "put: numbers: Input should be a valid array."),
        (
            "put",
            '{"box": "red", "numbers": [9007199254740993]}',
            "put: numbers[0]: Input should be less than or equal to 9007199254740992.",
        ),
        ("put", '{"box": "blue", "numbers": []}', "Nothing to put."),
        ("paint", '{"colour": "red"}', "paint: colour: Input should be 'green' or 'grey'."),
        ("paint", '{"colour": "grey", "dry": 1}', "paint: dry: Input should be a valid boolean."),
        ("paint", '{"colour": "grey", "coats": 3}', "paint: coats: Input should be 1 or 2."),
        (
            "paint",
            '{"colour": "grey", "share": 1' + "0" * 400 + "}",
            "paint: share: Input should be a finite number.",
        ),
        ("push", "{}", "There is no tool 'push'; there are look, put, paint, roll, leave."),
        ("start", "{}", "There is no tool 'start'; there are look, put, paint, roll, leave."),
        ("look", "[]", "arguments are not a JSON object: Expected `object`, got `array`"),
    ],
)
def test_what_no_method_takes_is_an_error_that_the_agent_reads(name, arguments, said):
    assert answers(Shelf, call(name, arguments)) == [
        Observation(said, Source.TOOL, "1", name, error=True)
    ]


def test_methods_are_given_values_of_their_declared_types():
    assert answers(
        Shelf,
        call("put", '{"box": "red", "numbers": [4, 5], "note": null}'),
        call("paint", '{"colour": "grey", "share": 1}'),
    ) == [
        Observation("red: 4, 5", Source.TOOL, "1", "put"),
        Observation("Colour.GREY 1.0 True 2", Source.TOOL, "1", "paint"),
    ]


def test_answers_that_are_no_text_become_json_and_none_a_word():
    boxes = Observation('{"red":[],"blue":[]}', Source.TOOL, "1", "look")
    assert answers(Shelf, call("look"), call("leave")) == [
        boxes,
        Observation("Done.", Source.TOOL, "1", "leave"),
    ]


def test_a_refused_call_changes_nothing_though_the_method_had_begun():
    def after(*turns: AgentTurn) -> tuple[Any, str | None]:
        env = opened(Shelf)
        responses = asyncio.run(played(env, *turns))
        return asyncio.run(env.facts()), responses[-1].state_key

    refused = call("put", '{"box": "red", "numbers": [1, 13]}')
    assert after(call("look")) == after(refused) == after(refused, refused)


def test_errors_are_short_and_hold_no_control_characters():
    (said,) = answers(
        Shelf, call("put", '{"box": "red", "numbers": [13], "note": "a\\u0000' + "b" * 9000 + '"}')
    )
    assert said.error
    assert said.content.startswith("13 brings bad luck: a\ufffdb")
    assert len(said.content) == 504


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["red", "green", "1"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
argument_names = st.sampled_from(
    ["box", "numbers", "note", "colour", "share", "dry", "coats", "self", "x"]
) | st.text(max_size=5)


def fits(schema: dict[str, Any], value: Any) -> bool:
    """Whether a parsed JSON value is what a schema of the shelf says, to the letter."""
    if "anyOf" in schema:
        return any(fits(each, value) for each in schema["anyOf"])
    if value not in schema.get("enum", [value]):
        return False
    match schema["type"]:
        case "array":
            return type(value) is list and all(fits(schema["items"], each) for each in value)
        case "integer":
            return type(value) is int and abs(value) <= 2**53
        case "number":
            return type(value) in (int, float) and math.isfinite(value)
        case named:
            return type(value) is {"string": str, "boolean": bool, "null": type(None)}[named]


@pytest.mark.slow
@given(st.sampled_from(["put", "paint"]), st.dictionaries(argument_names, json_values, max_size=5))
@example("put", {"box": "red", "numbers": [1]})
@example("paint", {"colour": "grey", "share": 3, "dry": False, "coats": 1})
@example("paint", {"colour": "grey", "coats": True})
def test_a_call_is_done_exactly_when_its_arguments_fit_the_schema(
    name: str, arguments: dict[str, Any]
) -> None:
    text = json.dumps(arguments)
    schema = Shelf.tools[name].schema()["function"]["parameters"]
    admissible = set(schema["required"]) <= arguments.keys() <= schema["properties"].keys()
    admissible = admissible and all(
        fits(schema["properties"][key], value) for key, value in arguments.items()
    )
    refused = name == "put" and (
        arguments.get("numbers") == [] or 13 in (arguments.get("numbers") or [])
        if admissible
        else False
    )
    (answer,) = answers(Shelf, call(name, text))
    assert (answer.source, answer.call_id, answer.name) == (Source.TOOL, "1", name)
    assert answer.error == (not admissible or refused)


@given(
    st.text() | st.sampled_from(list(Shelf.tools)),
    st.text() | json_values.map(json.dumps),
    st.text(),
)
def test_whatever_is_called_is_answered_once_and_readably(
    name: str, arguments: str, call_id: str
) -> None:
    (answer,) = answers(Shelf, call(name, arguments, call_id))
    assert answer.call_id == call_id
    assert answer.content.strip()
    answer.content.encode()
