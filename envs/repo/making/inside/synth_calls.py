"""A plug-in of pytest: with what arguments the repository's functions are called while its tests
run, as JSON to a descriptor.

[[path, function, [positional], {named}]]: arguments are written as literals; calls with others are
not told.
"""

import json
import os
import sys
from types import CodeType, FrameType

MOST_OF_ONE = 40
LONGEST = 200
_PLAIN = (type(None), bool, int, float, str, bytes)
_ROWS = (list, tuple, set, frozenset)


def listening(descriptor: int) -> "Calls":
    """The plug-in, for the repository in the current directory."""
    return Calls(descriptor, os.getcwd())  # noqa: PTH109 - it may not be pathlib's


class Calls:
    """Listens to one session, and to every call in it."""

    def __init__(self, descriptor: int, root: str) -> None:
        self._descriptor, self._root = os.dup(descriptor), root + os.sep
        os.close(descriptor)
        self._paths: dict[CodeType, str] = {}
        self._found: dict[tuple[str, str], dict[str, tuple[list[str], dict[str, str]]]] = {}
        sys.setprofile(self._called)

    def _called(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call":
            return
        path = self._path(frame.f_code)
        if path:
            known = self._found.setdefault((path, frame.f_code.co_name), {})
            if len(known) < MOST_OF_ONE:
                given = _arguments(frame)
                if given is not None:
                    known.setdefault(repr(given), given)

    def _path(self, code: CodeType) -> str:
        """The file of a module's own function; nothing for other code."""
        if code not in self._paths:
            path = os.path.abspath(code.co_filename)  # noqa: PTH100 - fast, and standing alone
            own = path.startswith(self._root) and code.co_qualname.isidentifier()
            self._paths[code] = path[len(self._root) :] if own else ""
        return self._paths[code]

    def pytest_runtest_setup(self, item: object) -> None:
        """A test begins; tests have been seen to take the listening away."""
        sys.setprofile(self._called)

    def pytest_unconfigure(self) -> None:
        """All is over."""
        sys.setprofile(None)
        told = [
            [path, name, *given]
            for (path, name), known in sorted(self._found.items())
            for given in known.values()
        ]
        said = json.dumps(told).encode()
        while said:
            said = said[os.write(self._descriptor, said) :]
        os.close(self._descriptor)


def _arguments(frame: FrameType) -> tuple[list[str], dict[str, str]] | None:
    """The arguments of a call that has just begun, written as literals."""
    code, values = frame.f_code, frame.f_locals
    count, named = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    positional = [values.get(name) for name in names[:count]]
    options = {name: values.get(name) for name in names[count : count + named]}
    at = count + named
    if code.co_flags & 0x04:
        positional += values.get(names[at], ())
        at += 1
    if code.co_flags & 0x08:
        options.update(values.get(names[at], {}))
    if not all(literal(one) for one in [*positional, *options.values()]):
        return None
    written = [repr(one) for one in positional], {key: repr(options[key]) for key in options}
    return written if len(repr(written)) <= LONGEST else None


def literal(value: object, depth: int = 4) -> bool:
    """Whether a value is of Python's own types through and through, and small; its repr is then a
    literal.
    """
    kind = type(value)
    if kind in _PLAIN:
        return kind not in (str, bytes) or len(value) <= LONGEST  # type: ignore[arg-type]
    if not depth or kind not in (*_ROWS, dict):
        return False
    if kind in (set, frozenset) and not value:
        return False
    if len(value) > LONGEST:  # type: ignore[arg-type]
        return False
    if isinstance(value, dict):
        return all(literal(one, depth - 1) for one in (*value, *value.values()))
    return all(literal(one, depth - 1) for one in value)  # type: ignore[attr-defined]
