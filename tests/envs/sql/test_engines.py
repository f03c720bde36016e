"""What statements of strangers can do: read, change, be undone; and what they cannot."""

import random
from pathlib import Path

import duckdb
import pytest

from synth.envs.sql.database.engines import TODAY, Duck, Sqlite
from synth.envs.sql.database.results import Result, StatementError, fingerprint
from synth.envs.sql.database.sources import generated

DATABASE = generated("school", 6, 3)
LONG = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


@pytest.fixture
def lite() -> Sqlite:
    return Sqlite(DATABASE)


@pytest.fixture(scope="module")
def duck() -> Duck:
    return Duck(DATABASE)


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH DATABASE '/etc/passwd' AS p",
        "PRAGMA table_info(students)",
        "SELECT load_extension('x')",
        "SELECT random()",
        "SELECT hex(randomblob(8))",
        "SELECT total_changes()",
        "DELETE FROM loans",
        "INSERT INTO houses VALUES (1, 'x', 'red')",
        "DROP TABLE loans",
        "CREATE TABLE x (a)",
        "BEGIN",
        "ROLLBACK",
        "SAVEPOINT a",
        "VACUUM INTO '/tmp/stolen.db'",
        "SELECT 1; DELETE FROM loans",
        "SELECT zeroblob(1000000000)",
        "SELECT printf('%.*c', 900000000, 'x')",  # one instruction of ten seconds
        "SELECT format('%900000000d', 1)",
        LONG,
        "",
        "\0",
        "SELECT \ud800",
        "SELECT * FROM students a, students b, students c",
    ],
)
def test_reading_does_nothing_but_read(lite: Sqlite, sql: str) -> None:
    before = lite.query("SELECT count(*) FROM loans").rows
    with pytest.raises(StatementError):
        lite.query(sql)
    assert lite.query("SELECT count(*) FROM loans").rows == before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "DROP TABLE loans",
        "CREATE TRIGGER t AFTER DELETE ON loans BEGIN DELETE FROM houses; END",
        "UPDATE sqlite_master SET sql = 'x'",
        "PRAGMA writable_schema = 1",
        "DELETE FROM students",  # loans refer to them
        "UPDATE loans SET fine = random()",
        "COMMIT",
    ],
)
def test_a_change_that_is_refused_leaves_all_as_it_was(lite: Sqlite, sql: str) -> None:
    before = {name: lite.rows(name, ("id",)) for name in ("students", "loans", "houses")}
    with pytest.raises(StatementError):
        lite.change(sql)
    assert {name: lite.rows(name, ("id",)) for name in before} == before
    assert lite.changes == []


def test_formats_of_a_reasonable_width_are_printed(lite: Sqlite) -> None:
    asked = "SELECT printf('%.2f of 2024-%02d', 1.257, 3), format('%s%%', 7)"
    assert lite.query(asked).rows == (("1.26 of 2024-03", "7%"),)


def test_savepoints_nest_and_each_leads_back_to_its_own_state(lite: Sqlite) -> None:
    ids = [row[0] for row in lite.rows("loans", ("id",))][:6]
    changes = [f"DELETE FROM loans WHERE id = {one}" for one in ids]
    states = [lite.rows("loans", ("id",))]
    for sql in changes:
        lite.change(sql)
        states.append(lite.rows("loans", ("id",)))
    for depth in (4, 6, 1, 5, 0, 6, 3):
        lite.rewind(changes[:depth])
        assert lite.rows("loans", ("id",)) == states[depth]
    with pytest.raises(StatementError):
        lite.change("RELEASE s0")  # an agent reaches none of them
    lite.rewind(changes[:1])
    assert lite.rows("loans", ("id",)) == states[1]


def test_a_change_is_none_to_be_read_because_it_was_made_before(lite: Sqlite) -> None:
    sql = "DELETE FROM loans WHERE id = (SELECT min(id) FROM loans)"
    lite.change(sql)
    before = lite.rows("loans", ("id",))
    with pytest.raises(StatementError):
        lite.query(sql)
    assert lite.rows("loans", ("id",)) == before


def test_every_clock_stands_still(lite: Sqlite) -> None:
    asked = "SELECT date('now'), date(), current_date, strftime('%Y', 'n' || 'ow')"
    asked += ", date('2020-02-30', '+1 day')"
    assert lite.query(asked).rows == ((TODAY, TODAY, TODAY, TODAY[:4], "2020-03-02"),)


def test_going_back_is_the_same_as_having_come_another_way(lite: Sqlite) -> None:
    draw = random.Random(1)
    names = ("id", *(one.name for one in DATABASE.table("loans").columns))
    ids = [row[0] for row in lite.rows("loans", ("id",))]
    acts = [f"DELETE FROM loans WHERE id = {draw.choice(ids)}" for _ in range(6)]
    acts += [f"UPDATE loans SET id = id + 1000 WHERE id = {draw.choice(ids)}" for _ in range(6)]
    for _ in range(200):
        path = draw.sample(acts, draw.randint(0, 5))
        lite.rewind(path)
        fresh = Sqlite(DATABASE)
        for sql in path:
            fresh.change(sql)
        assert lite.changes == path
        assert lite.rows("loans", names) == fresh.rows("loans", names)
        fresh.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "COPY students TO '/tmp/stolen.csv'",
        "ATTACH '/tmp/other.db'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "SELECT random()",
        "SELECT now()",
        "SELECT current_date",
        "SELECT uuid()",
        "DELETE FROM loans",
        "SELECT 1; SELECT 2",
        "SELECT getenv('HOME')",
        "not sql at all (",
    ],
)
def test_duckdb_reads_the_database_and_nothing_else(duck: Duck, sql: str) -> None:
    with pytest.raises(StatementError):
        duck.query(sql)


OUTSIDE = (
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/hostname')",
    "COPY (SELECT 1) TO '{0}/stolen.csv'",
    "ATTACH '{0}/other.db'",
)


def test_duckdb_itself_refuses_files_and_keeps_refusing(duck: Duck, tmp_path: Path) -> None:
    """Without the reader before it, which refuses most of this by its form alone."""
    opened = duckdb.connect()
    for sql in OUTSIDE:
        told = sql.format(tmp_path)
        opened.execute(told)  # what DuckDB does where nobody forbids it
        with pytest.raises(duckdb.PermissionException):
            duck._db.execute(told.replace("stolen", "again").replace("other", "again"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.db", "stolen.csv"]
    for setting in ("enable_external_access = true", "lock_configuration = false", "threads = 4"):
        with pytest.raises(duckdb.InvalidInputException):
            duck._db.execute(f"SET {setting}")


def test_results_are_the_same_by_value() -> None:
    one = Result(("a", "b"), ((1, "x"), (2.0, None)))
    assert fingerprint(one, ordered=False) == fingerprint(
        Result(("b", "a"), ((None, 2), ("x", 1.004))), ordered=False
    )
    assert fingerprint(one, ordered=True) != fingerprint(
        Result(("a", "b"), ((2, None), (1, "x"))), ordered=True
    )
    for other in (((1, "x"),), ((1, "x"), (2, "")), ((1, "x"), (2.01, None)), ((1, "x"),) * 2):
        assert fingerprint(one, ordered=False) != fingerprint(
            Result(("a", "b"), other), ordered=False
        )
    assert fingerprint(Result(("a",), (("1",),)), ordered=False) != fingerprint(
        Result(("a",), ((1,),)), ordered=False
    )
