"""Queries and changes that are nearly right: one slip each, as people and models make them."""

from collections.abc import Iterator, Mapping
from typing import Any

import sqlglot
from sqlglot import exp

from synth.envs.sql.database.schema import Database
from synth.envs.sql.slips.other_values import Slips, of_columns, of_literals

KINDS: Mapping[str, str] = {
    "join": "an inner join in place of an outer one, and the other way round",
    "distinct": "DISTINCT forgotten, or where each row was asked for",
    "date": "a day too early",
    "comparison": "a bound taken in that is out, or the other way round",
    "null": "rows without a value taken for others: left in, or counted as nothing",
    "aggregate": "another aggregate",
    "condition": "a condition forgotten",
    "limit": "one more than asked for: rows, or how many a group must have",
    "order": "the order the other way round",
    "existence": "those that have some for those that have none, and the other way round",
    "column": "another column of the same kind, as the date of the booking for the visit's",
    "value": "another value: the next word of the column, the next number",
    "either": "one of two conditions enough",
    "width": "a column less than asked for, or one more",
    "late": "a day too late",
    "negated": "all others than those that are meant",
    "selected": "another column of the table shown, or changed, than was asked for",
}
"""What each kind of slip does, in the order in which they are made."""
_SWAPPED: Mapping[type[exp.Expr], tuple[str, type[exp.Expr]]] = {
    exp.GT: ("comparison", exp.GTE),
    exp.GTE: ("comparison", exp.GT),
    exp.LT: ("comparison", exp.LTE),
    exp.LTE: ("comparison", exp.LT),
    exp.NEQ: ("comparison", exp.EQ),
    exp.Sum: ("aggregate", exp.Avg),
    exp.Avg: ("aggregate", exp.Sum),
    exp.Max: ("aggregate", exp.Min),
    exp.Min: ("aggregate", exp.Max),
}
"""Nodes for which another one of the same parts is taken."""
_NEGATED: Mapping[type[exp.Expr], str] = {
    exp.Is: "null",
    exp.Exists: "existence",
    exp.In: "negated",
}
"""Nodes before which a NOT slips in, unless one stands there."""


def mutants(database: Database, sql: str, *only: str) -> Iterator[tuple[str, str]]:
    """(kind of slip, statement) for each place at which each slip can happen; none twice."""
    tree = sqlglot.parse_one(sql, dialect="sqlite")
    seen = {tree.sql(dialect="sqlite")}
    order = list(only or KINDS)
    slips = [
        (order.index(kind), place, other)
        for place, node in enumerate(tree.walk())
        for kind, other in _slips(node, database)
        if kind in order
    ]

    for kind, place, other in sorted(slips, key=lambda slip: slip[:2]):
        copy = tree.copy()
        slipped = next(node for at, node in enumerate(copy.walk()) if at == place)
        made = other if slipped is copy else slipped.replace(other).root()
        text = made.sql(dialect="sqlite")

        if text not in seen:
            seen.add(text)
            yield order[kind], text


def _slips(node: exp.Expr, database: Database) -> Slips:
    """The slips that can happen at a node."""
    kind = type(node)
    if kind in _SWAPPED:
        slip, other = _SWAPPED[kind]
        yield slip, _as(other, node)

    if kind in _NEGATED and not isinstance(node.parent, exp.Not):
        yield _NEGATED[kind], exp.Not(this=node.copy())

    match node:
        case exp.Literal():
            yield from of_literals(node, database)
        case exp.Column():
            yield from of_columns(node, database)
        case exp.Select(parent=None):
            yield from _of_results(node)
        case exp.Join():
            yield "join", _with(node, side=None if node.side else "LEFT")
        case exp.Ordered():
            yield "order", _with(node, desc=not node.args.get("desc"), nulls_first=None)
        case exp.Avg() | exp.Count():
            yield from _of_aggregates(node)
        case _:
            yield from _of_conditions(node)


def _as(kind: type[exp.Expr], node: exp.Expr) -> exp.Expr:
    """A node of another kind with the same parts, copied: no part can stand in two trees."""
    return kind(**node.copy().args)


def _with(node: exp.Expr, **parts: Any) -> exp.Expr:
    """A copy with other parts."""
    copy = node.copy()
    for name, part in parts.items():
        copy.set(name, part)

    return copy


def _of_conditions(node: exp.Expr) -> Slips:
    """Slips of what tells the rows that are meant."""
    match node:
        case exp.And():
            yield "condition", node.left.copy()
            yield "either", exp.or_(node.left, node.right)
        case exp.Where() if not isinstance(node.this, exp.And):
            yield "condition", exp.Where(this=exp.true())
        case exp.Between():
            value, low, high = (node.args[name] for name in ("this", "low", "high"))
            at_least = exp.GTE(this=value.copy(), expression=low.copy())
            below = exp.LT(this=value.copy(), expression=high.copy())
            yield "comparison", exp.and_(at_least, below)
        case exp.EQ(expression=exp.Literal()):
            yield "negated", _as(exp.NEQ, node)
        case exp.Not(this=exp.Is()):
            yield "null", exp.true()
        case exp.Not(this=exp.Exists()):
            yield "existence", node.this.copy()


def _of_aggregates(node: exp.Avg | exp.Count) -> Slips:
    """Rows without a value counted as nothing, values counted twice, or all rows counted."""
    inside = node.this
    if isinstance(node, exp.Avg):
        filled = exp.Coalesce(this=inside.copy(), expressions=[exp.Literal.number(0)])
        yield "null", exp.Avg(this=filled)
        return

    if isinstance(inside, exp.Distinct):
        yield "distinct", exp.Count(this=inside.expressions[0].copy())

    if not isinstance(inside, exp.Star):
        yield "aggregate", exp.Count(this=exp.Star())


def _of_results(node: exp.Select) -> Slips:
    """Slips of what is selected."""
    if not node.args.get("group"):
        distinct = None if node.args.get("distinct") else exp.Distinct()
        yield "distinct", _with(node, distinct=distinct)

    columns = [one.copy() for one in node.expressions]
    more = [*columns, exp.Literal.number(1)]
    yield "width", _with(node, expressions=columns[:-1] if len(columns) > 1 else more)
