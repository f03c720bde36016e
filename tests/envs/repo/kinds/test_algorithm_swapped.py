"""Simpler implementations: what each idea does to a function, and where that shows."""

from pathlib import Path

import pytest

from synth.envs.repo.kinds.algorithm_swapped import algorithm_swapped
from tests.envs.repo.kinds.mini_library import broken_by, one_of, value

HALVED = """def halved(number):
    while number % 2 == 0:
        number //= 2
    return number
"""
BEST = """def best(scores):
    top = 0
    for score in scores:
        if score > top:
            top = score
    return top
"""
TOTAL = """def total(rows):
    found = 0
    for row in rows:
        found += row
    return found
"""
EVEN = """def even(rows):
    out = []
    for row in rows:
        if row % 2:
            continue
        out.append(row)
    return out
"""
SORTED = """def by_length(words):
    return sorted(words, key=len)
"""
FLAT = """def flat(rows):
    out = []
    for row in rows:
        if isinstance(row, (list, tuple)):
            out.extend(flat(row))
        else:
            out.append(row)
    return out
"""
NONE = """def or_ten(number=None):
    return 10 if number is None else number
"""

CASES = [
    (HALVED, "one round", {"while number": "if number"}, "halved(12)", 3, 6),
    (HALVED, "cut toward zero", {"number //= 2": "number //= 2"}, "", None, None),
    (
        BEST,
        "first is best",
        {"top = score\n": "top = score\n            break\n"},
        "best([2, 3])",
        3,
        2,
    ),
    (TOTAL, "last alone", {"found += row": "found = row"}, "total([1, 2])", 3, 2),
    (EVEN, "ended by skip", {"continue": "break"}, "even([1, 2])", [2], []),
    (
        SORTED,
        "ties turned",
        {"key=len)": "key=len, reverse=True)[::-1]"},
        "by_length(['b', 'a'])",
        ["b", "a"],
        ["a", "b"],
    ),
    (SORTED, "key forgotten", {", key=len": ""}, "by_length(['bb', 'a', 'ab'])", None, None),
    (
        SORTED,
        "left unsorted",
        {"sorted(words, key=len)": "list(words)"},
        "by_length(['aa', 'b'])",
        ["b", "aa"],
        ["aa", "b"],
    ),
    (FLAT, "one deep", {"flat(row))": "row)"}, "flat([[1, [2]]])", [1, 2], [1, [2]]),
    (FLAT, "first type alone", {"(list, tuple)": "list"}, "flat([(1,)])", [1], [(1,)]),
    (NONE, "empty is none", {"number is None": "(not number)"}, "or_ten(0)", 0, 10),
]


@pytest.mark.parametrize(("text", "idea", "changes", "call", "whole", "broken"), CASES)
def test_an_idea_changes_one_place_and_shows_on_some_input(
    tmp_path: Path,
    text: str,
    idea: str,
    changes: dict[str, str],
    call: str,
    whole: object,
    broken: object,
) -> None:
    offered = broken_by(algorithm_swapped, tmp_path, {"mini.py": text})
    if not call:  # an augmented assignment is no operation between two values
        assert idea not in {one.about["operators"] for one in offered}
        return
    expected = text
    for old, new in changes.items():
        expected = expected.replace(old, new)
    made = one_of(offered, idea)
    assert made.edits == {"mini.py": expected}
    assert made.sites == 1
    if whole is not None:
        assert (value(text, call), value(expected, call)) == (whole, broken)


def test_one_idea_may_be_had_in_two_functions_of_a_file(tmp_path: Path) -> None:
    text = TOTAL + "\n\n" + TOTAL.replace("total", "sum_of")
    made = one_of(broken_by(algorithm_swapped, tmp_path, {"mini.py": text}), "last alone, twice")
    assert made.edits == {"mini.py": text.replace("found += row", "found = row")}
    assert made.sites == 2
    assert made.about["functions"] == "total sum_of"


def test_a_loop_that_is_left_inside_stays_a_loop(tmp_path: Path) -> None:
    text = (
        "def f(n):\n    while n > 0:\n        if n == 5:\n            break\n        n -= 1\n"
        "    return n\n"
    )
    offered = broken_by(algorithm_swapped, tmp_path, {"mini.py": text})
    assert "one round" not in {one.about["operators"] for one in offered}
