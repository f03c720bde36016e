"""Calls as Llama 3.2 and 4 write them: `[find(id=1), pay(sum=2.5, to="Ann")]`; one alone as Gemma
and the older Llamas have it, `find.call(id=1)` in between.
"""

import ast
import re
from typing import Any

from synth.schemas import ToolCall, ToolSchemas
from synth.text.calls.found import FoundCalls, as_json, tool_named

PYTHONIC = "tool_call_pythonic"
_BY_PLACE = "arguments are not a JSON object: they are given by place, without their names"
_NO_LITERAL = "arguments are not a JSON object: one is neither a literal nor a list or dict of them"
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_STRING = re.compile(r"('''|\"\"\"|'|\")(?:\\.|(?!\1)[\s\S])*\1")
_MARKS = re.compile(r"[\[\](){}'\"]")
_BEGUN = re.compile(r"\[?\s*(?P<name>[A-Za-z_][\w.]*)\(")
_PRINT = re.compile(r"\Aprint\(\s*")
MOST = 20_000
"""Characters of a list of calls; Python's parser is no place for more."""


def bracket_end(text: str, begin: int, last: int | None = None) -> int | None:
    """Where the bracket that opens there closes, brackets in strings aside; None where it does
    not, up to `last`, or does not open a list of calls.
    """
    if _BEGUN.match(text, begin) is None and text.startswith("[", begin):
        return None
    depth, position = 0, begin
    last = min(begin + MOST, len(text) if last is None else last)
    while (mark := _MARKS.search(text, position, last)) is not None:
        position = mark.end()
        if mark[0] in "'\"":
            string = _STRING.match(text, mark.start())
            if string is None:
                return None
            position = string.end()
        else:
            depth += 1 if mark[0] in "[({" else -1
            if depth == 0:
                return position
    return None


def read_python_calls(
    written: str, end: int, tools: ToolSchemas, *, marked: bool = False
) -> FoundCalls | None:
    """The calls that an expression of Python makes, which ends at `end`: a list of them, one, or
    one in each line. None where it is none, or (unless they are `marked`) names no tool.
    """
    if len(written) > MOST or _BEGUN.match(written.lstrip()) is None:
        return None
    try:
        body = ast.parse(written.strip()).body
        made = [call for one in body for call in _calls(one)]
        named = [_named(call, tools, marked) for call in made]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    calls = tuple(call for call in named if call is not None)
    if not calls or len(calls) < len(named):
        return None
    return FoundCalls(calls, "", (PYTHONIC,), end)


def cut_call(text: str, tools: ToolSchemas) -> bool:
    """Whether calls of a tool begin a text whose last bracket is not closed."""
    text = _PRINT.sub("", text)
    begun = _BEGUN.match(text)
    if begun is None or tool_named(tools, begun["name"]) is None:
        return False
    return bracket_end(text, 0 if text.startswith("[") else begun.end() - 1) is None


def _calls(statement: ast.stmt) -> list[ast.Call]:
    """Raises `ValueError` for anything but calls."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    made = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
    if not all(isinstance(one, ast.Call) for one in made):
        raise ValueError("no call")
    return [_printed(one) for one in made if isinstance(one, ast.Call)]


def _printed(call: ast.Call) -> ast.Call:
    """The call whose result is printed, as Gemma and Gemini have it: `print(find(id=1))`."""
    printed = ast.unparse(call.func) == "print" and len(call.args) == 1 and not call.keywords
    inner = call.args[0] if printed else None
    return inner if isinstance(inner, ast.Call) else call


def _named(call: ast.Call, tools: ToolSchemas, marked: bool) -> ToolCall | None:
    """The call, None where it names no tool. Arguments that cannot be read are the agent's error,
    as it wrote them.
    """
    written = ast.unparse(call.func).removesuffix(".call")
    if not re.fullmatch(r"[\w.]+", written):
        raise ValueError("no name")
    name = tool_named(tools, written)
    if name is None and not marked:
        return None

    if len(call.args) == 1 and isinstance(call.args[0], ast.Dict) and not call.keywords:
        return _with_object(call.args[0], name or written)

    why = _BY_PLACE if call.args else None
    try:
        given = {str(one.arg): _value(one.value) for one in call.keywords}
    except ValueError:
        why, given = why or _NO_LITERAL, {}
    if why is None and None not in (one.arg for one in call.keywords):
        return ToolCall.received("", name or written, as_json(given))
    as_written = ast.unparse(call)[len(ast.unparse(call.func)) :]
    return ToolCall("", name or written, as_written, why or _NO_LITERAL)


def _with_object(node: ast.Dict, name: str) -> ToolCall:
    """A call whose arguments are one dict of them."""
    try:
        return ToolCall.received("", name, as_json(_value(node)))
    except ValueError:
        return ToolCall("", name, ast.unparse(node), _NO_LITERAL)


def _value(node: ast.expr) -> Any:
    """A literal, with JSON's words too. Raises `ValueError` for anything else."""
    if isinstance(node, ast.Name) and node.id.lower() in _WORDS:
        return _WORDS[node.id.lower()]
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(one) for one in node.elts]
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {_key(key): _value(value) for key, value in pairs}
    value = ast.literal_eval(node)
    if not isinstance(value, str | int | float | bool | None):
        raise ValueError("no JSON")
    return value


def _key(node: ast.expr | None) -> str:
    """A key of an object. Raises `ValueError` for what is no text."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        raise ValueError("no key")
    return node.value
