"""Two texts of a program that do the same, as far as syntax tells."""

import pytest

from synth.envs.repo.source.behaviour import behaviour

CODE = '''"""Sums."""

__all__ = ["total"]


class Sum:
    """One."""

    start: int = 0
    kept: str


def total(rows: list[int], start: int = 0) -> int:
    """All together."""
    found: int = start
    return found + sum(rows)
'''
ALIKE = {
    "documentation": CODE.replace('    """All together."""\n', ""),
    "a comment": CODE.replace("    found:", "    # from here\n    found:"),
    "what comes back": CODE.replace("-> int", "-> None"),
    "an argument's type": CODE.replace("list[int]", "list[float]"),
    "a variable's type": CODE.replace("found: int", "found: float"),
    "what is exported": CODE.replace('["total"]', '["total", "Sum"]'),
    "what is exported too": CODE + '\n\n__all__ += ["Sum"]\n',
    "what is exported, with its type": CODE.replace("__all__ =", "__all__: list[str] ="),
}
OTHERWISE = {
    "a default": CODE.replace("int = 0)", "int = 1)"),
    "a field": CODE.replace("    kept: str\n", ""),
    "a text that is no documentation": CODE.replace("return found", "return 'a' and found"),
    "a name": CODE.replace("found + sum", "start + sum"),
}


@pytest.mark.parametrize("code", ALIKE.values(), ids=ALIKE)
def test_what_does_not_show_when_code_runs_is_no_difference(code: str) -> None:
    assert code != CODE
    assert behaviour(code) == behaviour(CODE)


@pytest.mark.parametrize("code", OTHERWISE.values(), ids=OTHERWISE)
def test_what_shows_is_one(code: str) -> None:
    assert behaviour(code) != behaviour(CODE)


def test_a_function_of_documentation_alone_is_one_that_does_nothing() -> None:
    assert behaviour('def f():\n    """None."""\n') == behaviour('def f():\n    """No."""\n')
