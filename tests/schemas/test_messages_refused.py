"""Messages that have no place in the form: refused in one line that names them, never read as
something else.
"""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.schemas.text.conversation import from_messages

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
json_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
shapes = [
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "function_call",
    "error",
    "reasoning_content",
    "raw",
    "refusal",
]
roles = st.sampled_from(["user", "assistant", "tool", "function", "system", "developer", "critic"])


@pytest.mark.slow
@given(
    st.lists(st.dictionaries(st.sampled_from(shapes), json_value | roles) | json_value, max_size=4)
)
def test_anything_is_read_or_refused_in_one_line_that_names_the_message(
    messages: list[Any],
) -> None:
    try:
        read = from_messages(messages)
    except ValueError as error:
        reason = str(error)
    else:
        reason = "message 0: was read"
        msgspec.json.encode(read)
    assert reason.startswith("message ")
    assert "\n" not in reason


def test_text_parts_are_joined_and_other_parts_are_refused_with_their_place() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert from_messages([{"role": "user", "content": parts}]).opening[0].content == "ab"
    with pytest.raises(ValueError, match="message 1: content part of type 'image_url' is not text"):
        from_messages(
            [
                {"role": "user", "content": "?"},
                {"role": "user", "content": [{"type": "image_url", "image_url": {}}]},
            ]
        )
    with pytest.raises(ValueError, match="message 0: role 'critic'"):
        from_messages([{"role": "critic", "content": "bad"}])
