"""Looks at files and edits, without a tree."""

import pytest

from synth.envs.repo.terminal.files import CannotError, inside, replaced, shown_lines

TEXT = "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("path", "found"),
    [("a/b.py", "a/b.py"), ("/repo/a.py", "a.py"), ("./a/../b", "b"), ("/repo", "."), ("", ".")],
)
def test_paths_are_from_the_root_of_the_tree(path: str, found: str) -> None:
    assert inside(path) == found


@pytest.mark.parametrize("path", ["..", "/etc/passwd", "a/../../b", "/repository"])
def test_paths_out_of_the_tree_are_refused(path: str) -> None:
    with pytest.raises(CannotError, match="outside"):
        inside(path)


def test_lines_are_numbered() -> None:
    assert shown_lines("a", TEXT, "2-2") == "    2  two\n(1 more line)"
    assert shown_lines("a", TEXT, "2-99") == "    2  two\n    3  three"


@pytest.mark.parametrize("lines", ["0-2", "4", "3-2", "a-b", "1-2-3", "-1", "9" * 30])
def test_lines_that_are_none_are_refused(lines: str) -> None:
    with pytest.raises(CannotError):
        shown_lines("a", TEXT, lines)


def test_a_text_is_replaced_where_it_occurs_once() -> None:
    changed, told = replaced("a", TEXT, "two", "2")
    assert changed == "one\n2\nthree\n"
    assert "    2  2" in told


@pytest.mark.parametrize(
    ("text", "old", "why"),
    [
        (TEXT, "four", "nowhere"),
        ("a\na\n", "a", "2 times"),
        ("a\n\n\n", "\n\n", "times"),
        (None, "a", "no file"),
        (TEXT, "", "there already"),
        (TEXT, "one", "the same"),
    ],
)
def test_what_cannot_be_replaced_is_told(text: str | None, old: str, why: str) -> None:
    with pytest.raises(CannotError, match=why):
        replaced("a", text, old, "one")


def test_nothing_in_the_place_of_nothing_is_a_new_file() -> None:
    assert replaced("a", None, "", "new\n") == ("new\n", "a is written.")
