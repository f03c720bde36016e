"""Statements of JavaScript taken out, and names out of imports and exports."""

from collections.abc import Iterator

from synth.envs.repo.kinds.javascript.parsed import EsNode
from synth.envs.repo.kinds.javascript.tree import JsTree, comment_before, identifiers
from synth.envs.repo.source.text import Edit


def lighter(tree: JsTree, path: str, root: EsNode, names: frozenset[str]) -> Iterator[Edit]:
    """Imports and exports without some names."""
    for statement in root.many("body"):
        specifiers = statement.many("specifiers")
        gone = [one for one in specifiers if identifiers(one) & names]
        if gone and len(gone) == len(specifiers):
            yield taken_out(tree, path, statement)
        elif gone:
            kept = [tree.said(path, one) for one in specifiers if one not in gone]
            yield Edit(specifiers[0].start, specifiers[-1].end, ", ".join(kept))


def taken_out(tree: JsTree, path: str, statement: EsNode) -> Edit:
    """A statement with its comment, its lines and the empty line after it."""
    text = tree.texts[path]
    start = statement.start - len(comment_before(text, statement))
    start = text.rfind("\n", 0, start) + 1
    end = statement.end
    while end < len(text) and text[end] in " \t;\n" and text[end - 2 : end] != "\n\n":
        end += 1
    return Edit(start, end - len(text[:end]) + len(text[:end].rstrip(" \t")), "")
