"""Tests of node:test with other inputs."""

import json
from collections.abc import Collection, Iterator
from functools import lru_cache

from synth.envs.repo.honesty.javascript.tests_in import JsFile, compared, read_tests, titled
from synth.envs.repo.kinds.javascript.parsed import EsNode
from synth.envs.repo.source.text import Edit, spliced


@lru_cache(maxsize=256)
def varied(text: str, names: Collection[str], turn: int) -> str | None:
    """A file with other numbers (turn 0), other texts (1) or both (2) in some of its tests, all but
    what these expect; None where there are none. Raises `ConfigError` where there is no node.
    """
    read = read_tests(text)
    chosen = [test.body for test in read.tests if test.name in names] if read else []
    if read is None or not chosen:
        return None

    edits = {
        edit
        for part in [*chosen, *_tables(read, chosen)]
        for node in _inputs(part)
        if (edit := _edit(node, turn)) is not None
    }

    return spliced(text, sorted(edits)) if edits else None


def _tables(file: JsFile, tests: list[EsNode]) -> Iterator[EsNode]:
    """What the file sets under the names that some of its tests use."""
    walked = (node for test in tests for node in test.walk())
    used = {node.value("name") for node in walked if node.type == "Identifier"}
    for statement in file.tree.many("body"):
        for one in statement.many("declarations"):
            name, made = one.one("id"), one.one("init")
            if name is not None and made is not None and name.value("name") in used:
                yield made


def _inputs(node: EsNode) -> Iterator[EsNode]:
    """The values that are written out, those apart that are expected, titles and names."""
    if node.type == "Literal":
        yield node
        return

    left_out = set[int]()
    pair = compared(node)
    if pair is not None:
        left_out |= {id(pair[1]), *map(id, node.many("arguments")[2:])}
    if titled(node)[0] is not None or node.type == "ImportExpression":
        left_out |= {id(one) for one in [*node.many("arguments")[:1], node.one("source")]}
    if node.type in ("Property", "MemberExpression"):
        left_out |= {id(node.one("key")), id(node.one("property"))}

    for child in node.children():
        if id(child) not in left_out:
            yield from _inputs(child)


def _edit(node: EsNode, turn: int) -> Edit | None:
    """Another value of the same type."""
    value, is_plain = node.value("value"), not (node.value("regex") or node.value("bigint"))
    if isinstance(value, bool) or not is_plain:
        return None
    if isinstance(value, int | float) and turn in (0, 2):
        return node.replaced(f"({value!r} + {turn + 1})")
    if isinstance(value, str) and turn in (1, 2) and len(value) > 1:
        return node.replaced(f"({json.dumps(value[1:] + value[:1])})")

    return None
