"""Texts that say the same again, apart from those that are only about the same things."""

import time
from math import log

import numpy as np
import pytest

from synth.text.paraphrase.alignment import by_clauses, by_words, clauses, weights
from synth.text.paraphrase.index import FEWEST_PAIRS, FLOORS, Paraphrases, _pair
from synth.text.paraphrase.masking import masked, stem, stems

TASK = (
    "You bought a blender and a set of towels. Send back the towels, keep the blender, and have "
    "the money put on your gift card."
)
AGAIN = (
    "From a purchase of yours the towels should be returned and the money put on the gift card, "
    "while the blender stays with you."
)
OTHER = (
    "Write a script that compresses all log files older than a week and deletes those that are "
    "empty, then prints how many there were."
)


def test_entities_are_masked_and_the_rest_stays() -> None:
    text = "Move order K-4411 of Ada Brandt (ada@mail.example, user_12) to 3 May."
    assert masked(text).split() == ["Move", "order", "of", "(", ",", ")", "to", "."]


@pytest.mark.parametrize("word", ["cancel", "cancels", "cancelled", "cancellation", "Cancelling"])
def test_forms_of_a_word_begin_alike(word: str) -> None:
    assert stem(word).startswith("cance")


def test_weights_are_powers_of_the_inverse_frequency() -> None:
    known = weights(["red kettle", "black kettle", "tall tree"])
    assert known["kettl"] == pytest.approx((log(4 / 3) + 0.1) ** 1.5)
    assert known["red"] == known[""] == pytest.approx((log(4 / 2) + 0.1) ** 1.5)


def test_the_score_is_the_geometric_mean_of_both_coverages() -> None:
    # all stems weigh the same: 2 of 2 of the first, 2 of 4 of the second
    score = by_words({"red": 1.0, "lamp": 1.0, "tree": 1.0, "stone": 1.0, "": 1.0})
    assert score("red lamp", "red lamp tree stone") == pytest.approx((1 * 0.5) ** 0.5)
    assert score("red lamp", "tree stone") == 0
    assert score("", "red lamp") == 0


def test_clauses_are_set_against_their_nearest() -> None:
    vectors = {"Keep the blender.": [1.0, 0.0], "Return all towels.": [0.0, 1.0]}
    score = by_clauses(lambda texts: np.array([vectors[text] for text in texts], np.float32))
    both = "Keep the blender. Return all towels."
    assert clauses(both) == [*vectors]
    assert score(both, both) == pytest.approx(1)
    # one clause of two is covered, and the one there is, wholly
    assert score(both, "Keep the blender.") == pytest.approx(0.5**0.5)


def test_a_task_in_other_words_is_found_and_another_task_is_not() -> None:
    index = Paraphrases([("shop", TASK), ("shop", OTHER)], unrelated=0.01)
    found = index.nearest(AGAIN)
    assert found is not None
    assert found.benchmark == "shop"
    alone = Paraphrases([("shop", TASK)], unrelated=0.01)
    assert alone.nearest(OTHER) is None
    assert alone.nearest("Hello.") is None


def test_a_task_of_other_entities_is_found() -> None:
    one = (
        "You are Paula Stern. Return the hiking boots of W-5521 and exchange the tent for a "
        "smaller one."
    )
    two = (
        "You are Igor Malik. Exchange the tent for a smaller one, and return the hiking boots "
        "of Q-9034."
    )
    assert Paraphrases([("b", one)], unrelated=0.01).nearest(two) is not None


def test_the_threshold_is_the_floor_where_unrelated_pairs_are_too_few() -> None:
    index = Paraphrases([("b", TASK), ("b", OTHER)], unrelated=0.01)
    assert index.threshold == FLOORS["words"]


def test_the_threshold_rises_where_a_domains_documents_are_all_alike() -> None:
    # each has 15 of 25 words: two documents share nine of fifteen by chance, coverage about .6
    words = [f"{a}{b}ndol" for a in "bcdfg" for b in "aeiou"]
    drawn = (np.random.default_rng(at).permutation(words)[:15] for at in range(25))
    mixed = [" ".join(one) for one in drawn]
    index = Paraphrases([("b", text) for text in mixed], unrelated=0.01)
    assert len(mixed) * (len(mixed) - 1) // 2 >= FEWEST_PAIRS
    assert 0.5 < index.threshold < 0.9


def test_pairs_are_numbered_without_gaps() -> None:
    assert [_pair(at) for at in range(6)] == [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]
    assert _pair(2_000_000 * 1_999_999 // 2 - 1) == (1_999_999, 1_999_998)


def test_stems_of_masked_texts_keep_their_order() -> None:
    assert stems("Keep 3 red kettles") == ("keep", "red", "kettl")


@pytest.mark.parametrize("sign", ["a", "-", "a.", "a_", "a@", "Ab ", "1,"])
def test_a_long_text_without_an_entity_is_read_once(sign: str) -> None:
    """Twice the text takes about twice the time: looked through from each sign it took four times,
    and a megabyte hours.
    """
    text = sign * (200_000 // len(sign))
    started = time.perf_counter()
    masked(f"{text}!")
    assert time.perf_counter() - started < 5
