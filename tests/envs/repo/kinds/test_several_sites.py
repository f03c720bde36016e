"""Bugs of one site, two or three in one chain of calls."""

from itertools import pairwise
from pathlib import Path

from synth.envs.repo.kinds.several_sites import several_sites
from tests.envs.repo.kinds.mini_library import broken_by, value

TEXT = """def low(number):
    return number < 3


def few(numbers):
    return [one for one in numbers if low(one)] if numbers else []


def none_few(numbers):
    return len(few(numbers)) == 0
"""
CHAIN = ["none_few", "few", "low"]


def test_each_bug_is_in_a_function_that_calls_the_next(tmp_path: Path) -> None:
    offered = broken_by(several_sites, tmp_path, {"mini.py": TEXT})
    assert offered
    for one in offered:
        names = one.about["functions"].split()
        assert len(names) == one.sites >= 2
        steps = [(CHAIN.index(a), CHAIN.index(b)) for a, b in pairwise(names)]
        assert all(second == first + 1 for first, second in steps)


def test_a_pair_of_bugs_as_it_is_written(tmp_path: Path) -> None:
    offered = broken_by(several_sites, tmp_path, {"mini.py": TEXT})
    expected = TEXT.replace("number < 3", "number <= 3").replace(
        "if numbers else", "if not (numbers) else"
    )
    assert expected in {one.edits["mini.py"] for one in offered}
    assert (value(TEXT, "few([2, 3])"), value(expected, "few([2, 3])")) == ([2], [])


def test_no_set_of_places_comes_twice(tmp_path: Path) -> None:
    texts = [one.edits["mini.py"] for one in broken_by(several_sites, tmp_path, {"mini.py": TEXT})]
    assert len(texts) == len(set(texts))
