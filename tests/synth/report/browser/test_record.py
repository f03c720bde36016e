"""Texts and keys as the page holds them: everything comes back as it was, and keys part where
trajectories do.
"""

import base64
import gzip
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.report.browser.packing import compressed
from synth.report.browser.record import About, record
from synth.report.browser.stand_ins import StandIns
from synth.report.browser.texts import Texts
from synth.text.transcript.divergence import first_divergence
from tests.synth.report.episodes import episode, turn


@settings(max_examples=15)
@given(
    st.recursive(
        st.text() | st.integers() | st.none(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_whatever_a_text_says_it_is_letters_and_digits_in_the_page_and_comes_back_the_same(
    value: Any,
) -> None:
    blob = compressed(value)
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", blob)
    assert json.loads(gzip.decompress(base64.b64decode(blob))) == value


@pytest.mark.parametrize("text", ["</script>", "\u2028\u2029", "\ud800", "שלום", "x" * 10**6])
def test_texts_that_break_pages_come_back_the_same(text: str) -> None:
    assert json.loads(gzip.decompress(base64.b64decode(compressed({"texts": [text]})))) == {
        "texts": [text]
    }


def test_a_text_stands_once_and_a_long_one_by_its_beginning_and_its_end() -> None:
    texts = Texts(longest=8)
    assert [texts.number(text) for text in ("one", "two", "one", None, "abcdefghijkl")] == [
        0,
        1,
        0,
        None,
        2,
    ]
    assert (texts.packed, texts.cut) == (["one", "two", ["abcdef", 4, "kl"]], 1)


@settings(max_examples=30)
@given(
    st.integers(0, 5), st.sampled_from(["order", "answer", "state", "thought", "keys", "nothing"])
)
def test_keys_differ_first_where_the_trajectories_part(place: int, what: str) -> None:
    turns = [turn(n, f"O-{n}", state_key=f"s{n}") for n in range(6)]
    mine, changed = (
        turns[place],
        {
            "order": turn(
                place, "O-x", observations=turns[place].observations, state_key=f"s{place}"
            ),
            "answer": turn(place, f"O-{place}", observations=(), state_key=f"s{place}"),
            "state": turn(place, f"O-{place}", state_key="elsewhere"),
            "thought": turn(place, f"O-{place}", state_key=f"s{place}", thought="another"),
            "keys": turn(place, f"O-{place}", state_key=f"s{place}"),
            "nothing": turns[place],
        }[what],
    )
    other = [*turns[:place], changed, *turns[place + 1 :]]
    texts = Texts(longest=100)
    keys = [
        [
            [texts.packed[key] for key in one["keys"]]
            for one in record(episode("x", each), About(), texts, str)["turns"]
        ]
        for each in (turns, other)
    ]
    first = next(
        (at for at, (left, right) in enumerate(zip(*keys, strict=True)) if left != right), None
    )
    found = first_divergence(episode("x", turns), episode("x", other))
    assert first == (None if found is None else found.turn)
    assert mine.index == place


def test_numbers_that_are_equal_have_equal_keys_as_in_the_divergence() -> None:
    sides = [
        [turn(0, "O", tool_calls=(turn(0, "O").tool_calls[0].received("c", "pay", text),))]
        for text in ('{"a":1,"b":2}', '{"b":2.0,"a":1}')
    ]
    texts = Texts(longest=100)
    keys = [record(episode("x", side), About(), texts, str)["turns"][0]["keys"] for side in sides]
    assert keys[0] == keys[1]
    assert first_divergence(*(episode("x", side) for side in sides)) is None


def test_values_of_one_task_are_left_alone_in_texts_of_another() -> None:
    stand_ins = StandIns()
    assert stand_ins.in_text("elsewhere", "dora.nash77@mail.example") == "dora.nash77@mail.example"
