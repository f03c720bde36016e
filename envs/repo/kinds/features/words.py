"""What a goal may say of a feature: its signature and its documentation."""

import ast

from synth.envs.data_file import data_file
from synth.envs.repo.source.text import Definition
from synth.envs.repo.source.tree import FUNCTIONS

_WORDS = data_file("repo/kinds")
_LONGEST = 1600
_NO_WORDS = "(not written down)"


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
