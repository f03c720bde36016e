"""Reasons in the funnel: wrapped in any width, never cut."""

import io

from rich.console import Console

from synth.engine.funnel import funnel_table

REPORT = {
    "prm": {
        "kind": "method",
        "unit": "rows",
        "attempted": 9,
        "verified": 1,
        "rejected": {"not_located:protected_write": 52, "exact": 4},
    }
}


def cells(width: int) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width).print(funnel_table(REPORT).grid())
    return [
        line.split("│")[5].strip()
        for line in stream.getvalue().splitlines()
        if line.startswith("│")
    ]


def test_a_name_that_is_too_long_is_broken_after_a_colon_or_an_underscore() -> None:
    assert cells(50) == ["rejected: 52", "not_located:", "protected_write, 4", "exact"]


def test_nothing_is_lost_in_any_width() -> None:
    for width in range(44, 100):
        assert (
            "".join(cells(width)).replace(" ", "")
            == "rejected:52not_located:protected_write,4exact"
        )
