"""What can be asked of a database and changed in it, and the SQL that does so."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec

from synth.envs.sql.database.schema import Database, TableSpec, quoted
from synth.schemas import Scalar
from synth.text.data_files import read


class RequestForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A form of the file, which says what its fields mean."""

    says: str
    select: str = ""
    after: str = ""
    there: str = ""
    draws: dict[str, str] = {}
    filled: bool = False
    plain: bool = False
    sql: str = ""


class Grammar(msgspec.Struct, frozen=True, dict=True, forbid_unknown_fields=True):
    """All of the file."""

    kinds: dict[str, tuple[str, ...]]
    questions: dict[str, RequestForm]
    changes: dict[str, RequestForm]
    conditions: dict[str, RequestForm]
    figures: str

    @cached_property
    def requests(self) -> Mapping[str, RequestForm]:
        """The forms of questions, then those of changes."""
        return {**self.questions, **self.changes}


def grammar() -> Grammar:
    """The forms, read once."""
    found: Grammar = read("envs/sql/data/grammar.yaml", Grammar)
    return found


Path = tuple[str, ...]
"""A column, through the columns that refer to its table: `("patient_id", "city")`."""


class Condition(msgspec.Struct, frozen=True):
    """Which rows are meant; `form` is one of data/grammar.yaml."""

    form: str
    of: Path
    values: tuple[Scalar, ...] = ()


class SqlRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A question or a change; `form` is one of data/grammar.yaml, which says what the rest is for.

    `values` are columns with what they are to hold after a change. `which` are conditions on the
    rows of `child` where there is one.
    """

    form: str
    many: str
    of: Path = ()
    also: Path = ()
    group: Path = ()
    child: str = ""
    n: int = 0
    values: tuple[tuple[str, Scalar], ...] = ()
    which: tuple[Condition, ...] = ()

    @property
    def is_change(self) -> bool:
        """Whether rows are to be changed."""
        return self.form in grammar().changes

    @property
    def ordered(self) -> bool:
        """Whether the order of the rows is asked for."""
        return self.form == "top"

    @property
    def references(self) -> int:
        """How many references lead to the column that is furthest away; to rows of `child`, one."""
        paths = [*self.columns.values(), *(one.of for one in self.which)]
        furthest = max((len(path) - 1 for path in paths), default=0)
        return furthest + bool(self.child)

    @property
    def columns(self) -> dict[str, Path]:
        """The columns that it names, by slot."""
        named = {"of": self.of, "also": self.also, "group": self.group}
        return {slot: path for slot, path in named.items() if path}


class _From:
    """A table under an alias, with the joins that its paths need."""

    def __init__(self, database: Database, table: TableSpec, alias: str) -> None:
        self._database, self._table, self._alias = database, table, alias
        self._joined: dict[Path, str] = {}
        self.joins = ""

    def column(self, path: Path) -> str:
        """A path as SQL."""
        table, alias = self._table, self._alias

        for depth, name in enumerate(path[:-1], 1):
            target = self._database.target(table, name)
            if target is None:
                raise ValueError(f"{name} of {table.name} refers to no table")

            if path[:depth] not in self._joined:
                other = f"{self._alias}{len(self._joined) + 1}"
                # behind an outer join an inner one would drop its rows again
                outer = table.column(name).nulls or "LEFT" in self.joins
                self.joins += " LEFT JOIN" if outer else " JOIN"
                self.joins += f" {quoted(target.name)} AS {other}"
                self.joins += f" ON {other}.{quoted(target.key)} = {alias}.{quoted(name)}"
                self._joined[path[:depth]] = other

            table, alias = target, self._joined[path[:depth]]

        return f"{alias}.{quoted(path[-1])}"

    def conditions(self, which: Sequence[Condition]) -> list[str]:
        """Conditions as SQL."""
        return [_condition(one, self.column(one.of)) for one in which]


def _condition(one: Condition, column: str) -> str:
    """A condition on a column as SQL."""
    values = list(map(literal, one.values))
    form = grammar().conditions[one.form]
    return form.sql.format(*values, of=column, all=", ".join(values))


def literal(value: Scalar) -> str:
    """A value as SQL writes it."""
    if value is None:
        return "NULL"

    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def _where(tests: Sequence[str]) -> str:
    """The WHERE clause of tests that must all hold."""
    return f" WHERE {' AND '.join(tests)}" if tests else ""


def sql_of(database: Database, request: SqlRequest) -> str:
    """The query that answers a question, or the statement that makes a change."""
    write = _statement if request.is_change else _query
    return write(database, request)


def _query(database: Database, question: SqlRequest) -> str:
    """The query that answers a question."""
    form, table = grammar().questions[question.form], database.table(question.many)
    main = _From(database, table, "t")
    slots = {slot: main.column(path) for slot, path in question.columns.items()}
    slots |= {"id": main.column((table.key,)), "n": str(question.n)}
    where = [] if question.child else main.conditions(question.which)
    if question.child:
        where.append(_existence(database, question, slots["id"]))

    if form.there:
        where.append(f"{slots[form.there]} IS NOT NULL")

    selected, after = form.select.format(**slots), form.after.format(**slots)
    source = f"{quoted(table.name)} AS t{main.joins}"

    return f"SELECT {selected} FROM {source}{_where(where)}{after}"


def _existence(database: Database, question: SqlRequest, key: str) -> str:
    """Whether a row has rows of the child, or has none."""
    child = database.table(question.child)
    inner = _From(database, child, "c")
    parents = database.children(database.table(question.many))
    via = next(column for table, column in parents if table.name == child.name)
    where = _where([f"c.{quoted(via)} = {key}", *inner.conditions(question.which)])
    negated = "NOT " if question.form == "without" else ""

    return f"{negated}EXISTS (SELECT 1 FROM {quoted(child.name)} AS c{inner.joins}{where})"


def rows_meant(database: Database, many: str, which: Sequence[Condition]) -> str:
    """The query for the keys of the rows that conditions mean."""
    table = database.table(many)
    main = _From(database, table, "t")
    where = _where(main.conditions(which))

    return f"SELECT t.{quoted(table.key)} FROM {quoted(table.name)} AS t{main.joins}{where}"


def _statement(database: Database, change: SqlRequest) -> str:
    """The statement that makes a change."""
    table = database.table(change.many)
    name = quoted(table.name)
    columns = [quoted(column) for column, _ in change.values]
    values = [literal(value) for _, value in change.values]
    if change.form == "add":
        return f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({', '.join(values)})"

    if all(len(one.of) == 1 for one in change.which):
        tests = [_condition(one, quoted(one.of[0])) for one in change.which]
    else:
        tests = [f"{quoted(table.key)} IN ({rows_meant(database, change.many, change.which)})"]

    if change.form == "remove":
        return f"DELETE FROM {name}{_where(tests)}"

    pairs = zip(columns, values, strict=True)
    assigned = ", ".join(f"{column} = {value}" for column, value in pairs)

    return f"UPDATE {name} SET {assigned}{_where(tests)}"
