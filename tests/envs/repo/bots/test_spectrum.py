"""Suspicion of lines, worked out by hand."""

from math import isclose, sqrt

from synth.envs.repo.bots.spectrum import ochiai, ranked


def test_a_line_that_only_all_failing_tests_run_is_wholly_suspicious() -> None:
    assert ochiai(failed=2, passed=0, failing=2) == 1.0


def test_passing_tests_clear_a_line() -> None:
    assert isclose(ochiai(failed=1, passed=3, failing=1), 1 / sqrt(4))


def test_a_line_that_no_failing_test_runs_is_not_suspected() -> None:
    assert ochiai(failed=0, passed=5, failing=2) == 0.0


def test_lines_are_ranked_by_suspicion_and_then_by_place() -> None:
    run_by = {
        "bad": [("a.py", 1), ("a.py", 2), ("b.py", 7)],
        "good": [("a.py", 1), ("b.py", 9)],
    }
    assert ranked(run_by, {"bad"}) == [
        (("a.py", 2), 1.0),
        (("b.py", 7), 1.0),
        (("a.py", 1), 1 / sqrt(2)),
    ]
