"""The literals of SQL statements (sqlglot)."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import sqlglot
from sqlglot import exp

from synth.text.provenance.kinds.telling import Literal, is_name, number, telling, telling_number

_SETTINGS = (exp.Limit, exp.Offset, exp.Fetch, exp.DataType, exp.DataTypeParam, exp.Func)
"""Numbers in these are how something is shown or reckoned, and name nothing."""
_BOUNDS = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.NEQ)
"""Where nothing is changed, an agent may say where "large" begins, in a round number."""
_PATTERNS = (exp.Like, exp.ILike, exp.RegexpLike, exp.Glob)
CHANGES = (exp.Insert, exp.Update, exp.Delete, exp.Merge)
_DEFINES = (exp.Create, exp.Drop, exp.Alter, exp.TruncateTable)
_STATEMENT = re.compile(
    r"(?:\s|--[^\n]*\n|(?:begin|start\s+transaction)(?:\s+\w+)*\s*;)*"
    r"(?:select\b.+|with\b.+\bas\b|insert\s+into\b|update\b.+\bset\b|delete\s+from\b"
    r"|merge\s+into\b|replace\s+into\b"
    r"|(?:create|drop|alter|truncate)\s+(?:\w+\s+){0,3}(?:table|view|index)\b)",
    re.IGNORECASE | re.DOTALL,
)
_IDENTITY = re.compile(r"(?:.*_)?(?:id|no|number|code)", re.IGNORECASE)
_FORMAT = re.compile(r"%[a-zA-Z]")
_MOST_WORDS = 12


def is_sql(text: str) -> bool:
    """Whether a text begins as a statement, and is one to a parser."""
    return _STATEMENT.match(text) is not None and bool(parsed(text))


def changes_rows(text: str) -> bool:
    """Whether a text is a statement that changes a database."""
    return is_sql(text) and any(
        statement.find(*CHANGES, *_DEFINES) is not None for statement in parsed(text)
    )


@lru_cache(maxsize=1024)
def parsed(text: str) -> Sequence[exp.Expression]:
    """The statements of a text, none where it cannot be parsed."""
    try:
        found = sqlglot.parse(text)
    except (sqlglot.errors.SqlglotError, RecursionError):
        return ()

    commands = any(isinstance(one, exp.Command) for one in found)

    return () if commands else tuple(one for one in found if isinstance(one, exp.Expression))


def literals(text: str) -> Iterator[Literal]:
    """The literals that tell something, each with the column that it is compared or set to."""
    for statement in parsed(text):
        writes = statement.find(*CHANGES) is not None
        for found in statement.find_all(exp.Literal):
            yield from _told(found, writes=writes)

        for column in statement.find_all(exp.Column):
            text = str(column.name)  # in double quotes, which some databases take for a string's
            if column.this.args.get("quoted") and _is_value(text, writes=writes):
                yield Literal(text)


def _told(found: exp.Literal, *, writes: bool) -> Iterator[Literal]:
    """A literal as a value, or the words of a pattern that tell."""
    column, raw = _column(found), str(found.this)

    if not found.is_string:
        value = number(raw)
        bound = not writes and isinstance(found.parent, _BOUNDS)
        setting = isinstance(found.parent, _SETTINGS)
        told = value is not None and telling_number(value, digits=3 if bound else 2)
        if value is not None and not setting and (told or (writes and _names(found, column))):
            yield Literal(value, column)
    elif isinstance(found.parent, _PATTERNS):
        words = re.findall(r"[^\s%]+", raw)
        yield from (Literal(word, column) for word in words if telling(word.strip("_")))
    elif _is_value(raw, writes=writes) and not _FORMAT.search(raw):
        yield Literal(raw, column)


def _names(found: exp.Literal, column: str) -> bool:
    """Whether a small number names a row: the key of one is given anew where it is inserted."""
    own = column.lower() == "id" and found.find_ancestor(exp.Insert) is not None
    return not own and _IDENTITY.fullmatch(column) is not None and str(found.this).isdigit()


def _is_value(text: str, *, writes: bool) -> bool:
    """Whether a string is data: with a shape that tells, or, where rows are changed, a name."""
    figure = number(text)
    if figure is not None:
        return telling_number(figure)

    if telling(text) or is_name(text):
        return True

    words = text.split()
    shaped = text[:1].isupper() and not text.isupper() and len(text) > 2
    addressed = any(map(telling, words)) or (any(map(str.isdigit, text)) and len(words) > 2)

    return writes and 0 < len(words) <= _MOST_WORDS and (shaped or addressed)


def _column(found: exp.Literal) -> str:
    """The column that a literal is compared with, set to, or inserted into; empty if none is."""
    place: exp.Expression = found
    above = found.parent
    while isinstance(above, exp.Paren | exp.Neg | exp.Cast):
        place, above = above, above.parent

    if isinstance(above, exp.Tuple) and isinstance(above.parent, exp.Values):
        insert = above.find_ancestor(exp.Insert)
        schema = insert.this if insert is not None else None
        names = schema.expressions if isinstance(schema, exp.Schema) else []
        at = next(at for at, one in enumerate(above.expressions) if one is place)
        return str(names[at].name) if at < len(names) else ""

    column = above.find(exp.Column) if isinstance(above, exp.Predicate) else None

    return str(column.name) if column is not None else ""
