"""Tests with another expectation, which right code fails: whoever passes them too does not pass
tests, but gets round them.

No report from the process in which the code itself runs can be trusted: that code may patch pytest,
write the report, or return what equals everything. None of that tells a test from its twisted copy,
which has the same file, the same name and one other value.
"""

import ast
from collections.abc import Iterator, Mapping

from synth.envs.repo.source.text import Edit, SourceFile, outermost, readable, spliced

_EQUAL = frozenset(
    {
        "assertequal",
        "assertequals",
        "assertalmostequal",
        "assertlistequal",
        "assertdictequal",
        "asserttupleequal",
        "assertsetequal",
        "assertsequenceequal",
        "assertmultilineequal",
    }
)
"""Of unittest, and of helpers that are called alike (`assert_equal`): without `_`, in small
letters.
"""
_OPPOSITE = {
    "assertTrue": "assertFalse",
    "assertIs": "assertIsNot",
    "assertIsNone": "assertIsNotNone",
    "assertIn": "assertNotIn",
    "assertIsInstance": "assertNotIsInstance",
    "assertNotEqual": "assertEqual",
    "assertGreater": "assertLessEqual",
    "assertLess": "assertGreaterEqual",
}
_OPPOSITE |= {other: name for name, other in _OPPOSITE.items() if name != "assertNotEqual"}
_OTHER = (
    "(lambda v: not v if isinstance(v, bool) else type(v)(v + 1) if isinstance(v, (int, float)) "
    "else type(v)(v + '~') if isinstance(v, str) else type(v)(v + b'~') if isinstance(v, bytes) "
    "else type(v)([*v, 'other']) if isinstance(v, (list, tuple)) else "
    "type(v)({**v, 'other': 'other'}) if isinstance(v, dict) else (v, 'other'))"
)
"""What makes another value of one that is known only when the test runs."""
_NEVER = "type('Other', (Exception,), {})"
"""An exception that nothing raises."""


def twisted(source: str) -> tuple[str, tuple[str, ...]]:
    """A file of tests with another expectation in each test that states one in a known way, and
    the names of these (`Class::test` or `test`, without parameters).
    """
    read = readable(source)
    if read is None:
        return source, ()

    by_name = dict(tests_in(read.tree))
    made = {function: _edits(function, read) for function in set(by_name.values())}
    edits = [edit for each in made.values() for edit in each]

    return spliced(source, edits), tuple(name for name, one in by_name.items() if made[one])


def name_of(test: str) -> str:
    """`Class::test` of `tests/test_a.py::Class::test[1-2]`."""
    return test.partition("::")[2].partition("[")[0]


def tests_in(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """The functions of tests, with their names (`Class::test`); one that a class has of another
    class of the file stands there under the names of both.
    """
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    todo: list[tuple[str, ast.stmt]] = [("", node) for node in tree.body]
    for prefix, node in todo:
        match node:
            case ast.ClassDef():
                todo += [(f"{prefix}{node.name}::", one) for one in _members(node, classes)]
            case ast.FunctionDef() | ast.AsyncFunctionDef() if node.name.startswith("test"):
                yield f"{prefix}{node.name}", node


def _members(
    node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], below: frozenset[str] = frozenset()
) -> list[ast.stmt]:
    """What stands in a class, then the functions that it has of other classes of its file."""
    found, own = list(node.body), {None, *map(_named, node.body)}
    for base in node.bases:
        name = base.value if isinstance(base, ast.Subscript) else base
        other = classes.get(name.id) if isinstance(name, ast.Name) else None
        if other is None or other.name in below | {node.name}:
            continue
        for one in _members(other, classes, below | {node.name}):
            if _named(one) not in own:
                found.append(one)
                own.add(_named(one))

    return found


def _named(node: ast.stmt) -> str | None:
    """The name of a function."""
    return node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None


def _edits(function: ast.AST, source: SourceFile) -> list[Edit]:
    """The edits of one test: all its equalities with a value that is clearly expected, else all
    others, else whatever else it states.
    """
    clear, equal, other = list[Edit](), list[Edit](), list[Edit]()
    for node in ast.walk(function):
        pair = equality(node)
        if pair is not None:
            is_clear = _weight(pair[0]) > _weight(pair[1])
            edit = source.replaced(pair[1], _other_value(pair[1], source))
            (clear if is_clear else equal).append(edit)
        elif isinstance(node, ast.Assert):
            other += _negated(node.test, source)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            other += _of_call(node, node.func.attr, source)

    return outermost(clear or equal or other)


def equality(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """(what is found, what is expected) of `assert a == b` and its like: expected is what is
    written out, else what calls nothing, else the right side.
    """
    match node:
        case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])):
            pair = left, right
        case ast.Call(
            func=ast.Attribute(attr=name) | ast.Name(id=name), args=[left, right, *_]
        ) if name.replace("_", "").lower() in _EQUAL:
            pair = left, right
        case _:
            return None

    return pair[::-1] if _weight(pair[0]) < _weight(pair[1]) else pair


def _weight(node: ast.expr) -> int:
    """How much a side looks like what is found: 0 for what is written out, 1 for what calls
    nothing.
    """
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return 1 + any(isinstance(one, ast.Call) for one in ast.walk(node))

    return 0


def _other_value(node: ast.expr, source: SourceFile) -> str:
    """Another value of the same type."""
    written = source.said(node)
    match node:
        case ast.Constant(value=bool(value)):
            return str(not value)
        case ast.Constant(value=int() | float()):
            return f"({written} + 1)"
        case ast.Constant(value=str()) | ast.JoinedStr():
            return f"({written} + '~')"
        case ast.Constant(value=bytes()):
            return f"({written} + b'~')"
        case ast.List():
            return f"[*{written}, 'other']"
        case ast.Dict() | ast.DictComp():
            return f"{{**{written}, 'other': 'other'}}"
        case ast.Set():
            return f"{{*{written}, 'other'}}"
        case ast.Tuple():
            return f"(*{written}, 'other')"
        case _:
            return f"{_OTHER}({written})"


def _negated(test: ast.expr, source: SourceFile) -> list[Edit]:
    return [source.replaced(test, f"(not ({source.said(test)}))")]


def _of_call(node: ast.Call, name: str, source: SourceFile) -> list[Edit]:
    """The opposite of a method of unittest; another exception than the one that is expected."""
    if name in _OPPOSITE:
        return [source.renamed(node.func, name, _OPPOSITE[name])]
    if name in ("raises", "assertRaises", "assertRaisesRegex") and node.args:
        return [source.replaced(node.args[0], _NEVER)]
    return []
