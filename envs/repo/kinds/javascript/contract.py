"""Promises of functions of JavaScript changed at most callers, and answers kept by a part of their
key.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.kinds.javascript.hiding import partly_hidden
from synth.envs.repo.kinds.javascript.parsed import EsNode
from synth.envs.repo.kinds.javascript.tree import (
    JsFunction,
    JsTree,
    comment_before,
    read_javascript,
)
from synth.envs.repo.pool import Library
from synth.envs.repo.source.text import Edit


@partly_hidden
def contract_changed(library: Library, base: Path, random: Random) -> Iterator[BrokenTree]:
    """Two parameters the other way round, or a number from one on: at the definition and at all
    callers but one, where there are several.
    """
    tree = read_javascript(library, base)
    found = [one for function in tree.functions for one in _changed(tree, function)]
    random.shuffle(found)
    yield from found


@partly_hidden
def stale_state(library: Library, base: Path, random: Random) -> Iterator[BrokenTree]:
    """Answers of a function of several parameters, remembered by the first."""
    tree = read_javascript(library, base)
    functions = [one for one in tree.functions if one.statement.type != "MethodDefinition"]
    random.shuffle(functions)
    for function in functions:
        edits = _kept(tree, function)
        if edits:
            broken = tree.broken(
                "javascript_stale_state", {function.path: edits}, "kept", function.name
            )
            if broken is not None:
                yield broken


def _changed(tree: JsTree, function: JsFunction) -> Iterator[BrokenTree]:
    calls = tree.calls(function)
    callers = list(dict.fromkeys(caller for caller, _ in calls))
    forgotten: list[JsFunction | None] = [*callers] if len(callers) > 1 else [None] * len(callers)
    for pattern, definition in _definitions(tree, function):
        for left_out in forgotten:
            edits: dict[str, list[Edit]] = {function.path: list(definition)}
            names = [function.name]
            for caller, call in calls:
                if caller == left_out:
                    continue
                edit = _at_call(tree, caller, call, pattern)
                if edit is not None:
                    edits.setdefault(caller.path, []).append(edit)
                    names.append(caller.name)
            broken = tree.broken("javascript_contract_changed", edits, pattern, *names)
            if broken is not None and broken.sites > 1:
                yield broken


def _definitions(tree: JsTree, function: JsFunction) -> Iterator[tuple[str, list[Edit]]]:
    parameters, path = function.node.many("params"), function.path
    if len(parameters) > 1 and all(one.type == "Identifier" for one in parameters[:2]):
        first, second = parameters[:2]
        yield (
            "turned",
            [
                first.replaced(tree.said(path, second)),
                second.replaced(tree.said(path, first)),
            ],
        )
    values = [one for one in returns(function.node) if one.one("argument")]
    numbers = [one.one("argument") for one in values]
    if numbers and all(one is not None and _number(one) for one in numbers):
        edits = [one.replaced(f"({tree.said(path, one)}) + 1") for one in numbers if one]
        yield "from_one", edits


def _at_call(tree: JsTree, caller: JsFunction, call: EsNode, pattern: str) -> Edit | None:
    if pattern == "from_one":
        return call.replaced(f"({tree.said(caller.path, call)} - 1)")
    arguments = call.many("arguments")
    return tree.swapped(caller.path, *arguments[:2]) if len(arguments) > 1 else None


def returns(node: EsNode) -> Iterator[EsNode]:
    """The returns of a function, without those of functions in it."""
    for child in node.children():
        if child.type == "ReturnStatement":
            yield child
        elif "Function" not in child.type:
            yield from returns(child)


def _number(node: EsNode) -> bool:
    callee = node.one("callee")
    of = callee.one("object") if callee is not None else None
    math = of is not None and of.value("name") == "Math"
    arithmetic = node.type == "BinaryExpression" and node.value("operator") in ("-", "*", "/", "%")
    return math or arithmetic or node.type == "Identifier"


def _kept(tree: JsTree, function: JsFunction) -> list[Edit]:
    """The edits that let a function remember; none where it has nothing to forget."""
    parameters, body, path = function.node.many("params"), function.node.one("body"), function.path
    if len(parameters) < 2 or body is None or body.type != "BlockStatement":
        return []
    values = [one for one in returns(body) if one.one("argument") is not None]
    if not values or parameters[0].type != "Identifier" or len(body.many("body")) < 2:
        return []
    kept, key = f"{function.name}Kept", f"JSON.stringify({tree.said(path, parameters[0])})"
    opening = f"\n  const key = {key};\n  if ({kept}.has(key)) return {kept}.get(key);"
    start = function.statement.start - len(comment_before(tree.texts[path], function.statement))
    edits = [
        Edit(start, start, f"const {kept} = new Map();\n\n"),
        Edit(body.start + 1, body.start + 1, opening),
    ]
    for value in values:
        argument = value.one("argument")
        if argument is not None:
            said = tree.said(path, argument)
            text = f"{{ {kept}.set(key, {said}); return {kept}.get(key); }}"
            edits.append(value.replaced(text))
    return edits
