"""What stands in a text anew."""

from hypothesis import given
from hypothesis import strategies as st

from synth.envs.repo.source.fresh import fresh_places, touches
from synth.envs.repo.source.text import Edit

BEFORE = "def find(text, at=0, end=None):\n    return text\n"
AFTER = "def find(text, at=0, end=None, last=True):\n    return text\n"
LINES = st.lists(st.sampled_from(["a = b\n", "a = b + 1\n", "c(a, b)\n", "\n"]), max_size=5)


def told(before: str, after: str) -> str:
    """A text with a dot for each character that is not new."""
    fresh = fresh_places(before, after)
    return "".join(one if at in fresh else "." for at, one in enumerate(after))


def test_of_a_line_the_words_that_it_did_not_have() -> None:
    assert told(BEFORE, AFTER).replace(".", "") == ", last=True"
    assert told("a < b\n", "a <= b\n") == "..<=..\n".replace("\n", ".")


def test_of_a_change_that_only_takes_away_its_lines() -> None:
    assert told("x = 1\nreturn not a\ny = 2\n", "x = 1\nreturn a\ny = 2\n") == (
        "......return a\n......"
    )


def test_lines_that_are_gone_leave_nothing_new() -> None:
    assert fresh_places("a = 1\nb = 2\n", "a = 1\n") == frozenset()


def test_an_edit_touches_what_it_changes_or_stands_beside() -> None:
    places = frozenset({4, 5})
    assert touches(places, Edit(0, 5, "x"))
    assert not touches(places, Edit(0, 4, "x"))
    assert touches(places, Edit(6, 6, "x"))
    assert not touches(places, Edit(7, 7, "x"))


@given(LINES, LINES)
def test_a_text_is_new_in_no_place_where_it_is_the_same(
    before: list[str], after: list[str]
) -> None:
    one, other = "".join(before), "".join(after)
    assert fresh_places(one, one) == frozenset()
    assert fresh_places("", other) == frozenset(range(len(other)))
    assert fresh_places(one, other) <= frozenset(range(len(other)))
