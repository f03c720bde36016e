"""Tests written from recorded calls: what the pristine tree answers is what is asked for."""

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path
from random import Random

import msgspec

from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.kinds.hidden.recording import RecordedCall, read_calls
from synth.envs.repo.pool import Library

MOST = 12
_COLUMNS = 300


def with_generated_tests(
    library: Library, base: Path, broken: BrokenTree, functions: Collection[str], random: Random
) -> BrokenTree | None:
    """Hidden tests of some functions; None where no call of theirs is known."""
    known = read_calls(base.parent.parent, library.name)
    calls = [one for one in known if one.function in functions and len(one.call) < _COLUMNS]
    if not calls:
        return None
    random.shuffle(calls)
    text = tests_of(calls[:MOST])
    name = hashlib.sha256(text.encode()).hexdigest()[:8]
    folder = _folder_of_tests(library)
    hidden = {**broken.hidden, f"{folder}test_calls_{name}.py": text}
    return msgspec.structs.replace(broken, hidden=hidden)


def tests_of(calls: Sequence[RecordedCall]) -> str:
    """A test file, with a function for each call."""
    modules = {one.module for one in calls}
    modules |= {one.error.partition(":")[0] for one in calls if one.error} - {"builtins"}
    lines = ["import pytest\n", *(f"import {one}" for one in sorted(modules))]
    for at, one in enumerate(calls):
        lines += ["", "", f"def test_{one.function}_{at + 1}():", *_body(one)]
    return "\n".join(lines) + "\n"


def _body(one: RecordedCall) -> list[str]:
    if one.error:
        module, _, name = one.error.partition(":")
        error = name if module == "builtins" else f"{module}.{name}"
        return [f"    with pytest.raises({error}):", f"        {_told(one)}"]
    constant = one.answer in ("None", "True", "False")
    return [f"    assert {_told(one)} {'is' if constant else '=='} {one.answer}"]


def _told(one: RecordedCall) -> str:
    return f"list({one.call})" if one.listed else one.call


def _folder_of_tests(library: Library) -> str:
    """The folder of the library's first test file."""
    path = min(library.tests.values(), key=lambda one: (one.count("/"), one))
    return path[: path.rindex("/") + 1] if "/" in path else ""
