"""What runs inside of the box for a bot: which lines each test runs, and which edit makes the
failing tests pass. Standard library and pytest alone: its text is written into the tree.

Run: `python inside.py REQUEST ANSWER`, both JSON files (`trying.py` says what they hold).
"""

import json
import math
import os
import resource
import select
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

ARGUMENTS = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "--tb=no"]
SCREENED = 3
"""Failing tests that an edit has to pass before all are run."""
LEAST_CPU_S, TIMES_AS_LONG = 2, 10
"""Of processor time an edit may take so many times what the broken tree took, whatever else the
machine does: many an edit makes a loop that never ends.
"""
IMPORTED = ""
"""The name under which lines stand that are run when modules are imported."""


class Outcomes:
    """A plug-in that remembers which tests passed."""

    def __init__(self) -> None:
        self.passed: dict[str, bool] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A test has passed if each of its parts has."""
        good = report.outcome == "passed"
        self.passed[report.nodeid] = self.passed.get(report.nodeid, True) and good


class Lines:
    """A plug-in that remembers which lines of some files each test runs."""

    def __init__(self, sources: list[str]) -> None:
        self._sources = {str(Path(path).resolve()): path for path in sources}
        self._test = IMPORTED
        self.run_by: dict[str, set[tuple[str, int]]] = {IMPORTED: set()}

    def begin(self) -> None:
        """From here on."""
        sys.settrace(self._called)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        """The lines of one test."""
        self._test = item.nodeid
        self.run_by[self._test] = set()
        sys.settrace(self._called)
        try:
            return (yield)
        finally:
            self._test = IMPORTED

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        path = self._sources.get(frame.f_code.co_filename)
        if path is None:
            return None
        lines = self.run_by[self._test]

        def line_run(inner: FrameType, happened: str, value: Any) -> Any:
            if happened == "line":
                lines.add((path, inner.f_lineno))
            return line_run

        return line_run


def spectrum(tests: list[str], sources: list[str]) -> dict[str, Any]:
    """Outcomes of tests, and the lines that each of them runs."""
    outcomes, lines = Outcomes(), Lines(sources)
    _quiet()
    lines.begin()
    try:
        pytest.main([*ARGUMENTS, *tests], plugins=[outcomes, lines])
    finally:
        sys.settrace(None)

    run_by = {test: sorted(run) for test, run in lines.run_by.items()}

    return {"passed": outcomes.passed, "run_by": run_by}


def first_repair(request: dict[str, Any]) -> dict[str, Any]:
    """The number of the first edit with which the failing tests pass and no other test fails that
    passed before; how many were tried. `-1` where there is none.
    """
    first = request["failing"][:SCREENED]
    end = time.monotonic() + request["total_s"]
    _, usual_s = _forked(["-x", *first], request["one_s"])
    most_s = max(LEAST_CPU_S, math.ceil(TIMES_AS_LONG * usual_s))
    for number, edit in enumerate(request["edits"]):
        if time.monotonic() > end:
            return {"found": -1, "tried": number}
        place = Path(edit["path"])
        original = place.read_bytes()
        place.write_text(edit["text"])
        try:
            one, _ = _forked(["-x", *first], request["one_s"], most_s)
            if all(one.get(test) for test in first) and _mended(request):
                return {"found": number, "tried": number + 1}
        finally:
            place.write_bytes(original)

    return {"found": -1, "tried": len(request["edits"])}


def _mended(request: dict[str, Any]) -> bool:
    """Whether all tests pass that failed, and all that passed."""
    every, _ = _forked(request["tests"], request["every_s"])
    passed = [test for test, was in request["passed"].items() if was]
    return all(every.get(test) for test in [*passed, *request["failing"]])


def _forked(
    tests: list[str], limit_s: float, cpu_s: int | None = None
) -> tuple[dict[str, bool], float]:
    """Outcomes of tests in a child, so that the next one imports all anew, and the processor time
    that it took; no outcomes where it meets its limit of time or of processor time.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.close(reading)
        if cpu_s is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
        _quiet()
        outcomes = Outcomes()
        pytest.main([*ARGUMENTS, *tests], plugins=[outcomes])
        with os.fdopen(writing, "w") as told:
            told.write(json.dumps(outcomes.passed))
        os._exit(0)

    os.close(writing)
    text = _read(reading, time.monotonic() + limit_s)
    took_s = _ended(child)

    try:
        return dict(json.loads(text)), took_s
    except ValueError:
        return {}, took_s


def _read(descriptor: int, until: float) -> bytes:
    """All that is written to a pipe, until some time."""
    text = b""
    while select.select([descriptor], [], [], max(0.0, until - time.monotonic()))[0]:
        more = os.read(descriptor, 1 << 16)
        if not more:
            break
        text += more

    os.close(descriptor)

    return text


def _ended(child: int) -> float:
    """Ends a child with all that it has started; the processor time that it took."""
    for kill in (os.killpg, os.kill):
        try:
            kill(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    *_, used = os.wait4(child, 0)
    return used.ru_utime + used.ru_stime


def _quiet() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


def main(request: str, answer: str) -> None:
    """Reads what is asked, and writes what was found."""
    asked = json.loads(Path(request).read_text())
    is_repair = "edits" in asked
    found = first_repair(asked) if is_repair else spectrum(asked["tests"], asked["sources"])
    Path(answer).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
