"""Where a value counts as seen: by itself, in any usual spelling, and nowhere else."""

import pytest

from synth.text.provenance.seen import Seen, stands


@pytest.mark.parametrize(
    ("text", "value", "number", "expected"),
    [
        ("order o-4471 please", "o-4471", False, True),
        ("order o-44710", "o-4471", False, False),
        ("order xo-4471", "o-4471", False, False),
        ("part v-4471-9", "v-4471", False, False),
        ("#w2378156", "w2378156", False, True),
        ("total 84.5", "84.5", True, True),
        ("total 184.5", "84.5", True, False),
        ("total 84.55", "84.5", True, False),
        ("on 2026-03-05", "5", True, False),
        ("on 2026-03-05", "03", True, False),
        ("id c-28083", "28083", True, False),
        ("at 12:45", "45", True, False),
        ('{"a":45}', "45", True, True),
        ("[1,2]", "2", True, True),
        ("of 5.", "5", True, True),
        ("i am ann@mail.example", "mail", False, False),
        ("i am ann@mail.example", "ann", False, False),
        ("i am ann@mail.example", "ann@mail.example", False, True),
        ("minus -5 degrees", "5", True, True),
        (r"done\n42 left", "42", True, True),
    ],
)
def test_a_value_stands_by_itself(text, value, number, expected):
    assert stands(text, value, number=number) is expected


@pytest.mark.parametrize(
    ("shown", "value"),
    [
        ("It costs $1,234.50.", 1234.5),
        ("It costs 54 dollars", 54.0),
        ('{"total": 54.0}', 54),
        ("My zip is 01234.", "01234"),
        ("O-4471", "o-4471"),
        ("W2378156", "#W2378156"),
        ('{"name": "Jos\\u00e9"}', "José"),
        ('{"name": "the \\"big\\" one"}', 'the "big" one'),
    ],
)
def test_case_and_the_way_numbers_are_written_do_not_matter(shown, value):
    seen = Seen()
    seen.show(None, "user", shown)
    assert seen.first(value) is not None


@pytest.mark.parametrize(
    ("shown", "value"),
    [
        ("as store credit", "store_credit"),
        ("a round trip", "round_trip"),
        ("I live in Texas.", "TX"),
        ("call 555-753-1021", "5557531021"),
        ("call (555) 753-1021", "555-753-1021"),
        ("order o 4471", "O-4471"),
        ('{"first_name": "Emma", "last_name": "Smith"}', "Emma Smith"),
        ("We are three people", 3),
    ],
)
def test_other_spellings_are_recognised(shown, value):
    seen = Seen()
    seen.show(None, "user", shown)
    assert seen.first(value) is None
    assert seen.first_respelled(value) is not None


@pytest.mark.parametrize("value", ["O-4472", "O-447", "4471", "Emma Jones", "NY", 4])
def test_what_was_not_shown_is_not_seen(value):
    seen = Seen()
    seen.show(None, "user", "Emma Smith of Texas has order O-4471 with 3 lines")
    assert seen.first(value) is None
    assert seen.first_respelled(value) is None


def test_a_value_that_is_shown_later_is_found_then():
    seen = Seen()
    seen.show(None, "user", "nothing yet")
    assert seen.first("O-1") is None
    seen.show(3, "tool:list", "O-1")
    found = seen.first("O-1")
    assert found is not None
    assert found.turn == 3
