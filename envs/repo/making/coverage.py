"""Which tests call which functions of a library: measured once, kept in the pool.

Only tests that call what an edit changes can see it, so only their files are run.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from synth.envs.repo.making.runs import listened
from synth.envs.repo.pool import Library, base_of
from synth.envs.repo.source.lines import changes
from synth.envs.repo.source.text import readable
from synth.envs.repo.source.tree import FUNCTIONS
from synth.schemas import ConfigError

TIME_S = 600.0
OUTSIDE = ""
"""The name of what stands in no function."""
_READING = -1


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """`functions`: path -> function -> the tests that call it, as places in `tests`; what is called
    as files are read belongs to every test.
    """

    tests: tuple[str, ...] = ()
    functions: Mapping[str, Mapping[str, tuple[int, ...]]] = {}

    def files(self, library: Library, path: str, names: Iterable[str]) -> frozenset[str]:
        """The test files that can see an edit of some functions of a file."""
        known, found = self.functions.get(path, {}), set[int]()
        for name in names:
            calling = known.get(name, ())
            if name == OUTSIDE or _READING in calling:
                return frozenset(library.tests.values())
            found.update(calling)
        calling_tests = (self.tests[at] for at in found)
        return frozenset(library.tests[name] for name in calling_tests if name in library.tests)


class _Told(msgspec.Struct):
    tests: list[str]
    touched: list[tuple[str, int, list[int]]]


async def measure(library: Library, pool: Path) -> Coverage:
    """Runs all tests of a library once, every call noted, and writes what they call into the pool.
    Raises `ConfigError` where they do not come to an end.
    """
    found = Coverage()
    if library.engine == "python":
        said, ended_by = await listened(pool, library, "synth_touched", TIME_S)
        try:
            found = _named(msgspec.json.decode(said, type=_Told), base_of(pool, library.name))
        except msgspec.DecodeError:
            why = ended_by or "no result"
            raise ConfigError(f"{library.name}: what its tests call was not told: {why}") from None

    place = coverage_file(pool, library.name)
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(msgspec.json.encode(found))
    return found


def read_coverage(pool: Path, library: str) -> Coverage:
    """What was measured; nothing where nothing was."""
    place = coverage_file(pool, library)
    if not place.exists():
        return Coverage()
    return msgspec.json.decode(place.read_bytes(), type=Coverage)


def coverage_file(pool: Path, library: str) -> Path:
    """Where it is kept."""
    return pool / "coverage" / f"{library}.json"


def changed_functions(before: str, after: str) -> tuple[frozenset[str], frozenset[str]]:
    """The functions that stand on lines which differ between two texts of a file: of the one, of
    the other.
    """
    old, new = before.splitlines(), after.splitlines()
    named = functions_of(before), functions_of(after)
    found: tuple[set[str], set[str]] = set(), set()
    for span in changes(old, new):
        for at, (first, last) in enumerate((span[:2], span[2:])):
            text = (old, new)[at]
            lines = [line for line in range(first, last) if text[line].strip()]
            found[at].update(function_at(named[at], line + 1) for line in lines)
    return frozenset(found[0]), frozenset(found[1])


def _named(said: _Told, tree: Path) -> Coverage:
    """First lines as the functions that begin there."""
    functions: defaultdict[str, defaultdict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    known = dict[str, dict[int, str]]()
    for path, line, tests in said.touched:
        if path not in known:
            text = (tree / path).read_text(errors="replace") if (tree / path).exists() else ""
            known[path] = {one.first: one.name for one in functions_of(text)}
        name = known[path].get(line)
        if name is not None:
            functions[path][name].update(tests)
    return Coverage(
        tests=tuple(said.tests),
        functions={
            path: {name: tuple(sorted(tests)) for name, tests in named.items()}
            for path, named in functions.items()
        },
    )


class PlacedFunction(msgspec.Struct, frozen=True):
    """A function, with its classes and functions around it in its name; lines from 1."""

    name: str
    first: int
    last: int


def functions_of(text: str) -> list[PlacedFunction]:
    """All functions of a file, outer ones before those in them; none where it is no Python."""
    source = readable(text)
    return list(_functions(source.tree, "")) if source else []


def function_at(functions: list[PlacedFunction], line: int) -> str:
    """The name of the innermost function that a line stands in; `OUTSIDE` for none."""
    inside = [one for one in functions if one.first <= line <= one.last]
    return max(inside, key=lambda one: one.first).name if inside else OUTSIDE


def _functions(node: ast.AST, around: str) -> Iterator[PlacedFunction]:
    for child in ast.iter_child_nodes(node):
        name = around
        if isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            name = f"{around}.{child.name}".lstrip(".")
        if isinstance(child, FUNCTIONS):
            decorators = [one.lineno for one in child.decorator_list]
            first = min([child.lineno, *decorators])
            yield PlacedFunction(name, first, child.end_lineno or child.lineno)
        yield from _functions(child, name)
