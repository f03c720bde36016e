"""Tables as polars frames: the same rows as in SQL, lazily, and never of damaged files."""

import gc
import uuid
from pathlib import Path

import polars as pl
import pytest

from synth.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.ledger.sql import relation
from synth.ledger.tables import TABLES
from synth.ledger.views import connect
from synth.schemas.errors import ConfigError, DamagedError
from tests.trajectories import make_task, make_trajectory

IMPORT = "import"


@pytest.fixture(params=["local", "memory"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> StoredLedger:
    """Imports of one task; slot `a` filled twice; of stage `old`, which is no longer current, one
    of two trajectories adopted.
    """
    local = request.param == "local"
    url = str(tmp_path / "it's [a] run*") if local else f"memory://{uuid.uuid4().hex}/it's a run"
    made = StoredLedger(url, create=True)
    task = make_task()
    for slot, key in (("a", "one"), ("b", "two"), ("a", "three")):
        trajectory = make_trajectory(slot, synthesizer=IMPORT, task_id=task.task_id)
        made.commit(StageRef(IMPORT, key), trajectories=[trajectory], tasks=[task])
    former = [make_trajectory(slot, task_id=task.task_id) for slot in ("c", "d")]
    made.begin_stage(StageLine("rollout", "old", {}, ""))
    made.commit(StageRef("rollout", "old"), trajectories=former, tasks=[task])
    made.begin_stage(StageLine("rollout", "new", {}, "", (former[0].trajectory_id,)))
    return made


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Arrow output")
@pytest.mark.parametrize("every", [False, True])
def test_a_frame_has_the_rows_and_types_of_the_view(ledger: StoredLedger, every: bool) -> None:
    for table in TABLES:
        rows = ledger.frame(table, every=every).collect()
        asked = connect(ledger).execute(f"FROM {table}{'_all' if every else ''}")
        view = pl.DataFrame(asked.to_arrow_table())
        assert rows.schema == view.schema, table
        order = rows.columns[:3]
        assert rows.sort(order).equals(view.sort(order)), table


@pytest.mark.slow
def test_a_frame_may_be_read_when_the_ledger_has_grown_and_its_views_are_gone(
    ledger: StoredLedger,
) -> None:
    before = ledger.frame("trajectories")
    asked = connect(ledger).execute("SELECT slot_id FROM trajectories ORDER BY 1")
    for key in ("four", "five"):
        trajectory = make_trajectory(key, synthesizer=IMPORT, task_id=make_task().task_id)
        ledger.commit(StageRef(IMPORT, key), trajectories=[trajectory], tasks=[make_task()])
        assert ledger.frame("trajectories").collect().height > 3
        assert connect(ledger).execute("SELECT count(*) FROM trajectories").fetchall() > [(3,)]
        gc.collect()
    assert before.collect().height == 3
    assert asked.fetchall() == [("a",), ("b",), ("c",)]


def test_attempts_that_were_superseded_or_not_adopted_are_in_no_frame_but_that_of_every_flow(
    ledger: StoredLedger,
) -> None:
    current = ledger.frame("trajectories").select("slot_id").collect()["slot_id"].to_list()
    assert sorted(current) == ["a", "b", "c"]
    every = (
        ledger.frame("trajectories", every=True).select("slot_id").collect()["slot_id"].to_list()
    )
    assert sorted(every) == ["a", "a", "b", "c", "d"]
    assert ledger.frame("tasks").collect().height == 1


@pytest.mark.slow
def test_only_the_first_rows_are_read_where_no_more_are_wanted(ledger: StoredLedger) -> None:
    assert ledger.frame("turns", every=True).select("turn").head(3).collect()["turn"].to_list() == [
        0,
        1,
        0,
    ]


def test_a_table_of_a_run_that_has_none_is_empty_and_typed(tmp_path: Path) -> None:
    rows = StoredLedger(str(tmp_path / "run"), create=True).frame("scores").collect()
    assert rows.height == 0
    assert rows.columns == TABLES["scores"].names


def test_a_table_that_is_none_is_refused_with_the_names_of_those_there_are(
    ledger: StoredLedger,
) -> None:
    with pytest.raises(
        ConfigError,
        match=r"there is no table 'spending'; known: tasks, trajectories, .*views such as spending",
    ):
        ledger.frame("spending")


def test_a_damaged_file_gives_no_frame(tmp_path: Path) -> None:
    made = StoredLedger(str(tmp_path / "run"), create=True)
    made.commit(
        StageRef(IMPORT, "one"),
        trajectories=[make_trajectory("a", synthesizer=IMPORT)],
        tasks=[make_task()],
    )
    (path,) = (tmp_path / "run" / "turns").iterdir()
    path.write_bytes(path.read_bytes()[:-1] + b"X")
    with pytest.raises(DamagedError, match="damaged"):
        StoredLedger(str(tmp_path / "run")).frame("turns")


def test_a_relation_can_write_nothing_and_outlives_its_connection(
    ledger: StoredLedger, tmp_path: Path
) -> None:
    import duckdb

    found = relation(ledger, "SELECT slot_id FROM trajectories ORDER BY 1")
    with pytest.raises(duckdb.PermissionException):
        found.write_parquet(str(tmp_path / "out.parquet"))
    assert not (tmp_path / "out.parquet").exists()
    assert found.fetchall() == [("a",), ("b",), ("c",)]
