"""SQLite files as state: their rows as facts, goals and checks from them, statements that could be
called.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random

from synth.envs.echo_check import state_verdicts
from synth.envs.mcp.env import SPEC
from synth.envs.mcp.goals import write_goal
from synth.envs.mcp.state.folder import PLACES, facts_of
from synth.envs.mcp.statements import Tables, statement
from synth.schemas.check import Check, Facts
from synth.schemas.environment import Opening
from synth.schemas.reverse import Draft, Window
from synth.synthesizers.reverse.check_predicates import check_of

SHOP = (
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT, price REAL)",
    "INSERT INTO orders VALUES (1, 'lamp', 2.5), (2, 'fern', NULL)",
    "CREATE TABLE kept (id INTEGER PRIMARY KEY, item TEXT, price REAL)",
)


def shop(folder: Path, *statements: str) -> Facts:
    path = folder / "shop.db"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        for each in (*SHOP, *statements):
            database.execute(each)
        database.commit()
    return facts_of(folder, ())


def rows(facts: Facts) -> list[dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for path, value in facts.items():
        kind, key, column = path.split("/")
        if kind == "row":
            found.setdefault(key, {})[column] = value
    return list(found.values())


def derived(start: Facts, end: Facts) -> tuple[str, Check]:
    draft = write_goal(Window("mcp", {}, 0, Opening(None, (), ()), (), (), start, end))
    assert isinstance(draft, Draft)
    check = check_of(start, end, draft, SPEC.facts)
    return draft.goal, Check(required=check.required, free=(*check.free, *PLACES))


def passes(check: Check, start: Facts, end: Facts) -> bool:
    return all(part.passed for part in state_verdicts(check, start, end))


def test_rows_tables_and_indexes_are_facts_and_the_order_of_rows_is_none(tmp_path: Path) -> None:
    facts = shop(tmp_path, "CREATE INDEX by_item ON orders (item)")
    assert facts["table/shop.db:orders/columns"] == "id INTEGER PRIMARY KEY, item TEXT, price REAL"
    assert facts["table/shop.db:by_item/sql"] == "CREATE INDEX by_item ON orders (item)"
    assert rows(facts) == [
        {"@table": "shop.db:orders", "@id": 1, "item": "lamp", "price": 2.5},
        {"@table": "shop.db:orders", "@id": 2, "item": "fern", "price": None},
    ]
    other = shop(
        tmp_path,
        "CREATE INDEX by_item ON orders (item)",
        "DELETE FROM orders WHERE id = 1",
        "INSERT INTO orders VALUES (1, 'lamp', 2.5)",
    )
    assert other == facts


def test_a_database_with_what_is_no_fact_is_a_digest(tmp_path: Path) -> None:
    for each in (
        "INSERT INTO orders VALUES (3, x'00ff', 1)",
        "INSERT INTO orders VALUES (3, 'x', 9e999)",
        "CREATE VIRTUAL TABLE v USING fts5(a)",
    ):
        facts = shop(tmp_path, each)
        assert set(facts) == {"file/shop.db/digest", "file/shop.db/@path"}, each
    (tmp_path / "shop.db").write_bytes(b"SQLite format 3\0 and no more")
    assert set(facts_of(tmp_path, ())) == {"file/shop.db/digest", "file/shop.db/@path"}


def test_a_view_is_never_asked_though_it_would_never_end(tmp_path: Path) -> None:
    facts = shop(
        tmp_path,
        "CREATE VIEW v AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT "
        "x FROM n",
    )
    assert "table/shop.db:v/sql" in facts


def test_a_row_in_another_table_and_a_file_of_another_name_do_not_pass(tmp_path: Path) -> None:
    start = shop(tmp_path)
    wanted = shop(tmp_path, "INSERT INTO orders VALUES (3, 'vase', 4)")
    goal, check = derived(start, wanted)
    assert (
        goal
        == 'In table orders of shop.db there is to be a row with id 3, item "vase" and price 4.0.'
    )
    assert passes(check, start, wanted)
    assert not passes(check, start, start)
    assert not passes(check, start, shop(tmp_path, "INSERT INTO kept VALUES (3, 'vase', 4)"))
    begun: Facts = {}
    made: Facts = {"file/a.txt/content": "x", "file/a.txt/@path": "a.txt"}
    _, check = derived(begun, made)
    assert passes(check, begun, made)
    assert not passes(check, begun, {"file/b.txt/content": "x", "file/b.txt/@path": "b.txt"})
    _, check = derived(begun, {"folder/a/is": "there", "folder/a/@path": "a"})
    assert not passes(check, begun, {"folder/b/is": "there", "folder/b/@path": "b"})


def test_a_row_that_is_to_be_gone_is_known_by_its_key_though_it_has_a_column_of_that_name(
    tmp_path: Path,
) -> None:
    start = shop(tmp_path)
    end = shop(tmp_path, "DELETE FROM orders WHERE id = 2")
    goal, check = derived(start, end)
    assert (
        goal == 'The row with id 2, item "fern" and price null is to be gone from table orders of '
        "shop.db."
    )
    assert passes(check, start, end)
    assert not passes(check, start, start)
    assert not passes(check, start, shop(tmp_path, "DELETE FROM orders WHERE id = 1"))


def test_statements_fit_the_tool_and_run_on_the_tables(tmp_path: Path) -> None:
    facts = shop(tmp_path)
    words: Sequence[str] = ("harbour", "violet")
    with closing(sqlite3.connect(":memory:")) as database:
        for each in SHOP:
            database.execute(each)
        database.commit()
        for seed in range(60):
            for tool, starts in {
                "read_query": ("SELECT",),
                "write_query": ("INSERT", "UPDATE", "DELETE"),
                "create_table": ("CREATE TABLE",),
            }.items():
                said = statement(tool, Tables(facts), words, Random(seed))
                assert said.startswith(starts)
                assert said == statement(tool, Tables(facts), words, Random(seed))
                database.execute(said)
                database.rollback()
                database.execute("DROP TABLE IF EXISTS harbour")
                database.execute("DROP TABLE IF EXISTS violet")
