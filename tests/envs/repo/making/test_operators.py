"""Each operator edits one expression, and no byte beside it."""

import ast

import pytest

from synth.envs.repo.making.sites.single_site import OPERATORS, by_operator
from synth.envs.repo.source.text import Edit, SourceFile


def after(source: SourceFile, edit: Edit) -> str:
    """The text after an edit."""
    found = source.edited(edit)
    assert found is not None
    return found.text


def edited(name: str, body: str) -> list[str]:
    """What an operator makes of a function's body, first site first."""
    source = SourceFile(f"def f(a, b):\n    {body}\n")
    edits = [one for node in ast.walk(source.tree) for one in OPERATORS[name](node, source)]
    texts = [after(source, one) for one in sorted(edits)]
    return [text.splitlines()[1].strip() for text in texts if text != source.text]


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        ("swap_arguments", "g(a, b + 1)", ["g(b + 1, a)"]),
        ("swap_arguments", "g(a, *b)", []),
        ("swap_arguments", "g(a, a)", []),
        ("comparison", "return a < b", ["return a <= b"]),
        ("comparison", "return a in b is b", ["return a not in b is b", "return a in b is not b"]),
        ("comparison", "return a.x == b", ["return a.x != b"]),
        ("arithmetic", "return a - b * 2", ["return a + b * 2", "return a - b + 2"]),
        ("arithmetic", "return a + 'x'", []),
        ("and_or", "return a and b", ["return a or b"]),
        ("and_or", "return a and b and 1", []),
        ("integer_plus_one", "return a + 9", ["return a + 10"]),
        ("integer_plus_one", "return 0x10", []),
        ("boolean", "return True", ["return False"]),
        ("slice_bounds", "return a[1:b]", ["return a[2:b]", "return a[1:b - 1]"]),
        ("subscript", "return a[0] + b[-1]", ["return a[-1] + b[-1]", "return a[0] + b[0]"]),
        ("branches_of_an_expression", "return 1 if a else b", ["return b if a else 1"]),
        ("sign", "return -a", ["return (a)"]),
        ("negated_condition", "x = 1 if a else b", ["x = 1 if not (a) else b"]),
        ("return_value", "return g(a)", ["return None"]),
        ("return_value", "return a, b", ["return b, a"]),
        ("return_value", "return None", []),
        ("exception_type", "raise ValueError(a)", ["raise TypeError(a)"]),
        ("exception_type", "raise Mine(a)", []),
        ("added_amount", "a += b", ["a -= b"]),
        ("added_amount", "a += 'x'", []),
        (
            "look_alike",
            "return a.lstrip() + min(b)",
            ["return a.rstrip() + min(b)", "return a.lstrip() + max(b)"],
        ),
    ],
)
def test_an_edit_is_one_expression(name: str, body: str, expected: list[str]) -> None:
    assert edited(name, body) == expected


def test_a_branch_is_dropped_by_its_condition() -> None:
    source = SourceFile(
        "def f(a, b):\n    if a and b:\n        return 1\n    if a:\n        return 2\n"
    )
    edits = [
        one for node in ast.walk(source.tree) for one in OPERATORS["branch_dropped"](node, source)
    ]
    texts = [after(source, one) for one in edits]
    assert [text.splitlines()[at] for text, at in zip(texts, (1, 1, 3), strict=True)] == [
        "    if b:",
        "    if a:",
        "    if False:",
    ]


def test_a_default_changes_and_no_annotation_does() -> None:
    source = SourceFile("def f(a: int = 3, *, b: bool = True, c=' ', d='x') -> 'int':\n    pass\n")
    found = by_operator({"m.py": source})["default_argument"]
    texts = {after(source, edit).partition("\n")[0] for _, edit in found}
    assert texts == {
        "def f(a: int = 4, *, b: bool = True, c=' ', d='x') -> 'int':",
        "def f(a: int = 3, *, b: bool = False, c=' ', d='x') -> 'int':",
        "def f(a: int = 3, *, b: bool = True, c='', d='x') -> 'int':",
    }


def test_offsets_are_characters_and_line_ends_stay() -> None:
    """ü has two bytes, which the column of a node counts; an edit counts characters."""
    source = SourceFile("def f(ü):\r\n    return g('üü', ü) < 1\r\n")
    found = by_operator({"m.py": source})
    ((_, compared),) = found["comparison"]
    assert after(source, compared) == "def f(ü):\r\n    return g('üü', ü) <= 1\r\n"
    ((_, swapped),) = found["swap_arguments"]
    assert after(source, swapped) == "def f(ü):\r\n    return g(ü, 'üü') < 1\r\n"


def test_only_functions_are_edited_and_nothing_in_an_f_string() -> None:
    source = SourceFile(
        "A = 1 < 2\nclass B:\n    C = 3\n    def d(self):\n        return f'{4 < 5}'\n"
    )
    assert set(by_operator({"m.py": source})) == {"return_value"}


def test_a_comment_between_two_operands_keeps_an_operator_away() -> None:
    source = SourceFile("def f(a, b):\n    return (a  # a < b\n            < b)\n")
    assert "comparison" not in by_operator({"m.py": source})
