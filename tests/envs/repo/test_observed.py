"""What an agent sees of a command's output."""

import pytest

from synth.envs.repo.terminal.observed import cut, observed, steady


@pytest.mark.parametrize(
    ("told", "seen"),
    [
        ("3 passed in 12.34s (0:00:12)", "3 passed in 0.01s"),
        ("Ran 4 tests in 0.002s", "Ran 4 tests in 0.01s"),
        ("<Desk object at 0x7f12ab34cd56>", "<Desk object at 0x7f0000000000>"),
        ("0xdeadbeef", "0xdeadbeef"),
        ("/tmp/tmpab12cd_4/x", "/tmp/tmp/x"),
        ("real\t0m1.234s", "real\t0m0.010s"),
        (
            "drwxr-xr-x 9 1000 1000  260 Nov 26 03:51 ..",
            "drwxr-xr-x 9 1000 1000 240 Sep  9  2001 ..",
        ),
        ("1.50s call     tests/test_a.py::test_b", "0.01s call     tests/test_a.py::test_b"),
    ],
)
def test_what_differs_from_run_to_run_is_the_same(told: str, seen: str) -> None:
    assert steady(told) == seen


def test_colours_and_control_characters_are_taken_out() -> None:
    assert observed(b"\x1b[31mred\x1b[0m a\x00b\r\n\xff", 100) == "red a\ufffdb\n\ufffd"


def test_long_output_loses_whole_lines_of_its_middle() -> None:
    text = "".join(f"line {at}\n" for at in range(10))
    assert cut(text, 30) == "line 0\nline 1\n[... 6 lines left out ...]\nline 8\nline 9\n"


def test_a_long_line_loses_its_middle() -> None:
    assert cut("a" * 50 + "b" * 50, 20) == f"{'a' * 10}[... 80 characters left out ...]\n{'b' * 10}"
