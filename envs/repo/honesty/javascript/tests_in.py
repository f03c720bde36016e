"""The tests of a file of node:test, by name, and what they compare."""

from collections.abc import Iterator
from typing import NamedTuple

from synth.envs.repo.kinds.javascript.parsed import EsNode, parse
from synth.envs.repo.kinds.javascript.tree import called

_TESTS, _SUITES = ("it", "test"), ("describe", "suite")
_FUNCTIONS = ("ArrowFunctionExpression", "FunctionExpression")
EQUAL = frozenset(
    {
        "equal",
        "strictEqual",
        "deepEqual",
        "deepStrictEqual",
        "partialDeepStrictEqual",
    }
)
"""Functions of node:assert that take what is found, then what is expected."""


class JsTest(NamedTuple):
    """One test: `name` with those of the suites around it (`suite::test`), and its function."""

    name: str
    body: EsNode


class JsFile(NamedTuple):
    """A file of tests: its text, its tree, and its tests whose names are written out."""

    text: str
    tree: EsNode
    tests: tuple[JsTest, ...]

    def said(self, node: EsNode) -> str:
        """A node as it is written."""
        return self.text[node.start : node.end]


def read_tests(text: str) -> JsFile | None:
    """A file of tests; None for what is no JavaScript. Raises `ConfigError` without node."""
    tree = parse({"tests": text}).get("tests")
    return None if tree is None else JsFile(text, tree, tuple(_within(tree, "")))


def _within(node: EsNode, prefix: str) -> Iterator[JsTest]:
    """The tests below a node."""
    for child in node.children():
        title, body = titled(child)
        if title is None or body is None:
            yield from _within(child, prefix)
            continue

        name = f"{prefix}{title}"
        if called(child) in _TESTS:
            yield JsTest(name, body)

        yield from _within(body, f"{name}::")


def titled(node: EsNode) -> tuple[str | None, EsNode | None]:
    """(title, function) of a call that states a test or a suite; None for any other node."""
    if node.type != "CallExpression" or called(node) not in (*_TESTS, *_SUITES):
        return None, None

    arguments = node.many("arguments")
    title = arguments[0].value("value") if arguments else None
    body = next((one for one in arguments[1:] if one.type in _FUNCTIONS), None)

    return (title if isinstance(title, str) else None), body


def callee_end(call: EsNode) -> tuple[int, int]:
    """Where the last name of what is called stands."""
    callee = call.one("callee")
    name = callee.one("property") if callee is not None else None
    place = name or callee or call

    return place.start, place.end


def compared(node: EsNode) -> tuple[EsNode, EsNode] | None:
    """(what is found, what is expected) of an assertion that two values are equal."""
    arguments = node.many("arguments") if node.type == "CallExpression" else ()
    if len(arguments) < 2 or called(node) not in EQUAL:
        return None

    found, expected = arguments[:2]
    is_written = found.type == "Literal" and expected.type != "Literal"

    return (expected, found) if is_written else (found, expected)
