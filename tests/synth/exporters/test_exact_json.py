"""Numbers reach the trainer as the model wrote them, or are known not to."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.io.json import ujson_loads  # type: ignore[import-untyped]

from synth.exporters.exact_json import exact_json


def test_the_loader_does_change_numbers() -> None:
    assert ujson_loads("0.3") != 0.3


@pytest.mark.parametrize(
    "number",
    [
        "0",
        "true",
        "0.3",
        "0.57",
        "-0.41",
        "1.1",
        "-0.0",
        "1e22",
        "18446744073709551615",
        "-9223372036854775808",
    ],
)
def test_numbers_are_written_so_that_the_loader_reads_them_exactly(number: str) -> None:
    value = {"x": [json.loads(number)]}
    text = exact_json(value)
    assert text is not None
    assert ujson_loads(text) == json.loads(text) == value


@pytest.mark.parametrize("value", [10**20, -(2**63) - 1, {"x": [10**20]}, 0.1234567890123456])
def test_numbers_that_the_loader_cannot_read_have_no_text(value: Any) -> None:
    assert exact_json(value) is None


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(codec="utf-8")),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_text_that_is_given_is_the_same_value_for_every_reader(value: Any) -> None:
    text = exact_json(value)
    assert text is None or ujson_loads(text) == json.loads(text) == value
