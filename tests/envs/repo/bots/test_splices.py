"""Each bug of one site is undone by one of the small edits."""

import pytest

from synth.envs.repo.bots.edits.splices import small_edits
from synth.envs.repo.source.text import SourceFile

UNDONE = [
    ("x = a <= b", "x = a < b"),
    ("x = a is not b", "x = a is b"),
    ("x = a not in b", "x = a in b"),
    ("f(b, a, c)", "f(a, b, c)"),
    ("x = a - b", "x = a + b"),
    ("x = a + b", "x = a * b"),
    ("x -= 1", "x += 1"),
    ("x = a and b", "x = a or b"),
    ("x = [7][2]", "x = [7][1]"),
    ("x = y[-1]", "x = y[0]"),
    ("x = y[a + 1:]", "x = y[a:]"),
    ("if not (a):\n    b", "if a:\n    b"),
    ("if a:\n    b", "if not (a):\n    b"),
    ("x = a if c else b", "x = b if c else a"),
    ("x = True", "x = False"),
    ("x = a.rstrip()", "x = a.lstrip()"),
    ("x = max(a)", "x = min(a)"),
    ("raise TypeError(x)", "raise ValueError(x)"),
    ("def f():\n    return b, a", "def f():\n    return a, b"),
    ("def f(a=2): pass", "def f(a=1): pass"),
    ('x = f(" ")', 'x = f("")'),
    ("é = 'ü'; x = a <= b", "é = 'ü'; x = a < b"),
]


@pytest.mark.parametrize(("broken", "whole"), UNDONE)
def test_a_bug_of_one_site_is_undone(broken: str, whole: str) -> None:
    source = SourceFile(broken)
    found = [text.replace("''", '""') for e in small_edits(source) if (text := e.applied(source))]
    assert whole in found or whole in [text.replace("'", '"') for text in found]


def test_no_edit_leaves_the_file_as_it_was_or_unreadable() -> None:
    source = SourceFile(
        "def f(a, b):\n    return g(a, a) - -1 if not a and b == '' else [1][0:b]\n"
    )
    texts = [edit.applied(source) for edit in small_edits(source)]
    assert source.text not in texts
    for text in texts:
        compile(text or "", "edited", "exec")


def test_likely_operators_come_first_on_a_line() -> None:
    source = SourceFile("x = f(a, b) < 3\ny = a and b\n")
    found = [(edit.line, edit.operator) for edit in small_edits(source)]
    assert [found[0], found[3]] == [(1, "comparison"), (1, "arguments")]
    assert next(one for one in found if one[0] == 2) == (2, "junction")
