"""Calls as models write them, for tests with hypothesis."""

import json

from hypothesis import strategies as st

from synth.schemas.trajectory import ToolCall
from synth.text.calls.reading import read_calls

CALL = '<tool_call>\n{"name": "find", "arguments": {"id": 1}}\n</tool_call>'
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=8,
)


OBJECTS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), JSON, max_size=4)


ARGUMENTS = st.builds(
    lambda value, ascii_only, indent: json.dumps(value, ensure_ascii=ascii_only, indent=indent),
    OBJECTS,
    st.booleans(),
    st.sampled_from([None, 2]),
)


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


CALLS = st.lists(
    st.builds(lambda name, arguments: ToolCall.received("", name, arguments), NAMES, ARGUMENTS),
    min_size=1,
    max_size=4,
)


PLAIN = st.text(st.characters(exclude_characters="<"))


PIECES = st.lists(
    st.sampled_from(
        [
            "<tool_call>",
            "</tool_call>",
            "<think>",
            "</think>",
            '{"name": "f", "arguments": {',
            "}",
            '{"name": "f"}',
            '"',
            "\\",
            "x",
            "\n",
        ]
    )
    | st.text(max_size=5),
    max_size=20,
).map("".join)


def names(text: str) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in read_calls(text).calls]
