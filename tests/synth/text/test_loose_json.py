"""Signs in full width are JSON's where that has one meaning, and a text's own elsewhere."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.text.replies.loose_json import LooseJSONError, loose_json
from tests.synth.engine.reply_dressings import written


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("｛“a”：“x”，“b”：3｝", {"a": "x", "b": 3}),
        ('{"a"："x"，"b"："y"}', {"a": "x", "b": "y"}),
        ('{"a": "x"，"b": "y"}', {"a": "x", "b": "y"}),
        ('["x"，"y"]', ["x", "y"]),
        ("［1、2］", [1, 2]),
        ("{「a」：「b」}", {"a": "b"}),
        ('{"a": "一：二，三｝"}', {"a": "一：二，三｝"}),
        ('{"a": "他说"好"，然后走了", "b": 3}', {"a": '他说"好"，然后走了', "b": 3}),
        ("{a：true，b：null}", {"a": True, "b": None}),
    ],
)
def test_each_has_one_reading(text: str, value: Any) -> None:
    assert loose_json(text) == (value, len(text))


@pytest.mark.parametrize(
    "text",
    [
        '{"a"：1，"a"：2}',
        '{"a"：}',
        "｛“a”：1，",
        '{"a": 3、4}',
        '{"a"："他说"原因"：没有"，"b"：3}',
    ],
)
def test_what_is_none_in_latin_signs_is_none_in_full_width(text: str) -> None:
    with pytest.raises(LooseJSONError):
        loose_json(text)


PLAIN = st.text("abc ，：、｛｝。字", min_size=1, max_size=8)


@given(st.dictionaries(PLAIN, PLAIN | st.integers(0, 99) | st.lists(PLAIN, max_size=3), min_size=1))
def test_what_is_written_in_full_width_is_read_or_refused_and_never_another(value: Any) -> None:
    for signs, quotes in (("｛｝［］：，", "“”"), ("{}[]：，", '""'), ("{}[]:，", '""')):
        try:
            read, _ = loose_json(written(value, signs, quotes))
        except LooseJSONError:
            continue
        assert read == value
    assert loose_json(json.dumps(value, ensure_ascii=False))[0] == value
