"""Queries and changes that are nearly right: one slip each, as people and models make them."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta

import sqlglot
from sqlglot import exp

from synth.envs.sql.base.schema import Database, is_day

Slip = Callable[[exp.Expr, Database], exp.Expr | None]
"""A node that stands in the place of another; None where there is nothing to slip on."""

_SWAPPED: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.Sum: exp.Avg,
    exp.Avg: exp.Sum,
    exp.Max: exp.Min,
    exp.Min: exp.Max,
}
_NEXT: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.GTE,
    exp.GTE: exp.GT,
    exp.LT: exp.LTE,
    exp.LTE: exp.LT,
    exp.NEQ: exp.EQ,
}


def _join(node: exp.Expr, _: Database) -> exp.Expr | None:
    """An inner join in place of an outer one, and the other way round."""
    if not isinstance(node, exp.Join):
        return None
    other = node.copy()
    other.set("side", None if node.side else "LEFT")
    return other


def _distinct(node: exp.Expr, _: Database) -> exp.Expr | None:
    """DISTINCT forgotten, or where each row was asked for."""
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Distinct):
        return exp.Count(this=node.this.expressions[0].copy())
    if not isinstance(node, exp.Select) or node.parent is not None or node.args.get("group"):
        return None
    other = node.copy()
    other.set("distinct", None if node.args.get("distinct") else exp.Distinct())
    return other


def _date(node: exp.Expr, _: Database) -> exp.Expr | None:
    """A day too early."""
    if isinstance(node, exp.Literal) and node.is_string and is_day(node.this):
        return exp.Literal.string(str(date.fromisoformat(node.this) - timedelta(days=1)))
    return None


def _comparison(node: exp.Expr, _: Database) -> exp.Expr | None:
    """A bound taken in that is out, or the other way round."""
    other = _NEXT.get(type(node))
    if isinstance(node, exp.Between):
        low, high = node.args["low"].copy(), node.args["high"].copy()
        return exp.and_(
            exp.GTE(this=node.this.copy(), expression=low),
            exp.LT(this=node.this.copy(), expression=high),
        )
    return other(this=node.this.copy(), expression=node.expression.copy()) if other else None


def _null(node: exp.Expr, _: Database) -> exp.Expr | None:
    """Rows without a value taken for others: left in, or counted as nothing."""
    if isinstance(node, exp.Avg):
        return exp.Avg(
            this=exp.Coalesce(this=node.this.copy(), expressions=[exp.Literal.number(0)])
        )
    if isinstance(node, exp.Not) and isinstance(node.this, exp.Is):
        return exp.true()
    if isinstance(node, exp.Is) and not isinstance(node.parent, exp.Not):
        return exp.Not(this=node.copy())
    return None


def _aggregate(node: exp.Expr, _: Database) -> exp.Expr | None:
    """Another aggregate."""
    other = _SWAPPED.get(type(node))
    if other is None and isinstance(node, exp.Count) and not isinstance(node.this, exp.Star):
        return exp.Count(this=exp.Star())
    return other(this=node.this.copy()) if other else None


def _condition(node: exp.Expr, _: Database) -> exp.Expr | None:
    """A condition forgotten."""
    if isinstance(node, exp.And):
        return node.left.copy()
    if isinstance(node, exp.Where) and not isinstance(node.this, exp.And):
        return exp.Where(this=exp.true())
    return None


def _limit(node: exp.Expr, _: Database) -> exp.Expr | None:
    """One more than asked for: rows, or how many a group must have."""
    if isinstance(node, exp.Literal) and not node.is_string:
        inside = node.find_ancestor(exp.Limit, exp.Having)
        return exp.Literal.number(int(node.this) + 1) if inside is not None else None
    return None


def _order(node: exp.Expr, _: Database) -> exp.Expr | None:
    """The order the other way round."""
    if not isinstance(node, exp.Ordered):
        return None
    return exp.Ordered(this=node.this.copy(), desc=not node.args.get("desc"))


def _existence(node: exp.Expr, _: Database) -> exp.Expr | None:
    """Those that have some for those that have none, and the other way round."""
    if isinstance(node, exp.Not) and isinstance(node.this, exp.Exists):
        return node.this.copy()
    if isinstance(node, exp.Exists) and not isinstance(node.parent, exp.Not):
        return exp.Not(this=node.copy())
    return None


def _column(node: exp.Expr, database: Database) -> exp.Expr | None:
    """Another column of the same kind, such as the date of the booking for that of the visit."""
    if not isinstance(node, exp.Column):
        return None
    table = _table_of(node)
    if all(one.name != table for one in database.tables) or node.name == "id":
        return None
    columns = database.table(table).columns
    mine = next((one for one in columns if one.name == node.name), None)
    others = [one for one in columns if mine and one.kind == mine.kind and one.name != node.name]
    if not others or (mine and mine.kind == "ref"):
        return None
    return exp.column(others[0].name, table=node.table or None, quoted=True)


def _value(node: exp.Expr, database: Database) -> exp.Expr | None:
    """Another value: the next word of the column, the next number."""
    if not isinstance(node, exp.Literal) or node.find_ancestor(exp.Limit, exp.Having):
        return None
    if not node.is_string:
        return exp.Literal.number(str(float(node.this) + 1).removesuffix(".0"))
    for table in database.tables:
        for column in table.columns:
            if column.kind in ("one_of", "text") and node.this in column.of:
                place = (column.of.index(node.this) + 1) % len(column.of)
                return exp.Literal.string(column.of[place])
    return None if is_day(node.this) else exp.Literal.string(f"{node.this} B")


def _either(node: exp.Expr, _: Database) -> exp.Expr | None:
    """One of two conditions enough."""
    if not isinstance(node, exp.And):
        return None
    return exp.or_(node.left.copy(), node.right.copy())


def _width(node: exp.Expr, _: Database) -> exp.Expr | None:
    """A column less than asked for, or one more."""
    if not isinstance(node, exp.Select) or node.parent is not None:
        return None
    other, columns = node.copy(), [one.copy() for one in node.expressions]
    more = [*columns, exp.Literal.number(1)]
    other.set("expressions", columns[:-1] if len(columns) > 1 else more)
    return other


def _late(node: exp.Expr, _: Database) -> exp.Expr | None:
    """A day too late."""
    if isinstance(node, exp.Literal) and node.is_string and is_day(node.this):
        return exp.Literal.string(str(date.fromisoformat(node.this) + timedelta(days=1)))
    return None


def _negated(node: exp.Expr, _: Database) -> exp.Expr | None:
    """All others than those that are meant."""
    if isinstance(node, exp.EQ) and isinstance(node.expression, exp.Literal):
        return exp.NEQ(this=node.this.copy(), expression=node.expression.copy())
    if isinstance(node, exp.In) and not isinstance(node.parent, exp.Not):
        return exp.Not(this=node.copy())
    return None


def _selected(node: exp.Expr, database: Database) -> exp.Expr | None:
    """Another column of the table shown, or changed, than was asked for."""
    if not isinstance(node, exp.Column) or node.name == "id":
        return None
    inside = isinstance(node.parent, exp.Select) or (
        isinstance(node.parent, exp.EQ) and isinstance(node.parent.parent, exp.Update)
    )
    table = _table_of(node)
    if not inside or all(one.name != table for one in database.tables):
        return None
    others = [one for one in database.table(table).columns if one.name != node.name]
    return exp.column(others[-1].name, table=node.table or None, quoted=True) if others else None


def _table_of(node: exp.Column) -> str:
    """The table that a column is one of, by the alias before it."""
    named = {one.alias_or_name: one.name for one in node.root().find_all(exp.Table)}
    return named.get(node.table, node.table or next(iter(named.values()), ""))


SLIPS: Mapping[str, Slip] = {
    "join": _join,
    "distinct": _distinct,
    "date": _date,
    "comparison": _comparison,
    "null": _null,
    "aggregate": _aggregate,
    "condition": _condition,
    "limit": _limit,
    "order": _order,
    "existence": _existence,
    "column": _column,
    "value": _value,
    "either": _either,
    "width": _width,
    "late": _late,
    "negated": _negated,
    "selected": _selected,
}


def mutants(
    database: Database, sql: str, *only: str, dialect: str = "sqlite"
) -> Iterator[tuple[str, str]]:
    """(kind of slip, statement) for each place at which each slip can happen; none twice."""
    tree = sqlglot.parse_one(sql, dialect=dialect)
    seen = {tree.sql(dialect=dialect)}
    nodes = list(tree.walk())
    for kind in only or SLIPS:
        for place, node in enumerate(nodes):
            other = SLIPS[kind](node, database)
            if other is None:
                continue
            copy = tree.copy()
            slipped = next(one for at, one in enumerate(copy.walk()) if at == place)
            made = other if slipped is copy else slipped.replace(other).root()
            text = made.sql(dialect=dialect)
            if text not in seen:
                seen.add(text)
                yield kind, text
