"""Small databases, which show what the large ones of a check hide."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from benchmarks.sql.reader import Reader
from benchmarks.sql.slips import passes, wrong_slips
from synth.envs.sql.database.edges import beside
from synth.envs.sql.database.engines import Sqlite
from synth.envs.sql.database.results import Result, with_nothing_as_zero
from synth.envs.sql.database.schema import ColumnSpec, Database, TableSpec
from synth.envs.sql.database.small import MOST_SMALL, small
from synth.envs.sql.database.sources import Made, SqlConfig
from synth.envs.sql.slips.mutants import mutants
from synth.envs.sql.world import WORLD, WORLD_OF_FILE
from synth.schemas import Task

MANY = 'SELECT t."city", COUNT(*) FROM "guest" AS t GROUP BY t."city" HAVING COUNT(*) >= {}'


def guests(rows: int) -> Database:
    """Guests of one city and their keepers, some of whom are not known."""
    city = ColumnSpec(name="city", phrase="city", kind="label")
    keeper = ColumnSpec(name="keeper", phrase="keeper", kind="ref", of=("keeper",), nulls=0.2)
    tables = (TableSpec("keeper", "keepers", (city,)), TableSpec("guest", "guests", (city, keeper)))
    found = [(key, "Oslo", key % 3 or None) for key in range(1, rows + 1)]
    return Database(tables, {"keeper": [(1, "Oslo"), (2, "Rome")], "guest": found})


def test_references_lead_to_rows_that_are_there_and_few_rows_are() -> None:
    for number in range(30):
        made = small(guests(40), MANY.format(3), number)
        keepers = {row[0] for row in made.rows["keeper"]}
        assert 1 <= len(made.rows["guest"]) <= 12
        assert {row[2] for row in made.rows["guest"]} - {None} <= keepers
        assert made == small(guests(40), MANY.format(3), number)


def test_a_table_without_rows_stays_without() -> None:
    empty = msgspec.structs.replace(guests(3), rows={"keeper": [], "guest": []})
    assert small(empty, MANY.format(3), 1).rows == {"keeper": [], "guest": []}


def test_groups_of_just_the_size_that_is_asked_for_occur() -> None:
    large = Sqlite(guests(40))
    assert large.query(MANY.format(3)) == large.query(MANY.format(4))
    told = [
        one.query(MANY.format(3)) != one.query(MANY.format(4))
        for one in (Sqlite(small(guests(40), MANY.format(3), number)) for number in range(30))
    ]
    assert 3 <= sum(told) < 30


@pytest.mark.parametrize(
    ("day", "days"),
    [
        ("2024-03-01", ["2024-02-29", "2024-03-01", "2024-03-02"]),
        ("9999-12-31", ["9999-12-30", "9999-12-31"]),
        ("0001-01-01", ["0001-01-01", "0001-01-02"]),
    ],
)
def test_a_calendar_has_a_first_and_a_last_day(day: str, days: Sequence[str]) -> None:
    assert list(beside(day)) == days
    slips = mutants(guests(1), f'SELECT "id" FROM "guest" WHERE "city" < \'{day}\'', "date", "late")
    assert [sql.rpartition(" ")[2] for _, sql in slips] == [
        f"'{one}'" for one in days if one != day
    ]


def test_a_total_of_nothing_may_be_zero_or_none() -> None:
    nothing, zero, one = (Result(("total",), ((value,),)) for value in (None, 0, 1))
    assert with_nothing_as_zero(nothing) == zero
    assert with_nothing_as_zero(one) == one
    two = Result(("a",), ((None,), (None,)))
    assert with_nothing_as_zero(two) == two


def with_small(count: int) -> list[Task]:
    """Tasks whose large databases do not tell every slip."""
    made = WORLD.make_tasks({"kinds": ["question"]}, 7, count)
    return [task for task in made if task.script.get("small")]


def test_a_slip_that_only_small_databases_tell_is_refused() -> None:
    task = with_small(1)[0]
    assert len(task.script["small"]) <= MOST_SMALL
    loose = msgspec.structs.replace(task, script={**task.script, "small": []})
    assert task.check is not None
    (asked,) = task.check.required
    where = {key: value for key, value in asked.where.items() if not key.startswith("small")}
    check = msgspec.structs.replace(
        task.check, required=(msgspec.structs.replace(asked, where=where),)
    )
    loose = msgspec.structs.replace(loose, check=check)
    slips = [sql for _, sql in wrong_slips(task)]
    accepted = [sql for sql in slips if asyncio.run(passes(loose, "answer", sql))]
    assert accepted
    assert not any(asyncio.run(passes(task, "answer", sql)) for sql in accepted)


@pytest.mark.slow
@pytest.mark.nightly
def test_who_writes_the_query_another_way_is_not_refused_for_it() -> None:
    for task in with_small(60):
        ddl = Made(SqlConfig()).database(task.seed).ddl
        ((tool, sql),) = Reader(ddl).statements(task.goal)
        assert asyncio.run(passes(task, tool, sql)), task.goal


@pytest.mark.slow
def test_a_file_with_an_empty_table_and_days_without_end_has_tasks(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "own.db")) as made:
        made.execute("CREATE TABLE guest(id INTEGER PRIMARY KEY, city TEXT, until TEXT)")
        made.execute("CREATE TABLE stay(id INTEGER PRIMARY KEY, guest REFERENCES guest(id))")
        ends = ("2024-01-01", "2023-05-06", "9999-12-31")
        rows = [(at, ("Oslo", "Rome", "Bern")[at % 3], ends[at % 7 % 3]) for at in range(1, 40)]
        made.executemany("INSERT INTO guest VALUES (?, ?, ?)", rows)
        made.commit()

    start = WORLD_OF_FILE.start
    assert start is not None
    world = start.bound(start.settings(database=str(tmp_path / "own.db")))
    assert len(world.make_tasks({"kinds": ["question"], "level": 0.3}, 1, 6)) == 6
