"""SQL over a ledger: what may be asked, what is seen, and that asking changes nothing."""

import os
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from synth.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.ledger.sql import query
from synth.ledger.tables import TABLES
from synth.schemas.errors import ConfigError
from tests.trajectories import make_task, make_trajectory

REF = StageRef("rollout", "key1")


@pytest.fixture(params=["local", "memory"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoredLedger]:
    """Two imports of one task, one trajectory each; slot `a` filled twice; a name that SQL and
    patterns would trip over.
    """
    local = request.param == "local"
    made = StoredLedger(
        str(tmp_path / "it's [a] run*") if local else f"memory://{uuid.uuid4().hex}/it's a run",
        create=True,
    )
    for slot, key in (("a", "one"), ("b", "two"), ("a", "three")):
        trajectory = make_trajectory(slot, synthesizer="import", task_id=make_task().task_id)
        made.commit(StageRef("import", key), trajectories=[trajectory], tasks=[make_task()])
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("SELECT count(*) FROM trajectories", [(2,)]),
        ("  -- how many?\nSELECT count(*) FROM trajectories_all ; ;", [(3,)]),
        ("FROM trajectories SELECT slot_id ORDER BY 1", [("a",), ("b",)]),
        (
            "WITH t AS (SELECT slot_id FROM trajectories), u AS (FROM t UNION ALL FROM t) SELECT "
            "count(*) FROM u",
            [(4,)],
        ),
        (
            "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT "
            "sum(i) FROM n",
            [(6,)],
        ),
        ("VALUES ('COPY; DELETE'), ('--')", [("COPY; DELETE",), ("--",)]),
        (
            "SELECT {'query_node': {'type': 'COPY_QUERY_NODE'}}.query_node.type",
            [("COPY_QUERY_NODE",)],
        ),
    ],
)
def test_one_question_is_answered(
    ledger: StoredLedger, question: str, rows: list[tuple[object, ...]]
) -> None:
    assert query(ledger, question).fetchall() == rows


@pytest.mark.slow
@pytest.mark.parametrize(
    "question", ["EXPLAIN SELECT 1", "explain analyze FROM turns", "EXPLAIN (FORMAT json) SELECT 1"]
)
def test_a_plan_is_explained(ledger: StoredLedger, question: str) -> None:
    ((_, plan),) = query(ledger, question).fetchall()
    assert plan


@pytest.mark.slow
def test_tables_are_shown_and_described_without_internals(ledger: StoredLedger) -> None:
    expected = sorted(
        [*TABLES, *(f"{name}_all" for name in TABLES), "spending", "groups", "repairs"]
    )
    assert [name for (name,) in query(ledger, "SHOW TABLES").fetchall()] == expected
    assert [row[0] for row in query(ledger, "DESCRIBE replies").fetchall()][-2:] == [
        "stage",
        "stage_key",
    ]
    assert [row[0] for row in query(ledger, "DESCRIBE nodes").fetchall()][:3] == [
        "task_id",
        "node",
        "population",
    ]
    assert [row[0] for row in query(ledger, "SUMMARIZE edges").fetchall()][:2] == [
        "task_id",
        "source_node",
    ]
    for name, schema in TABLES.items():
        assert [row[0] for row in query(ledger, f"DESCRIBE {name}").fetchall()] == schema.names


@pytest.mark.slow
def test_a_task_that_came_twice_is_one_task(ledger: StoredLedger) -> None:
    assert query(ledger, "SELECT count(*), min(goal) FROM tasks").fetchall() == [(1, "Look.")]
    assert query(
        ledger, "SELECT count(*) FROM trajectories JOIN tasks USING (task_id)"
    ).fetchall() == [(2,)]
    assert query(ledger, "SELECT count(*) FROM tasks_all").fetchall() == [(3,)]


@pytest.mark.slow
@pytest.mark.parametrize("ledger", ["local"], indirect=True)
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("", "there is no statement; give one, for instance: SELECT"),
        (" -- nothing\n;", "there is no statement"),
        ("SELECT 1; SELECT 2", "2 statements; give one"),
        ("SELECT", "Parser Error"),
        ("SELECT nothing FROM trajectories", 'Referenced column "nothing" not found'),
        (
            "SET threads = 1",
            "SET is not allowed: a ledger is only read; ask with SELECT, WITH, EXPLAIN, DESCRIBE, "
            "SHOW or SUMMARIZE",
        ),
        ("PRAGMA show_tables", "PRAGMA is not allowed"),
        ("DROP VIEW trajectories", "DROP is not allowed"),
        ("CREATE TABLE x (y INT)", "CREATE is not allowed"),
        ("ATTACH 'other.db'", "ATTACH is not allowed"),
        ("INSTALL httpfs", "LOAD is not allowed"),
        ("COPY (SELECT 1) TO '{file}'", "COPY is not allowed"),
        (
            "WITH a AS (COPY (SELECT 1) TO '{file}' (USE_TMP_FILE false)) SELECT 1",
            "COPY is not allowed",
        ),
        (
            "EXPLAIN ANALYZE WITH a AS (COPY (SELECT 1) TO '{file}' (USE_TMP_FILE false)) SELECT 1",
            "COPY is not allowed",
        ),
        (
            "EXPLAIN ANALYZE COPY (SELECT 1) TO '{file}' (USE_TMP_FILE false)",
            "EXPLAIN of this is not allowed",
        ),
        (
            "WITH a AS (DELETE FROM lineage.superseded RETURNING *) SELECT * FROM a",
            "DELETE is not allowed",
        ),
        ("FROM '/etc/passwd'", "does not exist"),
        ("FROM read_text('/etc/passwd')", "file system operations are disabled"),
        ("FROM read_parquet('{other}')", "file system operations are disabled"),
        ("FROM read_csv('http://127.0.0.1:1/x')", "file system operations are disabled"),
        ("FROM whole", "Table with name whole does not exist"),
    ],
)
def test_what_is_no_question_is_refused_in_one_line_and_nothing_is_touched(
    ledger: StoredLedger, tmp_path: Path, statement: str, message: str
) -> None:
    other = tmp_path / "other.parquet"
    other.write_bytes(b"PAR1")
    files = {
        file.path: ledger.storage.read(file.path)
        for shard in ledger.state.shards
        for file in shard.files.values()
    }
    file = ledger.storage.path(min(files)).replace("'", "''")
    with pytest.raises(ConfigError) as refused:
        query(ledger, statement.replace("{file}", file).replace("{other}", str(other))).fetchall()
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert {path: ledger.storage.read(path) for path in files} == files


def test_large_answers_spill_into_the_temporary_folder_not_where_the_user_stands(
    ledger: StoredLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/somewhere/else")
    ((spill,),) = query(ledger, "SELECT current_setting('temp_directory')").fetchall()
    assert Path(spill).parent == Path("/somewhere/else")


def test_adopted_tasks_are_seen_with_their_trajectories(tmp_path: Path) -> None:
    ledger = StoredLedger(str(tmp_path), create=True)
    wanted = make_trajectory("a", task_id=make_task().task_id)
    ledger.commit(REF, trajectories=[wanted], tasks=[make_task()])
    ledger.begin_stage(StageLine("rollout", "key2", {}, "", (wanted.trajectory_id,)))
    assert query(
        ledger, "SELECT count(*) FROM trajectories JOIN tasks USING (task_id)"
    ).fetchall() == [(1,)]
    assert query(ledger, "SHOW TABLES").fetchall() != []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("kept", [False, True])
def test_a_process_that_was_forked_asks_too_and_ends(tmp_path: Path, kept: bool) -> None:
    """In a process of its own, which other tests gave no threads and no views."""
    made = StoredLedger(str(tmp_path / "run"), create=True)
    made.commit(REF, trajectories=[make_trajectory("a")], tasks=[make_task()])
    said = subprocess.run(
        [sys.executable, "-c", FORKED, str(tmp_path / "run"), str(kept)],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert said.stdout.split() == ["1", "1"]
    assert said.returncode == 0


FORKED = """
import os, sys
from synth.ledger import StoredLedger
from synth.ledger.views import connect
def count():
    with connect(StoredLedger(sys.argv[1])) as connection:
        (found,) = connection.execute("SELECT count(*) FROM trajectories_all").fetchone()
    print(found, flush=True)
ledger = StoredLedger(sys.argv[1])
connect(ledger).execute("FROM trajectories_all")
if sys.argv[2] == "False":
    del ledger
child = os.fork()
count()
if child == 0:
    sys.exit()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
