"""Databases by seed and from a file: whole, reproducible, and a second one beside each."""

import sqlite3
from pathlib import Path

import pytest

from synth.envs.sql.database.engines import Duck, Sqlite
from synth.envs.sql.database.from_file import FromFile, read_database, shuffled
from synth.envs.sql.database.schema import Database, quoted
from synth.envs.sql.database.sources import Made, SqlConfig, domains, generated
from synth.schemas.errors import ConfigError


def every() -> list[Database]:
    return [
        generated(name, 12, seed, other)
        for name in domains()
        for seed in range(4)
        for other in (0, 1)
    ]


def test_every_reference_leads_to_a_row_and_every_value_that_must_be_there_is() -> None:
    for database in every():
        rows = database.rows
        ids = {name: {row[0] for row in found} for name, found in rows.items()}
        for table in database.tables:
            assert len(ids[table.name]) == len(rows[table.name]) >= 3
            for place, column in enumerate(table.columns, 1):
                values = [row[place] for row in rows[table.name]]
                assert column.nulls or None not in values
                if column.kind == "ref":
                    assert {one for one in values if one is not None} <= ids[column.of[0]]


def test_a_seed_gives_one_database_and_its_second_one_has_the_same_tables_and_other_rows() -> None:
    database, other = generated("clinic", 7, 5), generated("clinic", 7, 5, 1)
    generated.cache_clear()
    assert generated("clinic", 7, 5) == database
    assert generated("clinic", 7, 5, 1) == other
    assert database.tables == other.tables
    assert database.rows != other.rows
    assert generated("clinic", 7, 6).rows != database.rows
    assert {len(generated("freight", 12, seed, 1).tables) for seed in range(40)} >= {3, 6, 12}


def test_names_differ_from_seed_to_seed_and_some_mislead() -> None:
    tables = [generated("clinic", 7, seed, 1).tables for seed in range(60)]
    visits = [table for found in tables for table in found if table.name == "visits"]
    names = {table.columns[2].name for table in visits}
    assert {"day", "date"} <= names
    assert any(
        {one.name: one.phrase for one in table.columns}.get("day_of") == "booking date"
        for table in visits
    )


def test_both_engines_hold_the_same_rows() -> None:
    database = Made(SqlConfig(domain="school", tables=6)).database(3)
    lite, duck = Sqlite(database), Duck(database)
    for table in database.tables:
        sql = f"SELECT * FROM {quoted(table.name)} ORDER BY 1"
        assert lite.query(sql).rows == duck.query(sql).rows == tuple(database.rows[table.name])


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as made:
        made.executescript(
            """CREATE TABLE maker (id INTEGER PRIMARY KEY, name TEXT NOT NULL, since TEXT);
            CREATE TABLE item (item_no INTEGER PRIMARY KEY, maker INTEGER REFERENCES maker(id),
                               kind TEXT, price REAL, stock INTEGER NOT NULL);
            CREATE TABLE loose (a TEXT);"""
        )
        made.executemany(
            "INSERT INTO maker VALUES (?, ?, ?)",
            [(n, f"maker {n}", f"20{n:02d}-01-0{n}") for n in range(1, 6)],
        )
        made.executemany(
            "INSERT INTO item VALUES (?, ?, ?, ?, ?)",
            [(n, n % 5 + 1, "abc"[n % 3] * 4, n * 1.25, n % 7) for n in range(1, 40)],
        )
    made.close()
    return path


def test_a_file_is_read_with_its_keys_references_and_kinds(shop: Path) -> None:
    database = read_database(shop)
    assert [(table.name, table.key) for table in database.tables] == [
        ("item", "item_no"),
        ("maker", "id"),
    ]
    kinds = {one.name: one.kind for one in database.table("item").columns}
    assert kinds == {"maker": "ref", "kind": "text", "price": "money", "stock": "number"}
    assert database.table("maker").column("since").kind == "date"
    assert len(database.rows["item"]) == 39


def test_the_second_database_of_a_file_has_its_values_in_other_rows(shop: Path) -> None:
    database = read_database(shop)
    other = shuffled(database, 1).rows
    assert len(other["maker"]) == 5  # others refer to them
    assert 20 < len(other["item"]) < 39
    assert {row[2] for row in other["item"]} == {"aaaa", "bbbb", "cccc"}
    assert other != database.rows
    assert shuffled(database, 1).rows == other


def test_what_is_no_database_is_refused_by_name(tmp_path: Path) -> None:
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"no database at all, and long enough to be looked at" * 40)
    with pytest.raises(ConfigError, match=r"broken\.db: is no SQLite database"):
        read_database(broken)
    with pytest.raises(ConfigError, match=r"gone\.db: cannot be read"):
        FromFile(tmp_path / "gone.db")
    empty = tmp_path / "empty.db"
    sqlite3.connect(empty).execute("CREATE TABLE t (a TEXT)").connection.close()
    with pytest.raises(ConfigError, match="no table has an INTEGER PRIMARY KEY"):
        read_database(empty)
