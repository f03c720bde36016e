"""Edits of one site of JavaScript, and two or three of them at once in one chain of calls."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from synth.envs.data_file import data_file
from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.kinds.javascript.hiding import partly_hidden
from synth.envs.repo.kinds.javascript.parsed import EsNode
from synth.envs.repo.kinds.javascript.tree import JsFunction, JsTree, read_javascript
from synth.envs.repo.pool import Library
from synth.envs.repo.source.text import Edit
from synth.envs.repo.source.tree import call_chains

_OTHER = data_file("repo/operators")["bugs"]["javascript"]
_OPERATIONS = ("BinaryExpression", "LogicalExpression")
_Site = tuple[str, Edit]


def one_site(library: Library, base: Path, random: Random) -> Iterator[BrokenTree]:
    """One edit of one function; operators take turns."""
    tree = read_javascript(library, base)
    by_operator: dict[str, list[tuple[JsFunction, Edit]]] = {}
    for function in tree.functions:
        for operator, edit in sites(tree, function):
            by_operator.setdefault(operator, []).append((function, edit))
    for found in by_operator.values():
        random.shuffle(found)
    while by_operator:
        for operator in sorted(by_operator):
            function, edit = by_operator[operator].pop()
            edits = {function.path: [edit]}
            broken = tree.broken("javascript_one_site", edits, operator, function.name)
            if broken is not None:
                yield broken
        by_operator = {name: found for name, found in by_operator.items() if found}


@partly_hidden
def several_sites(library: Library, base: Path, random: Random) -> Iterator[BrokenTree]:
    """An edit in each of two or three functions of which each calls the next."""
    tree = read_javascript(library, base)
    by_function = {one: found for one in tree.functions if (found := list(sites(tree, one)))}
    calls = ((caller, one) for one in tree.functions for caller, _ in tree.calls(one))
    chains = [one for one in call_chains(calls) if all(part in by_function for part in one)]
    seen = set[tuple[Edit, ...]]()
    for _ in range(20 * len(chains)):
        chain = random.choice(chains)
        drawn = [random.choice(by_function[one]) for one in chain]
        key = tuple(edit for _, edit in drawn)
        if key in seen:
            continue
        seen.add(key)
        broken = _broken(tree, chain, drawn)
        if broken is not None:
            yield broken


def _broken(tree: JsTree, chain: tuple[JsFunction, ...], drawn: list[_Site]) -> BrokenTree | None:
    edits: dict[str, list[Edit]] = {}
    for function, (_, edit) in zip(chain, drawn, strict=True):
        edits.setdefault(function.path, []).append(edit)
    pattern = " ".join(sorted(operator for operator, _ in drawn))
    names = [one.name for one in chain]
    return tree.broken("javascript_several_sites", edits, pattern, *names)


def sites(tree: JsTree, function: JsFunction) -> Iterator[_Site]:
    """Every edit of one place of a function, with its operator."""
    for node in function.node.walk():
        yield from _of_operation(tree, function.path, node)
        yield from _of_value(node)
        yield from _of_statement(tree, function.path, node)


def _of_operation(tree: JsTree, path: str, node: EsNode) -> Iterator[_Site]:
    left, right, sign = node.one("left"), node.one("right"), str(node.value("operator"))
    if node.type in _OPERATIONS and left is not None and right is not None and sign in _OTHER:
        gap = tree.texts[path][left.end : right.start]
        if gap.count(sign) == 1:
            at = left.end + gap.index(sign)
            name = "logic" if node.type == "LogicalExpression" else "operation"
            yield name, Edit(at, at + len(sign), _OTHER[sign])
    if node.type == "AssignmentExpression" and sign in ("+=", "-=") and left and right:
        gap = tree.texts[path][left.end : right.start]
        at = left.end + gap.index(sign)
        yield "added_amount", Edit(at, at + 2, "-=" if sign == "+=" else "+=")


def _of_value(node: EsNode) -> Iterator[_Site]:
    value = node.value("value")
    if node.type == "Literal" and isinstance(value, bool):
        yield "truth", node.replaced(str(not value).lower())
    elif node.type == "Literal" and isinstance(value, int):
        yield "number", node.replaced(str(value + 1))


def _of_statement(tree: JsTree, path: str, node: EsNode) -> Iterator[_Site]:
    test = node.one("test")
    if node.type in ("IfStatement", "ConditionalExpression", "WhileStatement") and test:
        yield "condition", test.replaced(f"!({tree.said(path, test)})")
    if node.type == "CallExpression":
        arguments = node.many("arguments")
        if len(arguments) > 1 and arguments[0].type != "SpreadElement":
            first, second = arguments[:2]
            yield "arguments", tree.swapped(path, first, second)
    if node.type == "ContinueStatement":
        yield "skip", node.replaced("break;")
