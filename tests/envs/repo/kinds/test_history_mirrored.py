"""What a release changed, undone function by function."""

from pathlib import Path

from synth.envs.repo.kinds.history_mirrored import history_mirrored, older_of
from tests.envs.repo.kinds.mini_library import broken_by, value

OLD = '''def mean(numbers):
    """The mean."""
    return sum(numbers) / len(numbers)


def spread(numbers):
    return max(numbers) - min(numbers)
'''
NEW = '''def mean(numbers):
    """The mean, 0 of nothing."""
    if not numbers:
        return 0
    return sum(numbers) / len(numbers)


def spread(numbers):
    """How far apart."""
    return max(numbers) - min(numbers)


def half(number):
    return number / 2
'''
OLD_TESTS = """from stats import mean


def test_mean():
    assert mean([1, 3]) == 2
"""
NEW_TESTS = (
    OLD_TESTS
    + """

def test_mean_of_nothing():
    assert mean([]) == 0
"""
)


def with_older(pool: Path) -> None:
    older = older_of(pool, "mini")
    older.mkdir(parents=True)
    (older / "stats.py").write_text(OLD)
    (older / "test_stats.py").write_text(OLD_TESTS)


def test_a_function_is_as_it_was_and_its_new_tests_are_hidden(tmp_path: Path) -> None:
    with_older(tmp_path)
    library = {"src/stats.py": NEW, "test_stats.py": NEW_TESTS}
    (made,) = broken_by(history_mirrored, tmp_path, library)
    expected = NEW.replace(
        '"""The mean, 0 of nothing."""\n    if not numbers:\n        return 0\n',
        '"""The mean."""\n',
    )
    assert made.edits == {"src/stats.py": expected, "test_stats.py": OLD_TESTS + "\n\n"}
    assert made.solution == {"test_stats.py": OLD_TESTS + "\n\n"}
    (unseen,) = made.hidden.values()
    assert "test_mean_of_nothing" in unseen
    assert "def test_mean()" not in unseen
    assert (value(NEW, "mean([])"), value(expected, "mean([])")) == (0, "ZeroDivisionError")


def test_what_has_no_older_release_is_left_alone(tmp_path: Path) -> None:
    assert broken_by(history_mirrored, tmp_path, {"stats.py": NEW}) == []
