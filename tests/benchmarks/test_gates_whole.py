"""`python -m benchmarks.gates`: parts in processes of their own, one table, what fails is told."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor as Threads

import pytest

from benchmarks.gates import __main__ as whole
from benchmarks.gates.table import Rate


def lines(capsys: pytest.CaptureFixture[str]) -> tuple[list[str], list[str]]:
    out, err = capsys.readouterr()
    return out.splitlines(), err.splitlines()


def test_an_unknown_part_is_told_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        whole.main(["dice"])
    assert ended.value.code == 2
    assert lines(capsys)[1][-1].endswith(f"dice is no part; known: {', '.join(whole.PARTS)}")


def test_a_part_that_fails_loses_the_others_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(part: str) -> tuple[list[Rate], float]:
        if part == "goals":
            raise ZeroDivisionError("no goals")
        return [Rate(part, "a gate", "misses", 0, 59, "none")], 2.5

    monkeypatch.setattr(whole, "measured", measured)
    monkeypatch.setattr(whole, "ProcessPoolExecutor", lambda at_once, *_, **__: Threads(at_once))
    assert whole.main(["goals", "leaks", "lucky"]) == 1
    table, told = lines(capsys)
    assert table[2:] == [  # 1 - .05 ** (1 / 59)
        "| a gate | leaks | misses | 0 of 59 | 0.0% | 5.0% | none |",
        "| a gate | lucky | misses | 0 of 59 | 0.0% | 5.0% | none |",
    ]
    assert told == ["goals: ZeroDivisionError: no goals", "leaks: 2 s", "lucky: 2 s"]
    assert whole.main(["leaks"]) == 0


@pytest.mark.nightly
def test_the_command_measures_a_part_in_a_process_of_its_own() -> None:
    asked = [sys.executable, "-m", "benchmarks.gates", "refusals"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("| gate | source | counted |")
    assert done.stderr.splitlines()[-1].startswith("refusals: ")
