"""The names that a piece of code mentions, and lists with an entry taken out."""

import ast
from collections.abc import Iterable, Sequence

from synth.envs.repo.source.text import DEFINITIONS, Edit, SourceFile


def mentioned(node: ast.AST) -> frozenset[str]:
    """Names, attributes, what is imported, and texts that are a name."""
    found = set()
    for one in ast.walk(node):
        match one:
            case ast.Name(name) | ast.Attribute(attr=name):
                found.add(name)
            case ast.alias(name, as_name):
                found |= {name.rpartition(".")[2], as_name or name}
            case ast.Constant(str(name)) if name.rpartition(".")[2].isidentifier():
                found.add(name.rpartition(".")[2])
    return frozenset(found)


def keywords(node: ast.AST) -> frozenset[str]:
    """The arguments that calls in a piece of code name."""
    return frozenset(one.arg for one in ast.walk(node) if isinstance(one, ast.keyword) if one.arg)


def assigned(node: ast.stmt) -> tuple[str, ...]:
    """The names that a statement of a module or class gives; none where it gives others too."""
    match node:
        case ast.Assign(targets) if all(isinstance(one, ast.Name) for one in targets):
            return tuple(one.id for one in targets if isinstance(one, ast.Name))
        case ast.AnnAssign(ast.Name(name)):
            return (name,)
        case _ if isinstance(node, DEFINITIONS):
            return (node.name,)
    return ()


def is_import(node: ast.stmt) -> bool:
    """Whether a statement imports."""
    return isinstance(node, ast.Import | ast.ImportFrom)


def without_items(
    source: SourceFile, items: Sequence[ast.AST], gone: Iterable[ast.AST]
) -> list[Edit]:
    """A row of items with commas between, without some of them; not all."""
    out = [item in gone for item in items]
    kept = [at for at, left in enumerate(out) if not left]
    edits = []
    for at, item in enumerate(items):
        if not out[at]:
            continue
        if at > kept[0]:
            edits.append(Edit(source.end(items[at - 1]), source.end(item), ""))
        else:
            edits.append(Edit(source.start(item), source.start(items[at + 1]), ""))
    return edits


def import_without(source: SourceFile, node: ast.stmt, names: frozenset[str]) -> list[Edit]:
    """An import statement without some names; gone where it has no others."""
    aliases = node.names if isinstance(node, ast.Import | ast.ImportFrom) else []
    gone = [one for one in aliases if one.name in names]
    if not gone:
        return []
    if len(gone) == len(aliases):
        return [source.lines_removed(node)]
    return without_items(source, aliases, gone)
