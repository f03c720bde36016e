"""Edits that are nearly right."""

from synth.envs.repo.repair.hunks import Hunk
from synth.envs.repo.repair.slips import function_at, functions, slipped_edits, slips

CODE = '''def first(a):
    """if a < b."""
    if a < 1:
        return a


class Kept:
    def second(self):
        return 0
'''


def test_each_slip_changes_one_line() -> None:
    found = {kind: text.splitlines()[2] for kind, text in slips(CODE, [2])}
    assert found["comparison"] == "    if a <= 1:"
    assert found["condition"] == "    if not a < 1:"
    assert found["number"] == "    if a < 2:"


def test_words_in_documentation_and_names_are_left_alone() -> None:
    assert not list(slips(CODE, [1]))
    assert not list(slips("import a0\n# a < b\n", [0, 1]))


def test_conditions_of_javascript_are_not_negated_in_words() -> None:
    kinds = [kind for kind, _ in slips("  if (a === b) {\n", [0])]
    assert "condition" not in kinds
    assert "comparison" in kinds


def test_the_slips_of_an_edit_are_in_its_new_lines() -> None:
    found = dict(slipped_edits("x = 1\ny = a > b\n", "x = 1\ny = a < b\n"))
    assert found["comparison"] == Hunk("y = a > b\n", "y = a <= b\n", 2)


def test_functions_end_where_their_indentation_does() -> None:
    assert functions(CODE) == [("first", range(6)), ("second", range(7, 9))]
    assert function_at(CODE, 4) == "first"
    assert function_at(CODE, 9) == "second"
