"""Slips that need to know the database: another value, another column."""

from collections.abc import Iterator

from sqlglot import exp

from synth.envs.sql.database.edges import beside
from synth.envs.sql.database.schema import ColumnSpec, Database, is_day

Slips = Iterator[tuple[str, exp.Expr]]
"""(kind of slip, the node that stands in the place of the right one)."""


def of_literals(node: exp.Literal, database: Database) -> Slips:
    """Slips of values: days, words, and numbers of rows."""
    counts_rows = node.find_ancestor(exp.Limit, exp.Having) is not None
    if not node.is_string:
        if counts_rows:
            yield "limit", exp.Literal.number(int(node.this) + 1)
        else:
            yield "value", exp.Literal.number(str(float(node.this) + 1).removesuffix(".0"))

        return

    if is_day(node.this):
        for day in beside(node.this):
            if day != node.this:
                yield ("date" if day < node.this else "late"), exp.Literal.string(day)

    value = _next_word(node.this, database)
    if value is not None and not counts_rows:
        yield "value", exp.Literal.string(value)


def _next_word(word: str, database: Database) -> str | None:
    """The word after another in its column's choice, another text else; None for a day."""
    for table in database.tables:
        for column in table.columns:
            if column.kind in ("one_of", "text") and word in column.of:
                place = (column.of.index(word) + 1) % len(column.of)
                return column.of[place]

    return None if is_day(word) else f"{word} B"


def of_columns(node: exp.Column, database: Database) -> Slips:
    """Slips of columns: one alike, or any other where it is shown or changed."""
    named = {one.alias_or_name: one.name for one in node.root().find_all(exp.Table)}
    name = named.get(node.table, node.table or next(iter(named.values()), ""))
    table = next((one for one in database.tables if one.name == name), None)
    if table is None or node.name == "id":
        return

    others = [one for one in table.columns if one.name != node.name]
    mine = next((one for one in table.columns if one.name == node.name), None)
    alike = [one for one in others if mine is not None and one.kind == mine.kind != "ref"]
    if alike:
        yield "column", _column(node, alike[0])

    parent = node.parent
    is_assigned = isinstance(parent, exp.EQ) and isinstance(parent.parent, exp.Update)
    if others and (isinstance(parent, exp.Select) or is_assigned):
        yield "selected", _column(node, others[-1])


def _column(node: exp.Column, other: ColumnSpec) -> exp.Expr:
    """Another column of the same table."""
    return exp.column(other.name, table=node.table or None, quoted=True)
