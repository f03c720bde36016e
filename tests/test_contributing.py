"""What CONTRIBUTING.md tells a newcomer to write works as it stands there."""

import re
import sys
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest

from benchmarks.house import COLUMNS, LONG_FILE
from synth.filters.registry import FILTERS

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_filter_of_the_page_passes_the_test_of_the_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written, tested = [
        dedent(block) for block in re.findall(r"```python\n(.*?) *```", PAGE, re.DOTALL)
    ]
    module = ModuleType("synth.filters.short")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(written, module.__dict__)
    names: dict[str, Any] = {}
    exec(tested, names)
    tests = [found for name, found in names.items() if name.startswith("test_")]
    assert len(tests) == 1
    tests[0]()


def test_every_file_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"`((?:\w+/)+\w+\.py|\w+(?:/\w+)*/)`", PAGE))
    made = {"filters/short.py", "tests/filters/test_short.py", "synth/importers/mine.py"}
    made |= {"tests/synth/importers/test_mine.py"}
    assert len(named) > 10
    assert [name for name in sorted(named - made) if not (ROOT / name).exists()] == []


def test_the_page_tells_the_limits_that_are_held_and_the_form_of_a_registry() -> None:
    assert f"at most {COLUMNS} columns" in PAGE
    assert f"at most {LONG_FILE} lines" in PAGE
    assert '"short": "synth.filters.short:short",' in PAGE
    assert all(re.fullmatch(r"synth\.filters(\.\w+)+:\w+", target) for target in FILTERS.values())


def test_the_glossary_has_at_most_forty_terms_each_once() -> None:
    rows = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    terms = [
        term
        for row in rows
        if row.startswith("| ") and not row.startswith("| word |")
        for term in row.split("|")[1].strip().split(", ")
    ]
    assert len(terms) == len(set(terms)) <= 44
    assert sum(row.startswith("| ") for row in rows) - 1 <= 40
