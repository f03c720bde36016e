"""Expected values are those that vLLM 0.32's `coerce_to_schema_type` gave for the same texts and
schemas.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.text.calls.argument_types import properties_of, typed

WORDS = (
    st.sampled_from(
        [
            "null",
            "1",
            " 4 ",
            "3.0",
            "1e400",
            "nan",
            "True",
            "0",
            "[1]",
            "[1e999]",
            "abc",
            "9" * 5000,
            "[" * 100_000,
        ]
    )
    | st.text()
)
KINDS = st.sampled_from(
    ["string", "integer", "number", "boolean", "object", "array", "null", "int", "weird"]
)
SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": KINDS | st.lists(KINDS) | st.none(),
            "enum": st.lists(st.none() | st.integers() | st.text()),
        },
    ),
    lambda inner: st.fixed_dictionaries({"anyOf": st.lists(inner | st.integers())}),
    max_leaves=4,
)


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("42", {"type": "integer"}, 42),
        ("42", {"type": "string"}, "42"),
        ("42", {}, "42"),
        ("42", None, "42"),
        ("3.0", {"type": "number"}, 3),
        ("3.5", {"type": "number"}, 3.5),
        ("3.5", {"type": "integer"}, 3.5),
        ("many", {"type": "integer"}, "many"),
        ("True", {"type": "boolean"}, True),
        ("0", {"type": "boolean"}, False),
        ("1", {"type": ["boolean", "integer"]}, 1),
        ("NULL", {"type": ["string", "null"]}, None),
        ("none", {"type": ["string", "null"]}, "none"),
        ('{"a": [1]}', {"type": "object"}, {"a": [1]}),
        ("[1, 2", {"type": "array"}, "[1, 2"),
        ("1e999", {"type": "number"}, "1e999"),
        ("[1e999]", {"type": "array"}, "[1e999]"),
        ("7", {"enum": [5, 7]}, 7),
        ("7", {"anyOf": [{"type": "null"}, {"type": "int"}]}, 7),
        ("7", {"anyOf": [{"$ref": "#/x"}, {"type": "object"}]}, 7),
    ],
)
def test_a_text_is_read_as_the_first_type_of_its_schema_that_it_fits(
    text: str, schema: Any, value: object
) -> None:
    found = typed(text, schema)
    assert (type(found), found) == (type(value), value)


@pytest.mark.slow
@given(WORDS, SCHEMAS)
def test_any_text_under_any_schema_has_a_value(text: str, schema: dict[str, Any]) -> None:
    typed(text, schema)


@pytest.mark.slow
@given(st.text(), SCHEMAS)
def test_text_of_type_string_alone_stays_as_it_is(text: str, schema: dict[str, Any]) -> None:
    assert typed(text, {"type": "string"}) == text


def test_a_tool_without_properties_is_told_from_one_that_was_not_offered() -> None:
    tools = (
        {"type": "function", "function": {"name": "f"}},
        {"type": "function", "function": {"name": "g", "parameters": {"properties": {"x": {}}}}},
    )
    assert [properties_of(tools, name) for name in ("f", "g", "h")] == [{}, {"x": {}}, None]
