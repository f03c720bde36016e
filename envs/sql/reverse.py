"""Explorations of a database, and what one has achieved, in words."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from random import Random

from synth.envs.episode import instructions
from synth.envs.sql.database.results import StatementError
from synth.envs.sql.database.schema import Database, TableSpec
from synth.envs.sql.database.sources import DatabaseSource, SqlConfig
from synth.envs.sql.database.task_databases import (
    ANSWERED,
    RowDifference,
    TaskDatabases,
    differences,
    rows_of,
)
from synth.envs.sql.request import Condition, SqlRequest, rows_meant, sql_of
from synth.envs.sql.words import vocabulary
from synth.schemas import Draft, Facts, NoGoal, Scalar, Window

_TABLES, _ROWS = 5, 3
Keyed = dict[int, Mapping[str, Scalar]]
"""Rows of a table by their keys."""
Group = tuple[str, str, str, Scalar]
"""Form of a change, table, column, value."""
_DESCRIBED = ("one_of", "person", "label", "date", "text")
"""Kinds of columns that tell rows apart in words."""


def possible_changes(database: Database, facts: Facts) -> Iterator[str]:
    """Changes that can be made now: a value, a row without its like, a row that nothing needs."""
    rows = defaultdict[str, Keyed](dict)
    for (name, key), columns in rows_of(facts).items():
        rows[name][key] = columns

    draw = Random(f"sql deeds {len(facts)} {sorted(map(str, facts.values()))[:40]}")
    for table in draw.sample(database.tables, min(_TABLES, len(database.tables))):
        is_needed = any(True for _ in database.children(table))
        for change in _of_table(table, rows[table.name], is_needed, draw):
            yield sql_of(database, change)


def _of_table(table: TableSpec, rows: Keyed, is_needed: bool, draw: Random) -> Iterator[SqlRequest]:
    """Changes of some rows, and a row that is like another."""
    for key, own in draw.sample(list(rows.items()), min(_ROWS, len(rows))):
        which = (Condition("equal", (table.key,), (key,)),)
        column = draw.choice(table.columns).name
        values = {one.get(column) for one in rows.values()} - {own.get(column), None}
        if values:
            told = ((column, draw.choice(sorted(values, key=str))),)
            yield SqlRequest(form="set", many=table.name, values=told, which=which)

        if not is_needed:
            yield SqlRequest(form="remove", many=table.name, which=which)

    if rows:
        yield _copied(table, max(rows) + 1, draw.choice(list(rows.values())))


def _copied(table: TableSpec, key: int, like: Mapping[str, Scalar]) -> SqlRequest:
    """A new row that holds what another one does."""
    copied = ((one.name, like.get(one.name)) for one in table.columns)
    return SqlRequest(form="add", many=table.name, values=((table.key, key), *copied))


def goal_of(source: DatabaseSource, config: SqlConfig, window: Window) -> Draft | NoGoal:
    """One sentence per change that is left at the end.

    Rows are told by what tells them from all others, where few words do, else by their id.
    """
    seed = config.explored_seed % 2**31
    databases = TaskDatabases(source, seed, 1)

    try:
        changes = list(_Changes(databases).between(_rows(window.start), _rows(window.end)))
        words = vocabulary(databases.database)
        said = [words.write(change) for change in changes]
    except KeyError:
        return NoGoal("no_words")
    finally:
        databases.close()

    if not changes:
        return NoGoal("undone_again")

    if list(map(words.read, said)) != changes:
        return NoGoal("words_read_otherwise")

    return Draft(
        goal="\n".join(said),
        low_level=instructions(window),
        structure="; ".join(sorted(map(_masked, changes))),
        script={"other": 1, "kind": "change"},
        env_config=config.pinned(source),
        free=ANSWERED,
        seed=seed,
    )


def _rows(facts: Facts) -> Facts:
    """The facts of rows, without those of an answer."""
    return {path: value for path, value in facts.items() if not path.startswith("answer/")}


class _Changes:
    """Puts what differs between two states as changes of all rows that change alike."""

    def __init__(self, databases: TaskDatabases) -> None:
        self._databases, self._database = databases, databases.database
        self._words = vocabulary(self._database)
        self._touched: set[tuple[str, str]] = set()

    def between(self, start: Facts, end: Facts) -> Iterator[SqlRequest]:
        """New rows first, those that go last."""
        rows = list(differences(start, end))
        for row in rows:
            if row.is_new:
                key = (self._database.table(row.table).key, row.key)
                filled = (pair for pair in self._told(row) if pair[1] is not None)
                yield SqlRequest(form="add", many=row.table, values=(key, *filled))

        groups = self._alike(row for row in rows if not row.is_new)
        for (form, many, name, value), keys in sorted(groups.items(), key=_is_removal):
            values = ((name, value),) if name else ()
            which = self._described(many, keys)
            yield SqlRequest(form=form, many=many, values=values, which=which)

    def _told(self, row: RowDifference) -> list[tuple[str, Scalar]]:
        """The columns of a row that differ, in the table's order, with what they hold now."""
        columns = row.columns or {}
        names = (one.name for one in self._database.table(row.table).columns)
        return [(name, columns[name]) for name in names if name in columns]

    def _alike(self, rows: Iterable[RowDifference]) -> Mapping[Group, list[int]]:
        """The keys of rows by what changes in them."""
        groups = defaultdict[Group, list[int]](list)
        for row in rows:
            if row.columns is None:
                groups["remove", row.table, "", None].append(row.key)

            for name, value in self._told(row):
                self._touched.add((row.table, name))
                form = "clear" if value is None else "set"
                groups[form, row.table, name, value].append(row.key)

        return groups

    def _described(self, many: str, keys: Sequence[int]) -> tuple[Condition, ...]:
        """Conditions that mean just these rows of the start: one or two values, else the ids."""
        table, wanted = self._database.table(many), sorted(keys)
        singles = list(self._values_of(table, wanted[0]))

        for which in (*((one,) for one in singles), *combinations(singles, 2)):
            try:
                query = rows_meant(self._database, many, which)
                found = self._databases.main.query(query).rows
            except StatementError:
                continue

            if sorted(int(str(row[0])) for row in found) == wanted:
                return which

        form = "equal" if len(wanted) == 1 else "among"

        return (Condition(form, (table.key,), tuple(wanted)),)

    def _values_of(self, table: TableSpec, key: int) -> Iterator[Condition]:
        """What the columns of a row hold, of those that tell rows apart and were not changed."""
        row = next(row for row in self._database.rows[table.name] if row[0] == key)
        own = dict(zip(table.names, row, strict=True))

        for path in self._words.paths[table.name].values():
            if len(path) > 1 or (table.name, path[0]) in self._touched:
                continue

            kind, value = self._words.column(table.name, path).kind, own[path[0]]
            if kind in _DESCRIBED and value is not None:
                yield Condition("equal", path, (value,))


def _is_removal(group: tuple[Group, list[int]]) -> bool:
    """Whether rows of a group are gone."""
    return group[0][0] == "remove"


def _masked(change: SqlRequest) -> str:
    """A change without its values."""
    told = [f"{one.form} {'.'.join(one.of)}" for one in change.which]
    return " ".join([change.form, change.many, *(name for name, _ in change.values), *told])
