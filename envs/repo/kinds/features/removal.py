"""A function or class taken out with its uses, and with what nobody else needs."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from synth.envs.repo.source.names import (
    assigned,
    import_without,
    is_import,
    mentioned,
    without_items,
)
from synth.envs.repo.source.text import DEFINITIONS, Edit, SourceFile
from synth.envs.repo.source.tree import Tree

MOST_DEPENDENTS = 3
"""Functions that need the one which goes, and go with it; a feature that more hang on is kept."""


class PublicPart(NamedTuple):
    """A statement of a module, or of a class of it."""

    source: SourceFile
    node: ast.stmt
    owner: ast.ClassDef | None
    names: tuple[str, ...]
    mentions: frozenset[str]

    @property
    def private(self) -> bool:
        """Whether it gives names that are nobody else's concern."""
        return bool(self.names) and all(
            one.startswith("_") and not one.endswith("__") for one in self.names
        )


class Removal(NamedTuple):
    """What goes: definitions, and the edits of imports and lists of names."""

    units: tuple[PublicPart, ...]
    edits: dict[str, list[Edit]]

    @property
    def names(self) -> frozenset[str]:
        """The names that are gone."""
        return frozenset(name for unit in self.units for name in unit.names)


def units_of(tree: Tree) -> tuple[PublicPart, ...]:
    """All statements of modules and classes; a class is one, and so is each of its members."""
    return tuple(unit for source in tree.sources.values() for unit in _units(source))


def _units(source: SourceFile) -> Iterator[PublicPart]:
    for node in source.tree.body:
        yield PublicPart(source, node, None, assigned(node), mentioned(node))
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                yield PublicPart(source, inner, node, assigned(inner), mentioned(inner))


def removed(units: tuple[PublicPart, ...], first: PublicPart) -> Removal | None:
    """What goes with a definition; None where too much hangs on it, or what cannot be undone."""
    gone, lists, todo = [first], list[PublicPart](), list(first.names)
    while todo:
        name = todo.pop()
        for unit in units:
            if name not in unit.mentions or _inside(unit, gone):
                continue
            if isinstance(unit.node, ast.ClassDef) and unit.node.name != name:
                if _mentions_apart_from_members(unit.node, name):
                    return None
                continue
            if _is_list(unit):
                lists.append(unit)
            elif unit.names and len(gone) <= MOST_DEPENDENTS and not _dunder(unit):
                gone.append(unit)
                todo += [one for one in unit.names if one != name]
            else:
                return None
    gone += _orphans(units, gone)
    return None if _emptied(gone) else Removal(tuple(gone), _edits(gone, lists))


def _edits(gone: list[PublicPart], lists: list[PublicPart]) -> dict[str, list[Edit]]:
    names = frozenset(name for unit in gone for name in unit.names)
    edits: dict[str, list[Edit]] = {}
    for unit in gone:
        edits.setdefault(unit.source.path, []).append(unit.source.lines_removed(unit.node))
    for unit in lists:
        edits.setdefault(unit.source.path, []).extend(_lighter(unit, names))
    return edits


def _is_list(unit: PublicPart) -> bool:
    return is_import(unit.node) or _exported(unit) is not None


def _exported(unit: PublicPart) -> list[ast.expr] | None:
    """The entries of `__all__`, or of what is added to it."""
    match unit.node:
        case ast.Assign([ast.Name("__all__")], ast.List(items) | ast.Tuple(items)):
            return items
        case ast.AugAssign(ast.Name("__all__"), _, ast.List(items) | ast.Tuple(items)):
            return items
    return None


def _lighter(unit: PublicPart, names: frozenset[str]) -> list[Edit]:
    """An import or a list of exported names, without some of them."""
    items = _exported(unit)
    if items is None:
        return import_without(unit.source, unit.node, names)
    out = [one for one in items if isinstance(one, ast.Constant) and one.value in names]
    return without_items(unit.source, items, out) if len(out) < len(items) else []


def _inside(unit: PublicPart, gone: list[PublicPart]) -> bool:
    return any(one.node is unit.node or one.node is unit.owner for one in gone)


def _dunder(unit: PublicPart) -> bool:
    return any(name.startswith("__") for name in unit.names)


def _mentions_apart_from_members(node: ast.ClassDef, name: str) -> bool:
    return any(
        name in mentioned(one) for one in [*node.bases, *node.keywords, *node.decorator_list]
    )


def _orphans(units: tuple[PublicPart, ...], gone: list[PublicPart]) -> list[PublicPart]:
    """Private definitions and values that only what goes has used."""
    found: list[PublicPart] = []
    while True:
        out = [*gone, *found]
        used = frozenset(name for one in out for name in one.mentions)
        more = [
            unit
            for unit in units
            if unit.private and used & {*unit.names} and not _inside(unit, out)
            if not any(_needs(one, unit) for one in units if not _inside(one, out))
        ]
        if not more:
            return found
        found.append(more[0])


def _needs(one: PublicPart, unit: PublicPart) -> bool:
    same = one.node is unit.node or one.node is unit.owner
    whole = isinstance(one.node, ast.ClassDef)  # its members are asked one by one
    return not same and not whole and bool(one.mentions & {*unit.names})


def _emptied(gone: list[PublicPart]) -> bool:
    """Whether a class that stays has lost all of its members."""
    nodes = {id(unit.node) for unit in gone}
    owners = [unit.owner for unit in gone if unit.owner is not None and id(unit.owner) not in nodes]
    return any(all(id(one) in nodes or _words(one) for one in owner.body) for owner in owners)


def _words(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_definition(unit: PublicPart) -> bool:
    """A function, method or class."""
    return isinstance(unit.node, DEFINITIONS)
