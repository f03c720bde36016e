"""Goals tell how tests fail, and nothing of the edit."""

from pathlib import Path
from random import Random

import pytest

from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.making.goals.goal import goal_of
from synth.envs.repo.making.goals.leaks import identifiers, leaks
from synth.envs.repo.making.goals.statements import FailingStatement, statement_at
from synth.envs.repo.making.runs import SeenFailure

TEST = """from shop import price


def test_price():
    assert price(3, "eur") == 30


def test_names():
    with raises(ValueError):
        price(1,
              None)
"""
WHOLE = "def price(count, coin):\n    rate = look_up(coin)\n    return count * rate\n"
BROKEN = WHOLE.replace("count * rate", "count + rate")
FAILED = SeenFailure(
    outcome="failed",
    file="tests/test_price.py",
    line=5,
    error="AssertionError",
    message="assert 13 == 30",
    compared=("13", "==", "30"),
)


def tree(folder: Path) -> Path:
    (folder / "tests").mkdir()
    (folder / "shop.py").write_text(WHOLE)
    (folder / "tests" / "test_price.py").write_text(TEST)
    return folder


def broken(**fields: object) -> BrokenTree:
    about = {"operators": "arithmetic", "modules": "shop.py"}
    told = {"kind": "single_site", "edits": {"shop.py": BROKEN}, "about": about, **fields}
    return BrokenTree(**told)  # type: ignore[arg-type]


def goal(folder: Path, seen: SeenFailure = FAILED, seed: int = 0, **fields: object) -> str | None:
    name = f"{seen.file}::test_price"
    return goal_of("shop", tree(folder), broken(**fields), {name: seen}, Random(seed))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (5, FailingStatement('assert price(3, "eur") == 30', 'price(3, "eur")', True)),
        (11, FailingStatement("price(1, None)")),
        (1, FailingStatement("from shop import price")),
        (3, None),
        (4, None),
    ],
)
def test_the_smallest_statement_of_a_line_is_told_on_one_line(
    line: int, expected: FailingStatement | None
) -> None:
    assert statement_at(TEST, line) == expected


def test_the_side_that_calls_is_what_gives_a_value() -> None:
    found = statement_at("assert 30 == price(3)\n", 1)
    assert found == FailingStatement("assert 30 == price(3)", "price(3)", False)
    both = statement_at("assert price(1) == price(2)\n", 1)
    assert both == FailingStatement("assert price(1) == price(2)")


def test_a_goal_says_what_a_call_should_give(tmp_path: Path) -> None:
    found = goal(tmp_path) or ""
    assert '`price(3, "eur")` should give `30`, but gives `13`.' in found
    assert "It is the only test that fails." in found


def test_names_of_tests_are_told_of_most_tasks_and_not_of_all(tmp_path: Path) -> None:
    place = tree(tmp_path)
    seen = {f"{FAILED.file}::test_price": FAILED}
    goals = [goal_of("shop", place, broken(), seen, Random(seed)) or "" for seed in range(60)]
    named = sum("test_price" in one for one in goals)
    assert 30 <= named <= 50  # two thirds of 60


def test_a_hidden_test_is_never_named(tmp_path: Path) -> None:
    hidden = {"tests/test_price.py": TEST}
    for seed in range(5):
        (tmp_path / str(seed)).mkdir()
        found = goal(tmp_path / str(seed), seed=seed, hidden=hidden) or ""
        assert "test_price" not in found
        assert "Tests that you do not see will be run." in found


def test_a_message_that_names_what_was_edited_is_not_told(tmp_path: Path) -> None:
    seen = SeenFailure(
        outcome="failed",
        file="tests/test_price.py",
        line=5,
        error="NameError",
        message="name 'rate' is not defined",
    )
    edits = {"shop.py": WHOLE.replace("* rate", "* rates")}
    found = goal(tmp_path, seen, edits=edits) or ""
    assert "ends with NameError" in found
    assert "rate" not in found.replace("operate", "")


def test_what_differs_is_found_word_by_word() -> None:
    assert identifiers("return f(left, right)\n", "return f(right, left)\n") <= {"left", "right"}
    assert identifiers("return f(left, right)\n", "return f(right, left)\n")
    assert identifiers("x = len(abc)\n", "x = max(abc)\n") == set()  # Python's own names
    assert identifiers("def new_one():\n    pass\n", "") == {"new_one"}


@pytest.mark.parametrize(
    ("goal_text", "expected"),
    [
        ("price(3) is wrong", []),
        ("the arithmetic is wrong", ["arithmetic"]),
        ("see shop.py", ["shop.py"]),
        ("return   count + rate is wrong", ["return count + rate"]),
    ],
)
def test_operators_files_and_lines_are_leaks(goal_text: str, expected: list[str]) -> None:
    texts = {"shop.py": (WHOLE, BROKEN)}
    assert leaks(goal_text, texts, operators="arithmetic") == expected


def test_what_may_be_told_is_no_leak() -> None:
    texts = {"shop.py": (WHOLE, "")}
    assert leaks("`price` is missing", texts) == ["price"]
    assert leaks("`price` is missing", texts, told="`price` is missing") == []
