"""Typed tables of evidence, and the run of an earlier version read through them.

`run_before_labels.tar.xz` is a run of the version before the typed tables (two storefront tasks,
every collecting stage), without its datasets, report and packs.
"""

import json
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from synth.ledger.ledger import Score, StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.ledger.typed import committed, labels, read
from synth.ledger.views import connect
from synth.schemas.evidence.labels import AttributionLabel, RetryLabel, StepLabel, StepValue

RECORDED = Path(__file__).with_name("run_before_labels.tar.xz")
REF = StageRef("critical_step", "key")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("recorded") / "run"
    with tarfile.open(RECORDED) as archive:
        archive.extractall(run, filter="data")
    return run


def asked(ledger: StoredLedger, sql: str) -> list[Any]:
    with connect(ledger) as connection:
        return connection.execute(sql).fetchall()


def test_scores_of_a_recorded_run_are_the_rows_that_it_holds(recorded: Path) -> None:
    held = [tuple(row.values()) for row in pq.read_table(recorded / "scores").to_pylist()]
    names = ", ".join(pq.read_table(recorded / "scores").column_names)
    found = asked(StoredLedger(str(recorded)), f"SELECT {names} FROM scores_all")
    assert len(held) > 400
    assert Counter(map(str, found)) == Counter(map(str, held))


def test_each_score_of_a_recorded_run_stands_in_one_typed_table(recorded: Path) -> None:
    ledger = StoredLedger(str(recorded))
    held = " UNION ALL ".join(
        f"SELECT subject_id, turn, metric, value, detail FROM {table}_all"
        for table in ("labels", "measures", "units")
    )
    scores = "SELECT subject_id, turn, metric, value, detail FROM scores_all"
    assert asked(ledger, f"({held}) EXCEPT ALL ({scores})") == []
    assert asked(ledger, f"({scores}) EXCEPT ALL ({held})") == []


def test_labels_of_a_recorded_run_have_the_columns_that_their_details_say(recorded: Path) -> None:
    ledger = StoredLedger(str(recorded))
    rows = asked(
        ledger,
        "SELECT detail, status, method, treated_successes, treated_n, control_n, accepted, "
        "evidence_class, label_id FROM labels WHERE metric = 'critical_step' ORDER BY ALL",
    )
    assert rows
    for text, status, method, successes, n, control_n, accepted, evidence, identity in rows:
        said = json.loads(text)
        assert (status, method, n) == (said["status"], said["method"], said["n_pos"])
        assert successes == said["q_pos"] * said["n_pos"]
        assert (control_n, accepted) == (said["n_neg"], said["accepted"])
        assert evidence == "exact", "the recorded policy is deterministic"
        episodes = asked(
            ledger,
            f"SELECT DISTINCT arm, trajectory_id FROM label_episodes WHERE label_id = '{identity}'",
        )
        assert set(episodes) == {
            *(("treated", one) for one in said["pos_ids"]),
            *(("control", one) for one in said["neg_ids"]),
        }


def test_typed_readers_give_every_label_of_a_recorded_run(recorded: Path) -> None:
    ledger = StoredLedger(str(recorded))
    counted = dict(asked(ledger, "SELECT metric, count(*) FROM scores GROUP BY 1"))
    steps, causes = list(labels(ledger, StepLabel)), list(labels(ledger, AttributionLabel))
    assert len(steps) == counted["critical_step"]
    assert Counter(one.metric for one in causes) == {
        name: counted[name]
        for name in ("injection", "observation_fault", "recovery", "repair")
        if name in counted
    }
    assert len(list(labels(ledger, RetryLabel))) == counted["reflection"]
    assert all(one.about.n >= one.about.successes for one in labels(ledger, StepValue))
    assert {one.about.status for one in steps} <= {"confirmed", "rejected", "undefined", "control"}
    tested = [one.about.evidence for one in causes if one.about.evidence is not None]
    assert tested
    assert all(one.treated.n == len(one.treated.episode_ids) for one in tested)


def test_step_measures_of_a_recorded_run_are_those_of_each_turn_that_has_one(
    recorded: Path,
) -> None:
    ledger = StoredLedger(str(recorded))
    expected = Counter[tuple[str, str]]()
    for subject, metric, text in asked(
        ledger,
        "SELECT subject_id, metric, detail FROM scores WHERE metric IN ('gigpo', 'salt')",
    ):
        values = json.loads(text)["steps"]
        expected[(subject, metric)] = sum(value is not None for value in values)
    found = asked(
        ledger,
        "SELECT trajectory_id, metric, count(*) FROM step_measures "
        "WHERE metric IN ('potential', 'gigpo', 'salt') GROUP BY 1, 2",
    )
    assert {(subject, metric): n for subject, metric, n in found} == {
        key: n for key, n in expected.items() if n
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "table", ["labels", "label_episodes", "measures", "step_measures", "units"]
)
def test_what_is_written_today_stands_in_the_columns_that_a_recorded_run_is_read_with(
    tmp_path: Path, recorded: Path, table: str
) -> None:
    """The rows of the recorded run, written again by today's code, give the same typed tables."""
    old = StoredLedger(str(recorded))
    new = StoredLedger(str(tmp_path / "run"), create=True)
    rows = asked(
        old, "SELECT subject_id, metric, value, turn, detail, stage, stage_key FROM scores_all"
    )
    by_stage: dict[tuple[str, str], list[Score]] = {}
    for subject, metric, value, turn, text, stage, key in rows:
        said = None if text is None else json.loads(text)
        by_stage.setdefault((stage, key), []).append(Score(subject, metric, value, turn, said))
    for (stage, key), scores in by_stage.items():
        new.commit(StageRef(stage, key), scores=scores)
    names = [
        name
        for name in new.frame(table, every=True).collect_schema().names()
        if name not in ("label_id", "detail", "act", "other_act")
    ]
    columns = ", ".join(names)
    if table == "label_episodes":
        columns = "arm, trajectory_id"
    sql = f"SELECT {columns} FROM {table}_all"
    assert Counter(map(str, asked(new, sql))) == Counter(map(str, asked(old, sql)))
    assert old.frame(table, every=True).collect().height == len(asked(old, sql))


def test_rows_are_read_in_the_order_of_their_commits_or_sorted_and_as_their_struct(
    tmp_path: Path,
) -> None:
    ledger = StoredLedger(str(tmp_path / "run"), create=True)
    ledger.begin_flow({"name": "f"}, [StageLine(REF.stage, REF.stage_key, {})])
    tested = StepLabel(
        accepted=True, q_pos=0.75, n_pos=4, q_neg=0.0, n_neg=4, method="sequential",
        stopped_at=4, pos_ids=("a", "b", "c", "d"), neg_ids=("e", "f", "g", "h"),
    )  # fmt: skip
    ledger.commit(REF, scores=[Score("two", "critical_step", 0.75, 3, tested)])
    ledger.commit(REF, scores=[Score("one", "critical_step", None, 1, StepLabel(control=True))])
    assert [row.subject_id for row in labels(ledger, StepLabel)] == ["one", "two"]
    assert [row.subject_id for row in committed(ledger, "key", StepLabel, ["critical_step"])] == [
        "two",
        "one",
    ]
    (row,) = read(ledger, StepLabel, ["critical_step"], subjects=["two"])
    assert row.about == tested
    assert row.about.evidence is not None
    assert (row.about.evidence.treated.successes, row.about.evidence.control.successes) == (3, 0)
    assert asked(
        ledger,
        "SELECT treated_successes, treated_n, control_successes, evidence_class FROM labels "
        "WHERE turn = 3",
    ) == [(3, 4, 0, "tested")]
    assert asked(ledger, "SELECT arm, count(*) FROM label_episodes GROUP BY 1 ORDER BY 1") == [
        ("control", 4),
        ("treated", 4),
    ]
