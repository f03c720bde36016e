"""Promises changed at a definition and at all callers but one."""

from pathlib import Path

from synth.envs.repo.kinds.contract_changed import contract_changed
from tests.envs.repo.kinds.mini_library import broken_by, value

TEXT = """def position(rows, wanted):
    return rows.index(wanted)


def after(rows, wanted):
    return rows[position(rows, wanted) + 1]


def before(rows, wanted):
    return rows[position(rows, wanted) - 1]
"""


def edits_of(tmp_path: Path, text: str, operators: str) -> set[str]:
    offered = broken_by(contract_changed, tmp_path, {"mini.py": text})
    return {one.edits["mini.py"] or "" for one in offered if one.about["operators"] == operators}


def test_a_number_counts_from_one_and_one_caller_does_not_know(tmp_path: Path) -> None:
    definition = TEXT.replace("return rows.index(wanted)", "return rows.index(wanted) + 1")
    forgets_before = definition.replace(
        "position(rows, wanted) + 1]", "(position(rows, wanted) - 1) + 1]"
    )
    forgets_after = definition.replace(
        "position(rows, wanted) - 1]", "(position(rows, wanted) - 1) - 1]"
    )
    assert edits_of(tmp_path, TEXT, "counted from one") == {forgets_before, forgets_after}

    assert value(TEXT, "before('abc', 'b')") == "a"
    assert value(forgets_before, "(before('abc', 'b'), after('abc', 'b'))") == ("b", "c")
    assert value(forgets_after, "(before('abc', 'c'), after('abc', 'a'))") == ("b", "c")


def test_parameters_change_places_and_one_caller_does_not_know(tmp_path: Path) -> None:
    definition = TEXT.replace("def position(rows, wanted)", "def position(wanted, rows)")
    forgets_before = definition.replace("position(rows, wanted) + 1", "position(wanted, rows) + 1")
    found = edits_of(tmp_path, TEXT, "parameters turned round")
    assert forgets_before in found
    assert value(forgets_before, "after(['a', 'b'], 'a')") == "b"
    assert value(forgets_before, "before(['a', 'b'], 'b')") == "TypeError"


def test_the_only_caller_knows_what_other_users_do_not(tmp_path: Path) -> None:
    text = """def is_even(number):
    return number % 2 == 0


def odd(numbers):
    return [one for one in numbers if not is_even(one)]
"""
    expected = text.replace("return number % 2 == 0", "return not (number % 2 == 0)").replace(
        "not is_even(one)", "not (not is_even(one))"
    )
    assert edits_of(tmp_path, text, "the opposite told") == {expected}
    assert value(expected, "(odd([1, 2]), is_even(2))") == ([1], False)


def test_two_callers_no_longer_hand_on_an_option(tmp_path: Path) -> None:
    text = """def shown(value, width=4):
    return str(value).rjust(width)


def narrow(value):
    return shown(value, width=2)


def wide(value):
    return shown(value, width=8)
"""
    expected = text.replace(", width=2", "").replace(", width=8", "")
    assert edits_of(tmp_path, text, "an option not handed on") == {expected}
    assert value(expected, "(narrow(1), wide(1))") == ("   1", "   1")


def test_every_change_of_a_contract_touches_two_functions(tmp_path: Path) -> None:
    offered = broken_by(contract_changed, tmp_path, {"mini.py": TEXT})
    assert offered
    assert min(one.sites for one in offered) == 2
