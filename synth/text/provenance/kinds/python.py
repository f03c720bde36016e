"""The literals of Python programs (ast)."""

import ast
import builtins
import re
import sys
import warnings
from collections.abc import Iterator
from functools import lru_cache
from textwrap import dedent

from synth.text.json_values import json_in
from synth.text.provenance.dates import as_date
from synth.text.provenance.effect import effectful_by_name
from synth.text.provenance.kinds import sql
from synth.text.provenance.kinds.patterns import words_of
from synth.text.provenance.kinds.telling import (
    Literal,
    is_name,
    of_json,
    telling,
    tells_as,
)

_PLAIN = re.compile(r"[\w.@#/+:~-]+")
_STRUCTURE = (
    ast.FunctionDef,
    ast.ClassDef,
    ast.Import,
    ast.ImportFrom,
    ast.Return,
    ast.For,
    ast.If,
)


@lru_cache(maxsize=1024)
def parsed(text: str) -> ast.Module | None:
    """A program, also one line of it that opens a block; None for other texts."""
    for tried in (text, dedent(text), f"{dedent(text)}\n    pass"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(tried)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue

    return None


def is_python(text: str) -> bool:
    """Whether a text is a program that does something: more than a name, a number or a call of
    something that stands apart ("Blue (L)").
    """
    tree = parsed(text) if len(text) > 3 else None
    if tree is None:
        return False

    if any(isinstance(node, _STRUCTURE) for node in ast.walk(tree)):
        return True

    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return any((ast.get_source_segment(text, one.func) or " ") + "(" in text for one in calls)


def literals(text: str) -> Iterator[Literal]:
    """Strings that tell, wherever they stand; numbers that are given to calls that change things.

    What is reckoned with, or given to Python's own functions or to ones that the program defines,
    is the agent's own.
    """
    tree = parsed(text)
    own = _own(tree) if tree is not None else set()
    acts: set[ast.AST] = set()

    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call) and _acts(node, own):
            acts.update(part for given in (*node.args, *node.keywords) for part in ast.walk(given))

    names = _names(tree) if tree is not None else {}
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, ast.Constant):
            continue

        value, name = node.value, names.get(node, "")
        if isinstance(value, str):
            yield from of_text(value, name, acted=node in acts)
        elif isinstance(value, int | float) and node in acts and tells_as(value, name):
            yield Literal(value, name)


def of_text(text: str, name: str, *, acted: bool) -> Iterator[Literal]:
    """A string as a value; of a statement in SQL, its literals; of an object or list in JSON, its
    values; of several words, those that tell.
    """
    if sql.is_sql(text):
        yield from sql.literals(text)
    elif (value := json_in(text)) is not None:
        yield from of_json(value, name)
    elif as_date(text) is not None or (acted and is_name(text)):
        yield Literal(text, name)
    else:
        words = text.split()
        told = (one.strip(".,;:!?()'\"") for one in words) if len(words) > 1 else words
        yield from (Literal(one, name) for word in told for one in _of_word(word))


def _of_word(word: str) -> Iterator[str]:
    """A word that tells; of a path, its parts; of a pattern, its words."""
    if not _PLAIN.fullmatch(word):
        yield from (str(one.value) for one in words_of(word) if telling(str(one.value)))
        return

    parts = word.split("/") if "/" in word else [word]
    stems = [one.rsplit(".", 1)[0] if len(parts) > 1 else one for one in parts]
    yield from (one for one, stem in zip(parts, stems, strict=True) if telling(stem))


def _names(tree: ast.Module) -> dict[ast.AST, str]:
    """Constant -> the keyword, key or variable that it is given to."""
    found: dict[ast.AST, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg:
            found[node.value] = node.arg
        elif isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            found |= {
                value: str(key.value) for key, value in pairs if isinstance(key, ast.Constant)
            }
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.value] = node.targets[0].id

    return found


def _own(tree: ast.Module) -> set[str]:
    """Functions and modules that a program defines or takes from Python."""
    own = {*dir(builtins)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, ast.Import):
            own.update((a.asname or a.name).split(".")[0] for a in node.names if _is_known(a.name))
        elif isinstance(node, ast.ImportFrom) and _is_known(node.module or ""):
            own.update(alias.asname or alias.name for alias in node.names)

    return own - {"exec", "eval"}


def _is_known(module: str) -> bool:
    return module.split(".")[0] in sys.stdlib_module_names


def _acts(call: ast.Call, own: set[str]) -> bool:
    """Whether a call may change something outside: by the verb of its name; classes do not."""
    root: ast.expr = call.func
    last = root.attr if isinstance(root, ast.Attribute) else getattr(root, "id", "")
    while isinstance(root, ast.Attribute):
        root = root.value

    known = isinstance(root, ast.Name) and root.id in own

    return bool(last) and not known and not last[0].isupper() and effectful_by_name(last)
