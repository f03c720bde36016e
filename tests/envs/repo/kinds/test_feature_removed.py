"""Features taken out: with their uses, with what only they need, their tests out of view."""

from pathlib import Path

from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.kinds.feature_removed import feature_removed
from tests.envs.repo.kinds.mini_library import broken_by, value

WORDS = '''"""Words."""

__all__ = ["initials", "shout", "title"]


def shout(text):
    """In capital letters."""
    return text.upper() + "!"


def _first(word):
    return word[:1]


def initials(text):
    """The first letters of all words, in capitals."""
    found = []
    for word in text.split():
        found.append(_first(word).upper())
    return "".join(found)


def title(text):
    """Initials with dots between."""
    letters = initials(text)
    if not letters:
        return ""
    dotted = ".".join(letters)
    return dotted + "."
'''
TESTS = """from words import initials, shout, title


def test_shout():
    assert shout("a") == "A!"


def test_initials():
    assert initials("ada lovelace") == "AL"


def test_title():
    assert title("ada lovelace") == "A.L."
"""
LIBRARY = {"words.py": WORDS, "more.py": "from words import shout, title\n", "test_words.py": TESTS}


def removed(tmp_path: Path, *functions: str) -> BrokenTree:
    offered = broken_by(feature_removed, tmp_path, LIBRARY)
    return next(one for one in offered if one.about["functions"].split() == [*functions])


def test_a_function_goes_with_what_needs_it_and_what_only_it_needs(tmp_path: Path) -> None:
    made = removed(tmp_path, "initials", "title")
    assert (
        made.edits["words.py"]
        == '''"""Words."""

__all__ = ["shout"]


def shout(text):
    """In capital letters."""
    return text.upper() + "!"


'''
    )
    assert made.edits["more.py"] == "from words import shout\n"
    assert made.sites == 3
    assert value(WORDS, "title('ada lovelace')") == "A.L."
    assert value(made.edits["words.py"], "title('ada lovelace')") == "NameError"
    assert value(made.edits["words.py"], "shout('a')") == "A!"


def test_its_tests_go_out_of_view_and_come_back_for_the_check(tmp_path: Path) -> None:
    made = removed(tmp_path, "initials", "title")
    seen = """from words import shout


def test_shout():
    assert shout("a") == "A!"


"""
    unseen = TESTS.replace(
        """def test_shout():
    assert shout("a") == "A!"


""",
        "",
    )
    assert made.edits["test_words.py"] == seen
    assert made.solution == {"test_words.py": seen}
    assert list(made.hidden.values()) == [unseen]
    assert all(path.startswith("test_words_") for path in made.hidden)


def test_the_goal_may_tell_the_documentation_and_nothing_of_the_code(tmp_path: Path) -> None:
    hint = removed(tmp_path, "initials", "title").hint
    assert "`initials(text)` is missing from words.py" in hint
    assert "The first letters of all words, in capitals." in hint
    assert "`title(text)` is missing from words.py" in hint
    assert "_first" not in hint
    assert "found" not in hint


def test_a_feature_that_others_need_alone_goes_without_them(tmp_path: Path) -> None:
    made = removed(tmp_path, "title")
    assert made.edits["words.py"] == WORDS[: WORDS.index("def title")].replace(', "title"', "")


PADDED = '''def padded(text, width=8, *, fill=None):
    """Text of a width.

    fill: what stands before it, a space where it is not said.
    """
    if fill is not None:
        missing = width - len(text)
        return fill * missing + text
    return text.rjust(width)


def table(rows, *, fill=None):
    """Rows of a width."""
    return [padded(row, 4, fill=fill) for row in rows]
'''
PADDED_TESTS = """from padded import padded, table


def test_spaces():
    assert padded("a", 2) == " a"


def test_fill():
    assert padded("a", 2, fill="0") == "0a"


def test_table():
    assert table(["1"], fill="0") == ["0001"]
"""


def test_an_argument_goes_from_all_that_hand_it_on(tmp_path: Path) -> None:
    library = {"padded.py": PADDED, "test_padded.py": PADDED_TESTS}
    offered = broken_by(feature_removed, tmp_path, library)
    made = next(
        one
        for one in offered
        if one.about["operators"] == "argument" and "`padded` of padded.py" in one.hint
    )
    assert (
        made.edits["padded.py"]
        == '''def padded(text, width=8):
    """Text of a width.

    fill: what stands before it, a space where it is not said.
    """
    pass
    return text.rjust(width)


def table(rows):
    """Rows of a width."""
    return [padded(row, 4) for row in rows]
'''
    )
    assert made.sites == 2
    assert value(PADDED, "table(['1'], fill='0')") == ["0001"]
    assert value(made.edits["padded.py"], "table(['1'], fill='0')") == "TypeError"
    assert value(made.edits["padded.py"], "table(['1'])") == ["   1"]
    seen = made.edits["test_padded.py"] or ""
    assert "test_spaces" in seen
    assert "fill" not in seen
