"""The ratio, the tokens that count as decisions, the choice within a task and the ranking of
sources, with numbers worked out by hand.
"""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.filters.rank_surprisal.decisions import copied, scaffolding
from synth.filters.rank_surprisal.ratio import Sums, summed
from synth.filters.rank_surprisal.sources import ScoredRow, ranking
from synth.schemas.model import Scored, TokenScore


def tokens(*pairs: tuple[float, int]) -> list[TokenScore]:
    return [TokenScore(at, logprob, rank) for at, (logprob, rank) in enumerate(pairs)]


def test_the_ratio_is_one_of_sums_and_ranks_are_capped_at_100_before_they_are_added() -> None:
    found = summed(tokens((-1.0, 1), (-4.0, 250), (-0.0, 1)))
    assert (found.rank, found.nll, found.tokens) == (102.0, 5.0, 3)
    assert found.ratio == pytest.approx(
        20.4
    )  # the mean of the three ratios would be 1, 25 and no number
    assert summed(tokens((-1.0, 1), (-4.0, 250)), max_rank=9).ratio == pytest.approx(2.0)


def test_a_text_known_by_heart_has_the_largest_ratio_and_no_text_has_none() -> None:
    assert summed(tokens((-0.0, 1), (-0.0, 1))).ratio == pytest.approx(2e12)
    assert Sums().ratio is None


def test_a_data_set_counts_each_trajectory_once_however_long() -> None:
    short, long = Sums(10.0, 2.0, 2), Sums(100.0, 400.0, 100)
    rows = [ScoredRow("a", "t", one.ratio, one.means, decision=one.means) for one in (short, long)]
    (source,) = ranking(rows).sources
    assert source.ratio is not None
    assert source.ratio.value == pytest.approx((5 + 1) / (1 + 4))  # pooled: 110 / 402
    assert source.decision == pytest.approx((5 + 1) / (1 + 4))
    (unscored,) = ranking([ScoredRow("a", "t", why="no_tokens")]).sources
    assert (unscored.ratio, unscored.decision) == (None, None)


def chat(text: Sequence[int], *spans: tuple[int, int]) -> Scored:
    places = tuple(i for start, end in spans for i in range(start, end))
    turns = tuple(turn for turn, (start, end) in enumerate(spans) for _ in range(start, end))
    return Scored(
        tuple(TokenScore(text[i], -1.0, 1) for i in places),
        turns,
        "h",
        True,
        chat=tuple(text),
        places=places,
    )


def test_six_tokens_that_stand_before_in_this_order_are_copied_and_five_are_not() -> None:
    shown = [1, 2, 3, 4, 5, 6, 7]
    six = chat([*shown, 90, *shown[1:], 91], (8, 15))
    assert copied(six, 6) == [True] * 6 + [False]
    five = chat([*shown, 90, *shown[:5], 91], (8, 14))
    assert copied(five, 6) == [False] * 6


def test_a_run_is_copied_only_from_what_ends_before_it_and_never_across_two_turns() -> None:
    assert copied(chat([9, 5, 5, 5, 5, 5, 5, 5], (1, 8)), 6) == [False] * 7, (
        "it overlaps its only source"
    )
    assert (
        copied(chat([1, 2, 3, 4, 5, 6, 80, 1, 2, 3, 81, 4, 5, 6], (7, 10), (11, 14)), 6)
        == [False] * 6
    )
    assert (
        copied(chat([1, 2, 3, 4, 5, 6, 80, 1, 2, 3, 4, 5, 6], (0, 6), (7, 13)), 6)
        == [False] * 6 + [True] * 6
    ), "an own earlier turn"


@given(st.lists(st.integers(0, 2), min_size=1, max_size=40), st.integers(2, 5))
@settings(max_examples=60)
def test_copied_tokens_are_those_of_every_long_run_that_a_plain_search_finds(
    text: list[int], span: int
) -> None:
    start = len(text) // 3
    expected = [False] * len(text)
    for first in range(start, len(text) - span + 1):
        run = text[first : first + span]
        if any(text[at : at + span] == run for at in range(first - span + 1)):
            expected[first : first + span] = [True] * span
    assert copied(chat(text, (start, len(text))), span) == expected[start:]


def spelled(texts: Sequence[str], turns: Sequence[int] | None = None) -> Scored:
    scores = tuple(TokenScore(at, -1.0, 1) for at in range(len(texts)))
    return Scored(scores, tuple(turns or [0] * len(texts)), "h", True, texts=tuple(texts))


def called(content: str | None, name: str, arguments: str) -> dict[str, object]:
    return {
        "role": "assistant",
        "content": content,
        "tool_calls": [{"id": "c", "function": {"name": name, "arguments": arguments}}],
    }


def test_scaffolding_is_what_the_template_puts_around_text_name_and_values() -> None:
    texts = [
        "I",
        " look",
        ".",
        "<call>",
        '{"name": "',
        "find",
        '", "',
        'arguments": {"',
        "order",
        '": "',
        "O-",
        "7",
        '"}}',
        "</call>",
    ]
    expected = [0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1]
    message = called("I look.", "find", '{"order": "O-7"}')
    assert scaffolding(spelled(texts), [{"role": "user", "content": "hi"}, message]) == [
        bool(one) for one in expected
    ]


def test_values_are_found_in_xml_in_other_spacing_and_where_tokens_share_a_character() -> None:
    texts = ["<f=", "pay", "><", "n", ">", "1.5", "</n><who>", "J", "�", "�", "y", "</who>"]
    message = called(None, "pay", '{"n": 1.50, "who": "Jéy"}')
    assert scaffolding(spelled(texts), [message]) == [
        True,
        False,
        True,
        True,
        True,
        False,
        True,
        False,
        False,
        False,
        False,
        True,
    ]


def test_a_name_that_reads_like_its_value_is_not_taken_for_it() -> None:
    texts = ["<f>", "set", '{"', "on", '": "', "on", '"}']
    assert scaffolding(spelled(texts), [called(None, "set", '{"on": "on"}')]) == [
        True,
        False,
        True,
        True,
        True,
        False,
        True,
    ]


def test_turns_without_calls_have_no_scaffolding_and_it_is_unknown_for_calls_outside_the_text() -> (
    None
):
    plain = {"role": "assistant", "content": "Hello."}
    assert scaffolding(spelled(["Hello", "."]), [plain]) == [False, False]
    assert scaffolding(spelled(["Hello", "."], [0, 1]), [plain, called(None, "find", "{}")]) is None
    assert scaffolding(spelled(["find", "{}"]), [called("not rendered", "find", "{}")]) is None
