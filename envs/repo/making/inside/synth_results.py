"""A plug-in of pytest: what came of each test, as JSON to a descriptor, once all have run.

{"tests": {id: {"outcome", "file", ...}}, "broken": {file: why it could not be read}}; of a failed
test also what is told of it in words: the line of the test, both sides of a comparison, the error.
"""

import json
import os
import re
from collections.abc import Generator
from typing import Any

import _pytest.python
import _pytest.runner
import pytest
from _pytest._io.saferepr import saferepr
from _pytest.runner import CallInfo

LONGEST = 400
RUNNER = [
    (CallInfo, "from_call"),
    (pytest.TestReport, "from_item_and_call"),
    (pytest.Function, "runtest"),
    (_pytest.python, "pytest_pyfunc_call"),
    (_pytest.runner, "runtestprotocol"),
    (_pytest.runner, "call_and_report"),
    (_pytest.runner, "pytest_runtest_call"),
    (_pytest.runner, "pytest_runtest_makereport"),
    (json, "dumps"),
    (os, "write"),
]
"""What runs tests and reports them; nothing that is tested has reason to put others in its place.
"""


def _running() -> list[Any]:
    """What stands there now: the functions, and what they do."""
    found = [vars(place)[name] for place, name in RUNNER]
    return [(one, getattr(getattr(one, "__func__", one), "__code__", None)) for one in found]


_BEFORE = _running()
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


def listening(descriptor: int) -> "Results":
    """The plug-in."""
    return Results(descriptor)


class Results:
    """Listens to one session."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = os.dup(descriptor)
        os.close(descriptor)
        self._tests: dict[str, dict[str, Any]] = {}
        self._broken: dict[str, str] = {}
        self._compared: list[str] | None = None

    def pytest_runtest_setup(self, item: Any) -> None:
        """A test begins."""
        self._compared = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> None:
        """A comparison of an assertion does not hold; pytest's own words are left to it."""
        self._compared = [_said(left), op, _said(right)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, Any]:
        """One of a test's three phases has ended."""
        report: Any = yield
        test = self._tests.setdefault(
            item.nodeid, {"outcome": "passed", "file": item.nodeid.partition("::")[0]}
        )
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xfailed" if report.skipped else "xpassed"
        if outcome == "failed" and report.when != "call":
            outcome = "error"
        if outcome != "passed" and test["outcome"] == "passed":
            test["outcome"] = outcome
            if report.failed and call.excinfo is not None:
                test.update(_failure(item, call.excinfo, self._compared))
        return report

    def pytest_collectreport(self, report: Any) -> None:
        """A file was read, or could not be."""
        if report.failed:
            self._broken[report.nodeid] = _plain(str(report.longrepr))[-LONGEST:]

    def pytest_unconfigure(self) -> None:
        """All is over; where something else ran the tests, none is told of."""
        if _running() != _BEFORE:
            self._tests, self._broken = {}, {"": "what runs tests was replaced"}
        said = json.dumps({"tests": self._tests, "broken": self._broken}).encode()
        while said:
            said = said[os.write(self._descriptor, said) :]
        os.close(self._descriptor)


def _failure(item: Any, excinfo: Any, compared: list[str] | None) -> dict[str, Any]:
    """Where in the test's file it failed, and how."""
    line = 0
    for entry in excinfo.traceback:
        if str(entry.path) == str(item.path):
            line = entry.lineno + 1
    function = getattr(item, "function", None)
    given = getattr(getattr(item, "callspec", None), "params", {})
    doc = (getattr(function, "__doc__", None) or "").strip().partition("\n")[0]
    error = excinfo.type.__name__
    told = excinfo.exconly(tryshort=True)
    head, _, rest = told.partition(": ")
    told = rest if head.rpartition(".")[2] == error else told
    return {
        "line": line,
        "error": error,
        "message": _plain(told)[:LONGEST],
        "compared": compared if excinfo.errisinstance(AssertionError) else None,
        "doc": _plain(doc)[:LONGEST],
        "given": {name: _said(value) for name, value in given.items()},
    }


def _said(value: object) -> str:
    """A value as it prints itself, cut where it is long; whatever its `repr` does."""
    return _plain(saferepr(value, LONGEST))


def _plain(text: str) -> str:
    """Without addresses, which differ from run to run."""
    return _ADDRESS.sub("0x", text)
