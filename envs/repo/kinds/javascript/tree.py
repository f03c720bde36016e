"""A library's files of JavaScript: functions, methods, calls, and texts after edits."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from synth.envs.repo.broken import BrokenTree, told_of
from synth.envs.repo.kinds.javascript.parsed import EsNode, parse
from synth.envs.repo.pool import Library
from synth.envs.repo.source.text import Edit, spliced

_FUNCTIONS = ("FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression")


class JsFunction(NamedTuple):
    """A function of a module or a method of a class; `statement` is what it is taken out with."""

    path: str
    name: str
    node: EsNode
    statement: EsNode
    exported: bool = False


class JsTree:
    """Sources and tests by path, with their trees."""

    def __init__(self, texts: Mapping[str, str], tests: Sequence[str]) -> None:
        self.texts, self.tests = texts, tests
        self.trees = parse(texts)
        self.functions = tuple(
            one
            for path, tree in self.trees.items()
            if path not in tests
            for one in _functions(path, tree)
        )

    def said(self, path: str, node: EsNode) -> str:
        """A node as it is written."""
        return self.texts[path][node.start : node.end]

    def swapped(self, path: str, first: EsNode, second: EsNode) -> Edit:
        """Two nodes the other way round, with what stands between them."""
        between = self.texts[path][first.end : second.start]
        text = self.said(path, second) + between + self.said(path, first)
        return Edit(first.start, second.end, text)

    def calls(self, function: JsFunction) -> list[tuple[JsFunction, EsNode]]:
        """The calls of a function in others; none where its name means several."""
        if sum(one.name == function.name for one in self.functions) > 1:
            return []
        return [
            (caller, node)
            for caller in self.functions
            if caller != function
            for node in caller.node.walk()
            if node.type == "CallExpression" and called(node) == function.name
        ]

    def broken(
        self, kind: str, edits: Mapping[str, Sequence[Edit]], pattern: str, *names: str
    ) -> BrokenTree | None:
        """The tree after some edits; None where that is no JavaScript, or the same."""
        try:
            texts = {path: spliced(self.texts[path], some) for path, some in edits.items()}
        except ValueError:
            return None
        changed = {path: text for path, text in texts.items() if text != self.texts[path]}
        if not changed or len(parse(changed)) < len(changed):
            return None
        about = told_of(pattern, changed, names)
        return BrokenTree(kind=kind, edits=dict(changed), sites=len(set(names)), about=about)


def read_javascript(library: Library, base: Path) -> JsTree:
    """The files of a library that are text."""
    tests = sorted(set(library.tests.values()))
    texts = {}
    for path in (*library.source, *tests):
        try:
            texts[path] = (base / path).read_bytes().decode()
        except (OSError, UnicodeDecodeError):
            continue
    return JsTree(texts, tests)


def called(call: EsNode) -> str:
    """The last name of what is called; empty where it has none."""
    callee = call.one("callee")
    if callee is not None and callee.type == "MemberExpression":
        callee = callee.one("property")
    return str(callee.value("name")) if callee is not None and callee.type == "Identifier" else ""


def comment_before(text: str, statement: EsNode) -> str:
    """A comment that ends right before a statement, up to it."""
    before = text[: statement.start]
    if not before.rstrip().endswith("*/"):
        return ""
    return before[before.rfind("/**") :]


def identifiers(node: EsNode) -> frozenset[str]:
    """The names in a piece of code."""
    return frozenset(str(one.value("name")) for one in node.walk() if one.type == "Identifier")


def _functions(path: str, tree: EsNode) -> Iterator[JsFunction]:
    for statement in tree.many("body"):
        exported = statement.type.startswith("Export")
        declared = (statement.one("declaration") if exported else statement) or statement
        if declared.type == "FunctionDeclaration":
            name = declared.one("id")
            if name is not None:
                yield JsFunction(path, str(name.value("name")), declared, statement, exported)
        elif declared.type == "VariableDeclaration":
            for one in declared.many("declarations"):
                name, made = one.one("id"), one.one("init")
                if name is not None and made is not None and made.type in _FUNCTIONS:
                    yield JsFunction(path, str(name.value("name")), made, statement, exported)
        elif declared.type == "ClassDeclaration":
            for member in _members(declared):
                key, made = member.one("key"), member.one("value")
                if member.type == "MethodDefinition" and key is not None and made is not None:
                    yield JsFunction(path, str(key.value("name")), made, member, exported)


def _members(node: EsNode) -> Sequence[EsNode]:
    body = node.one("body")
    return body.many("body") if body is not None else ()
