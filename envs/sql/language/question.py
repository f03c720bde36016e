"""What can be asked of a database and changed in it, and the SQL that does so."""

from collections.abc import Mapping, Sequence

import msgspec

from synth.envs.sql.base.engines import quoted
from synth.envs.sql.base.schema import Database, TableSpec
from synth.schemas.check import Scalar

Path = tuple[str, ...]
"""A column, through the columns that refer to its table: `("patient_id", "city")`."""


class Condition(msgspec.Struct, frozen=True):
    """Which rows are meant; `form` is one of data/grammar.yaml."""

    form: str
    of: Path
    values: tuple[Scalar, ...] = ()


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question; `form` is one of data/grammar.yaml, which says what the rest is for. `which` are
    conditions on the rows of `child` where there is one.
    """

    form: str
    many: str
    of: Path = ()
    also: Path = ()
    group: Path = ()
    child: str = ""
    n: int = 0
    which: tuple[Condition, ...] = ()

    @property
    def ordered(self) -> bool:
        """Whether the order of the rows is asked for."""
        return self.form == "top"


class RowChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change; `values` are columns with what they are to hold."""

    form: str
    many: str
    of: Path = ()
    value: Scalar = None
    values: tuple[tuple[str, Scalar], ...] = ()
    which: tuple[Condition, ...] = ()


_SELECTED: Mapping[str, str] = {
    "list": "{of}",
    "pairs": "{of}, {also}",
    "distinct": "DISTINCT {of}",
    "count": "COUNT(*)",
    "count_distinct": "COUNT(DISTINCT {of})",
    "total": "SUM({of})",
    "average": "AVG({of})",
    "highest": "MAX({of})",
    "lowest": "MIN({of})",
    "per_group": "{group}, COUNT(*)",
    "total_per_group": "{group}, SUM({of})",
    "frequent_groups": "{group}, COUNT(*)",
    "top": "{id}, {of}",
    "without": "{id}, {of}",
    "with": "{id}, {of}",
}
_THERE = {
    "distinct": "of",
    "top": "of",
    "per_group": "group",
    "total_per_group": "group",
    "frequent_groups": "group",
}
"""What must not be empty, by form."""
_AFTER: Mapping[str, str] = {
    "per_group": " GROUP BY {group}",
    "total_per_group": " GROUP BY {group}",
    "frequent_groups": " GROUP BY {group} HAVING COUNT(*) >= {n}",
    "top": " ORDER BY {of} DESC, {id} LIMIT {n}",
}
_CONDITIONS: Mapping[str, str] = {
    "equal": "{of} = {0}",
    "other": "{of} <> {0}",
    "among": "{of} IN ({all})",
    "more": "{of} > {0}",
    "less": "{of} < {0}",
    "between": "{of} BETWEEN {0} AND {1}",
    "empty": "{of} IS NULL",
    "there": "{of} IS NOT NULL",
}


class _From:
    """A table under an alias, with the joins that its paths need."""

    def __init__(self, database: Database, table: TableSpec, alias: str) -> None:
        self._database, self.table, self._alias = database, table, alias
        self._joined: dict[Path, str] = {}
        self.joins = ""

    def column(self, path: Path) -> str:
        """A path as SQL."""
        table, alias = self.table, self._alias
        for depth, name in enumerate(path[:-1], 1):
            target = self._database.target(table, name)
            if target is None:
                raise ValueError(f"{name} of {table.name} refers to no table")
            if path[:depth] not in self._joined:
                other = f"{self._alias}{len(self._joined) + 1}"
                kind = "LEFT JOIN" if table.column(name).nulls or "LEFT" in self.joins else "JOIN"
                self.joins += (
                    f" {kind} {quoted(target.name)} AS {other} "
                    f"ON {other}.{quoted(target.key)} = {alias}.{quoted(name)}"
                )
                self._joined[path[:depth]] = other
            table, alias = target, self._joined[path[:depth]]
        return f"{alias}.{quoted(path[-1])}"

    def condition(self, one: Condition) -> str:
        """A condition as SQL."""
        values = [literal(value) for value in one.values]
        return _CONDITIONS[one.form].format(*values, of=self.column(one.of), all=", ".join(values))


def literal(value: Scalar) -> str:
    """A value as SQL writes it."""
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def query_of(database: Database, question: Question) -> str:
    """The query that answers a question."""
    table = database.table(question.many)
    main = _From(database, table, "t")
    slots = {
        slot: main.column(path)
        for slot in ("of", "also", "group")
        if (path := getattr(question, slot))
    }
    slots |= {"id": main.column((table.key,)), "n": str(question.n)}
    if question.child:
        child = database.table(question.child)
        inner = _From(database, child, "c")
        via = next(name for one, name in database.children(table) if one.name == child.name)
        tests = [f"c.{quoted(via)} = {slots['id']}", *map(inner.condition, question.which)]
        negated = "NOT " if question.form == "without" else ""
        inside = f"SELECT 1 FROM {quoted(child.name)} AS c{inner.joins} WHERE {' AND '.join(tests)}"
        where = [f"{negated}EXISTS ({inside})"]
    else:
        where = [main.condition(one) for one in question.which]
    if question.form in _THERE:
        where.append(f"{slots[_THERE[question.form]]} IS NOT NULL")
    selected = _SELECTED[question.form].format(**slots)
    after = _AFTER.get(question.form, "").format(**slots)
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    return f"SELECT {selected} FROM {quoted(table.name)} AS t{main.joins}{condition}{after}"


def rows_meant(database: Database, many: str, which: Sequence[Condition]) -> str:
    """The query for the keys of the rows that conditions mean."""
    table = database.table(many)
    main = _From(database, table, "t")
    tests = [main.condition(one) for one in which]
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    return f"SELECT t.{quoted(table.key)} FROM {quoted(table.name)} AS t{main.joins}{where}"


def statement_of(database: Database, change: RowChange) -> str:
    """The statement that makes a change."""
    table = database.table(change.many)
    name = quoted(table.name)
    if change.form == "add":
        columns = ", ".join(quoted(column) for column, _ in change.values)
        values = ", ".join(literal(value) for _, value in change.values)
        return f"INSERT INTO {name} ({columns}) VALUES ({values})"
    flat = all(len(one.of) == 1 for one in change.which)
    tests = [
        _CONDITIONS[one.form].format(
            *map(literal, one.values),
            of=quoted(one.of[0]),
            all=", ".join(map(literal, one.values)),
        )
        for one in change.which
    ]
    meant = rows_meant(database, change.many, change.which)
    where = " AND ".join(tests) if flat else f"{quoted(table.key)} IN ({meant})"
    begun = (
        f"DELETE FROM {name}"
        if change.form == "remove"
        else f"UPDATE {name} SET {quoted(change.of[0])} = {literal(change.value)}"
    )
    return f"{begun} WHERE {where}" if where else begun
