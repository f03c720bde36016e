"""A function, class or argument taken out with its uses; its tests are out of view, and what it did
is told by its documentation.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from random import Random

from synth.envs.data_file import data_file
from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.kinds.change import TreeChange, broken_tree, in_turn
from synth.envs.repo.kinds.features.parameter import lost_parameters
from synth.envs.repo.kinds.features.removal import PublicPart, is_definition, removed, units_of
from synth.envs.repo.kinds.hidden.differential import with_generated_tests
from synth.envs.repo.kinds.hidden.hiding import hidden_tests
from synth.envs.repo.kinds.hidden.moved import Names
from synth.envs.repo.pool import Library
from synth.envs.repo.source.text import DEFINITIONS, Definition
from synth.envs.repo.source.tree import FUNCTIONS, Tree, read_tree

KIND = "feature_removed"
_LINES = range(5, 120)
"""Of a definition: shorter ones are guessed, longer ones are no single task."""
_WORDS = data_file("repo/kinds")
_LONGEST = 1600
_NO_WORDS = "(not written down)"


def feature_removed(library: Library, base: Path, random: Random) -> Iterator[BrokenTree]:
    """Functions, methods and classes that are tested and documented, and arguments of functions."""
    tree = read_tree(library, base)
    for change in in_turn([*_definitions(tree), *_parameters(tree)], random):
        broken = broken_tree(KIND, tree, change)
        hidden = broken and hidden_tests(tree, broken, _unseen(change))
        if hidden is not None:
            names = change.functions if change.pattern == "function" else ()
            yield with_generated_tests(library, base, hidden, names, random) or hidden


def _unseen(change: TreeChange) -> Names:
    names = frozenset(name.rpartition(".")[2] for name in change.functions)
    if change.pattern == "argument":
        return Names(frozenset(), names)
    return Names(names)


def _definitions(tree: Tree) -> Iterator[TreeChange]:
    units = units_of(tree)
    for unit in units:
        node = unit.node
        if not isinstance(node, DEFINITIONS) or node.name.startswith("_"):
            continue
        lines = (node.end_lineno or 0) - node.lineno
        if lines not in _LINES or not is_definition(unit) or ast.get_docstring(node) is None:
            continue
        removal = removed(units, unit)
        if removal is None:
            continue
        kind = "function" if isinstance(node, FUNCTIONS) else "class"
        yield TreeChange(
            edits=removal.edits,
            functions=tuple(_name(one) for one in removal.units if _public(one)),
            pattern="method" if unit.owner else kind,
            hint="\n\n".join(_told(one) for one in removal.units if _public(one)),
        )


def _public(unit: PublicPart) -> bool:
    return is_definition(unit) and not unit.names[0].startswith("_")


def _name(unit: PublicPart) -> str:
    return f"{unit.owner.name}.{unit.names[0]}" if unit.owner else unit.names[0]


def _told(unit: PublicPart) -> str:
    node = unit.node
    return missing(unit.source.path, _name(unit), node) if isinstance(node, DEFINITIONS) else ""


def _parameters(tree: Tree) -> Iterator[TreeChange]:
    for function in tree.functions:
        if not function.public or ast.get_docstring(function.node) is None:
            continue
        for lost in lost_parameters(tree, function):
            path, name = function.source.path, function.name
            yield TreeChange(
                edits=lost.edits,
                functions=(lost.argument,),
                pattern="argument",
                hint=missing_parameter(path, name, function.node, lost.argument, lost.default),
            )


def missing(path: str, name: str, node: Definition) -> str:
    """A function or class that is gone."""
    return str(
        _WORDS["missing"].format(name=name, signature=signature(node), path=path, doc=doc(node))
    )


def missing_parameter(path: str, name: str, node: Definition, argument: str, default: str) -> str:
    """An argument that is gone."""
    words = _WORDS["parameter"]
    return str(
        words.format(name=name, path=path, argument=argument, default=default, doc=doc(node))
    )


def doc(node: Definition) -> str:
    """A docstring, its end left out where it is long."""
    text = ast.get_docstring(node) or _NO_WORDS
    return text if len(text) <= _LONGEST else text[:_LONGEST].rpartition("\n")[0] + "\n..."


def signature(node: Definition) -> str:
    """The arguments as they were written; of a class, those of its `__init__`."""
    if isinstance(node, ast.ClassDef):
        inits = [one for one in node.body if isinstance(one, FUNCTIONS) and one.name == "__init__"]
        return signature(inits[0]) if inits else ""
    return f"({ast.unparse(node.args)})"
