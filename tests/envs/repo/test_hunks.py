"""Edits from one text to another."""

import random

import pytest

from synth.envs.repo.repair.hunks import Hunk, hunks, occurs_once

FIVE = "a\nb\nc\nd\ne\n"


def test_one_changed_line_is_one_edit_of_that_line() -> None:
    assert list(hunks(FIVE, "a\nb\nX\nd\ne\n")) == [Hunk("c\n", "X\n", 3)]


def test_lines_that_occur_twice_come_with_what_stands_before_them() -> None:
    now = "if a:\n    return 1\nif b:\n    return 1\n"
    wanted = "if a:\n    return 1\nif b:\n    return 2\n"
    assert list(hunks(now, wanted)) == [Hunk("if b:\n    return 1\n", "if b:\n    return 2\n", 3)]


def test_an_insertion_takes_the_line_before_it_along() -> None:
    assert list(hunks("a\nb\n", "a\nnew\nb\n")) == [Hunk("a\n", "a\nnew\n", 1)]


def test_changes_far_apart_are_edits_of_their_own() -> None:
    wanted = FIVE.replace("a\n", "A\n").replace("e\n", "E\n")
    assert [hunk.line for hunk in hunks(FIVE, wanted)] == [1, 5]


def test_equal_texts_need_no_edit() -> None:
    assert not list(hunks(FIVE, FIVE))


def test_overlapping_occurrences_count() -> None:
    assert not occurs_once("\n\n", "a\n\n\n")
    assert occurs_once("a\n\n", "a\n\n\n")


@pytest.mark.parametrize("seed", range(40))
def test_edits_one_after_the_other_end_in_what_is_wanted(seed: int) -> None:
    draw = random.Random(seed)
    now, wanted = ("".join(draw.choices(["a\n", "b\n", "\n"], k=12)) for _ in "12")

    for _ in range(20):
        edit = next(iter(hunks(now, wanted)), None)
        if edit is None:
            break
        assert occurs_once(edit.old, now)
        now = now.replace(edit.old, edit.new)

    assert now == wanted
