"""The tables and columns that a statement changes, and those that it makes (sqlglot)."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from sqlglot import exp

from synth.text.provenance.kinds.sql import CHANGES, parsed

NAMED = "#name"
"""Stands for the name of an argument that is a table's or a column's name."""
_SCHEMA = re.compile(r"\bcreate\s+table\b|\b[a-z_]\w*\s?\((?:\s*[a-z_]\w*[^(),]*,)+[^(),]*\)")
_FEWEST = 3
"""Letters of a name that can be looked for: `t` and `id` stand in any text."""


def names(text: str) -> Iterator[str]:
    """The tables and columns of statements that change rows, without what the text itself makes.

    Who only reads may guess them: a wrong guess changes nothing, and is answered by an error.
    """
    own = made(text)

    for statement in parsed(text):
        if statement.find(*CHANGES) is not None:
            found = dict.fromkeys(_of(statement))
            yield from (one for one in found if one not in own and len(one) >= _FEWEST)


def listed(shown: Iterable[str]) -> bool:
    """Whether folded texts list tables with their columns; without that nobody can know which of
    them an agent could have known.
    """
    return any(map(_SCHEMA.search, shown))


def made(text: str) -> set[str]:
    """Names that a text gives: tables, views and columns that it creates, and aliases."""
    found: set[str] = set()
    for statement in parsed(text):
        if isinstance(statement, exp.Create):
            found.update(_of(statement))

        found.update(one.alias for one in statement.find_all(exp.Alias, exp.CTE, exp.Table))
        added = chain.from_iterable(one.find_all(exp.ColumnDef) for one in [statement])
        found.update(one.name for one in added)

    return found - {""}


def _of(statement: exp.Expression) -> Iterator[str]:
    """The names of its tables and columns; a text in double quotes is no name but a value."""
    for one in statement.find_all(exp.Table):
        yield str(one.name)

    for column in statement.find_all(exp.Column):
        if not column.this.args.get("quoted"):
            yield str(column.name)

    for schema in statement.find_all(exp.Schema):
        yield from (str(one.name) for one in schema.expressions)
