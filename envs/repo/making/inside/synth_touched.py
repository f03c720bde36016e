"""A plug-in of pytest: which functions of the repository each test calls, as JSON to a descriptor.

{"tests": [id], "touched": [[path, first line, [test]]]}: a test is its place in the list, -1 what
is called while files are read.
"""

import json
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Generator
from types import CodeType, FrameType
from typing import Any

import pytest

READING = -1


def listening(descriptor: int) -> "Touched":
    """The plug-in, for the repository in the current directory."""
    return Touched(descriptor, os.getcwd())  # noqa: PTH109 - it may not be pathlib's


class Touched:
    """Listens to one session, and to every call in it."""

    def __init__(self, descriptor: int, root: str) -> None:
        self._descriptor, self._root = os.dup(descriptor), root + os.sep
        os.close(descriptor)
        self._tests: list[str] = []
        self._now: set[CodeType] = set()
        self._touched: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
        sys.setprofile(self._called)
        threading.setprofile(self._called)

    def _called(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            self._now.add(frame.f_code)

    def _noted(self, test: int) -> None:
        """What was called since the last time belongs to a test."""
        called, self._now = self._now, set()
        for code in called:
            path = os.path.abspath(code.co_filename)  # noqa: PTH100 - fast, and standing alone
            if path.startswith(self._root):
                self._touched[path[len(self._root) :], code.co_firstlineno].add(test)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, Any]:
        """A test runs, from its fixtures to their end."""
        self._noted(READING)
        sys.setprofile(self._called)  # tests have been seen to take it away
        result: Any = yield
        self._noted(len(self._tests))
        self._tests.append(item.nodeid)
        return result

    def pytest_unconfigure(self) -> None:
        """All is over."""
        sys.setprofile(None)
        self._noted(READING)
        touched = [[*place, sorted(tests)] for place, tests in sorted(self._touched.items())]
        said = json.dumps({"tests": self._tests, "touched": touched}).encode()
        while said:
            said = said[os.write(self._descriptor, said) :]
        os.close(self._descriptor)
