"""Tests of node:test with another expectation, which right code fails."""

from collections.abc import Iterator
from functools import lru_cache

from synth.envs.repo.honesty.javascript.tests_in import (
    JsFile,
    callee_end,
    compared,
    read_tests,
)
from synth.envs.repo.kinds.javascript.parsed import EsNode
from synth.envs.repo.kinds.javascript.tree import called
from synth.envs.repo.source.text import Edit, outermost, spliced

_OPPOSITE = {
    "notEqual": "equal",
    "notStrictEqual": "strictEqual",
    "notDeepEqual": "deepEqual",
    "notDeepStrictEqual": "deepStrictEqual",
    "throws": "doesNotThrow",
    "rejects": "doesNotReject",
    "match": "doesNotMatch",
    "doesNotMatch": "match",
}
"""Of assertions that are twisted by their name; what they take stays."""
_OTHER = (
    "((v) => (typeof v === 'number' ? v + 1 : typeof v === 'bigint' ? v + 1n : "
    "typeof v === 'string' ? v + '~' : typeof v === 'boolean' ? !v : "
    "Array.isArray(v) ? [...v, 'other'] : v && Object.getPrototypeOf(v) === Object.prototype ? "
    "{ ...v, other: 'other' } : { other: v }))"
)
"""What makes another value of any."""


@lru_cache(maxsize=256)
def twisted(text: str) -> tuple[str, tuple[str, ...]]:
    """A file with another expectation in each test that states one in a known way, and the names of
    these tests (`suite::test`). Raises `ConfigError` where there is no node.
    """
    read = read_tests(text)
    if read is None:
        return text, ()

    edits, names = dict[int, Edit](), list[str]()
    for test in read.tests:
        made = _edits(test.body, read)
        if made:
            names.append(test.name)
        edits |= {edit.start: edit for edit in made}

    return spliced(text, sorted(edits.values())), tuple(names)


def _edits(body: EsNode, file: JsFile) -> list[Edit]:
    """The edits of one test: all its equalities, else whatever else it states."""
    equal, other = list[Edit](), list[Edit]()
    for node in body.walk():
        pair = compared(node)
        if pair is not None:
            equal.append(pair[1].replaced(f"{_OTHER}({file.said(pair[1])})"))
        elif node.type == "CallExpression":
            other += _of_call(node, file)

    return outermost(equal or other)


def _of_call(node: EsNode, file: JsFile) -> Iterator[Edit]:
    """The opposite of one other assertion."""
    name, arguments = called(node), node.many("arguments")
    if name in _OPPOSITE:
        yield Edit(*callee_end(node), _OPPOSITE[name])
    elif name in ("ok", "assert") and arguments:
        yield arguments[0].replaced(f"!({file.said(arguments[0])})")
