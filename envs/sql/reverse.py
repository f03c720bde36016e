"""Explorations of a database, and what one has achieved, in words."""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from synth.envs.sql.base.engines import quoted
from synth.envs.sql.base.facts import ANSWERED, Tried, differing, rows_of, segment
from synth.envs.sql.base.results import StatementError
from synth.envs.sql.base.schema import Database, TableSpec
from synth.envs.sql.base.sources import DatabaseSource, SqlConfig
from synth.envs.sql.language.question import Condition, RowChange, literal, rows_meant
from synth.envs.sql.language.words import Vocabulary, same, vocabulary
from synth.schemas.check import Facts, Scalar
from synth.schemas.reverse import Draft, NoGoal, Window

_TABLES, _ROWS = 5, 3
_DESCRIBED = ("one_of", "person", "label", "date", "text")


def deeds(database: Database, facts: Facts) -> Iterator[str]:
    """Changes that can be made now: a value, a row without its like, a row that nothing needs."""
    rows: dict[str, list[tuple[str, Mapping[str, Scalar]]]] = {}
    for (name, key), columns in rows_of(facts).items():
        rows.setdefault(name, []).append((key, columns))
    draw = random.Random(f"sql deeds {len(facts)} {sorted(map(str, facts.values()))[:40]}")
    for table in draw.sample(database.tables, min(_TABLES, len(database.tables))):
        there = rows.get(segment(table.name), [])
        for key, own in draw.sample(there, min(_ROWS, len(there))):
            where = f"WHERE {quoted(table.key)} = {key}"
            column = draw.choice(table.columns)
            values = {one.get(segment(column.name)) for _, one in there}
            values -= {own.get(segment(column.name)), None}
            if values:
                value = literal(draw.choice(sorted(values, key=str)))
                yield f"UPDATE {quoted(table.name)} SET {quoted(column.name)} = {value} {where}"
            if not any(True for _ in database.children(table)):
                yield f"DELETE FROM {quoted(table.name)} {where}"
        if there:
            _, like = draw.choice(there)
            new = max(int(key) for key, _ in there) + 1
            names = ", ".join(map(quoted, table.names))
            told = ", ".join(literal(like.get(segment(one.name))) for one in table.columns)
            yield f"INSERT INTO {quoted(table.name)} ({names}) VALUES ({new}, {told})"


def goal_of(source: DatabaseSource, config: SqlConfig, window: Window) -> Draft | NoGoal:
    """One sentence per change that is left at the end: rows by what tells them from all others,
    where few words do, else by their id.
    """
    tried = Tried(source, config.explored_seed % 2**31, 1)
    try:
        words = vocabulary(tried.database)
        start = {path: value for path, value in window.start.items() if path[:7] != "answer/"}
        end = {path: value for path, value in window.end.items() if path[:7] != "answer/"}
        if not any(True for _ in differing(start, end)):
            return NoGoal("undone_again")
        changes = list(_changes(tried, words, start, end))
        said = [words.write(change) for change in changes]
        if any(not same(one, words.read(text)) for one, text in zip(changes, said, strict=True)):
            return NoGoal("words_read_otherwise")
    except KeyError:
        return NoGoal("no_words")
    finally:
        tried.close()
    calls = (call for operation in window.operations for call in operation.turn.tool_calls)
    return Draft(
        goal="\n".join(said),
        low_level=tuple(f"Call {call.name} with {call.arguments}." for call in calls),
        structure="; ".join(sorted(_masked(change) for change in changes)),
        script={"other": 1, "kind": "change"},
        env_config=config.pinned(source),
        free=ANSWERED,
        seed=config.explored_seed % 2**31,
    )


def _changes(tried: Tried, words: Vocabulary, start: Facts, end: Facts) -> Iterator[RowChange]:
    """New rows first, those that go last."""
    named = {segment(table.name): table for table in tried.database.tables}
    before = rows_of(start)
    new: list[RowChange] = []
    gone: dict[str, list[str]] = {}
    other: dict[tuple[str, str, Scalar], list[str]] = {}
    touched: set[tuple[str, str]] = set()
    for name, key, columns in differing(start, end):
        table = named[name]
        if columns is None:
            gone.setdefault(name, []).append(key)
        elif (name, key) not in before:
            told = [(one.name, columns.get(segment(one.name))) for one in table.columns]
            values = [(table.key, int(key)), *((one, v) for one, v in told if v is not None)]
            new.append(RowChange(form="add", many=table.name, values=tuple(values)))
        else:
            for column in table.columns:
                if segment(column.name) in columns:
                    touched.add((table.name, column.name))
                    value = columns[segment(column.name)]
                    other.setdefault((name, column.name, value), []).append(key)
    yield from new
    for (name, column_name, value), keys in other.items():
        which = _described(tried, words, named[name], keys, touched)
        form = "clear" if value is None else "set"
        path = (column_name,)
        yield RowChange(form=form, many=named[name].name, of=path, value=value, which=which)
    for name, keys in gone.items():
        which = _described(tried, words, named[name], keys, touched)
        yield RowChange(form="remove", many=named[name].name, which=which)


def _described(
    tried: Tried,
    words: Vocabulary,
    table: TableSpec,
    keys: Sequence[str],
    touched: set[tuple[str, str]],
) -> tuple[Condition, ...]:
    """Conditions that mean just these rows of the start: one or two values, else the ids."""
    wanted = sorted(int(key) for key in keys)
    first = next(row for row in tried.database.rows[table.name] if row[0] == wanted[0])
    own = dict(zip(table.names, first, strict=True))
    singles = [
        Condition("equal", path, (own[path[0]],))
        for path in words.paths[table.name].values()
        if len(path) == 1
        and (table.name, path[0]) not in touched
        and own[path[0]] is not None
        and words.column(table.name, path).kind in _DESCRIBED
    ]
    for which in (*((one,) for one in singles), *combinations(singles, 2)):
        try:
            rows = tried.main.query(rows_meant(tried.database, table.name, which)).rows
        except StatementError:
            continue
        if sorted(int(str(row[0])) for row in rows) == wanted:
            return which
    form = "equal" if len(wanted) == 1 else "among"
    return (Condition(form, (table.key,), tuple(wanted)),)


def _masked(change: RowChange) -> str:
    told = [f"{one.form} {'.'.join(one.of)}" for one in change.which]
    values = [name for name, _ in change.values]
    return " ".join([change.form, change.many, *change.of, *values, *told])
