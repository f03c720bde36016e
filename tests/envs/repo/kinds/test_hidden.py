"""Tests out of view: parted files, and tests written from recorded calls."""

from pathlib import Path
from random import Random

import msgspec

from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.kinds.hidden.differential import tests_of as written
from synth.envs.repo.kinds.hidden.differential import with_generated_tests
from synth.envs.repo.kinds.hidden.moved import Names, parted
from synth.envs.repo.kinds.hidden.recording import RecordedCall, calls_file, module_of
from synth.envs.repo.source.text import SourceFile
from tests.envs.repo.kinds.mini_library import write_library

CASES = """import unittest

from mini import one, two


def both():
    return one() + two()


class TestOne(unittest.TestCase):
    def test_one(self):
        assert one() == 1


class TestMore(unittest.TestCase):
    def test_both(self):
        assert both() == 3

    def test_two(self):
        assert two() == 2
"""


def test_helpers_and_classes_go_with_the_tests_that_need_them() -> None:
    found = parted(SourceFile(CASES, "test_mini.py"), Names(frozenset({"one"})))
    assert found is not None
    assert (
        found.seen
        == """import unittest

from mini import two


class TestMore(unittest.TestCase):
    def test_two(self):
        assert two() == 2
"""
    )
    assert found.unseen == CASES.replace(
        "\n    def test_two(self):\n        assert two() == 2\n", "\n"
    )


def test_a_file_whose_own_code_needs_the_name_goes_whole() -> None:
    text = "from mini import one\n\nif one():\n    pass\n\n\ndef test_two():\n    one()\n"
    found = parted(SourceFile(text, "test_mini.py"), Names(frozenset({"one"})))
    assert found == (None, text)


def test_a_file_without_the_name_stays() -> None:
    assert parted(SourceFile(CASES, "test_mini.py"), Names(frozenset({"three"}))) is None


def call(call: str, **fields: object) -> RecordedCall:
    told = {"path": "src/mini.py", "function": "half", "module": "mini", "call": call, **fields}
    return msgspec.convert(told, RecordedCall)


def test_recorded_calls_become_a_test_each() -> None:
    calls = [
        call("mini.half(3)", answer="1.5"),
        call("mini.half('a')", error="builtins:ValueError"),
        call("mini.half(0)", answer="None"),
        call("mini.half(2)", answer="[1]", listed=True),
        call("mini.half(b'')", error="mini.errors:Odd"),
    ]
    assert (
        written(calls)
        == """import pytest

import mini
import mini.errors


def test_half_1():
    assert mini.half(3) == 1.5


def test_half_2():
    with pytest.raises(ValueError):
        mini.half('a')


def test_half_3():
    assert mini.half(0) is None


def test_half_4():
    assert list(mini.half(2)) == [1]


def test_half_5():
    with pytest.raises(mini.errors.Odd):
        mini.half(b'')
"""
    )


def test_generated_tests_stand_beside_those_of_the_library(tmp_path: Path) -> None:
    library, base = write_library(tmp_path, {"src/mini.py": "", "tests/test_mini.py": ""})
    place = calls_file(tmp_path, "mini")
    place.parent.mkdir()
    place.write_bytes(msgspec.json.encode([call("mini.half(3)", answer="1.5")]))
    broken = BrokenTree(kind="k", edits={})
    made = with_generated_tests(library, base, broken, ["half"], Random(7))
    assert made is not None
    ((path, text),) = made.hidden.items()
    assert path.startswith("tests/test_calls_")
    assert "assert mini.half(3) == 1.5" in text
    assert with_generated_tests(library, base, broken, ["other"], Random(7)) is None


def test_a_file_is_imported_by_the_name_that_its_path_says() -> None:
    paths = ["src/a/b.py", "a/__init__.py", "a.py"]
    assert [module_of(path) for path in paths] == ["a.b", "a", "a"]
