"""Labels as spreadsheets, pandas and harnesses write them."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.synth.importers.shapes.test_labels import chat, lines, outcomes

FAILED, PASSED, UNKNOWN = "failure", "success", "unknown"


def chats(folder: Path, *names: Any) -> Path:
    """Chats number 1 and on, by their names."""
    told = [chat(place, id=name) for place, name in enumerate(names, 1)]
    return lines(folder / "chats.jsonl", told)


@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_a_table_is_cut_where_its_line_of_names_is(tmp_path: Path, between: str) -> None:
    told = tmp_path / "labels.csv"
    rows = [("id", "resolved", "note"), ("7", "TRUE", "a"), ("8", "FALSE", "b"), ("9", "", "c")]
    told.write_text("\n\n" + "".join(between.join(row) + "\n" for row in rows))
    found, _ = outcomes(tmp_path, chats(tmp_path, 7, 8, 9), told)
    assert found == {"1": PASSED, "2": FAILED, "3": UNKNOWN}


def test_what_stands_in_a_quoted_name_cuts_nothing(tmp_path: Path) -> None:
    told = tmp_path / "labels.csv"
    told.write_text('id,resolved,"notes; by a; b; c"\n7,true,x;y\n')
    found, _ = outcomes(tmp_path, chats(tmp_path, 7), told)
    assert found == {"1": PASSED}


def test_whole_numbers_that_pandas_wrote_as_fractions_are_names(tmp_path: Path) -> None:
    told = tmp_path / "labels.parquet"
    pq.write_table(pa.table({"id": [7.0, 8.0, None], "passed": [True, False, True]}), told)
    found, _ = outcomes(tmp_path, chats(tmp_path, 7, 8), told)
    assert found == {"1": PASSED, "2": FAILED}


@pytest.mark.parametrize("say", [lambda ok: {"passed": ok}, lambda ok: "PASS" if ok else "fail"])
def test_an_object_by_name_may_hold_rows_or_words(tmp_path: Path, say: Any) -> None:
    told = tmp_path / "labels.json"
    told.write_text(json.dumps({"run-1": say(True), "run-2": say(False)}))
    found, _ = outcomes(tmp_path, chats(tmp_path, "run-1", "run-2", "run-3"), told)
    assert found == {"1": PASSED, "2": FAILED, "3": UNKNOWN}


@pytest.mark.parametrize("key", ["pending_ids", "failed_ids"])
def test_an_instance_that_a_report_has_not_judged_has_no_verdict(tmp_path: Path, key: str) -> None:
    names = ["a__b-1", "a__b-2", "a__b-3"]
    report = {"submitted_ids": names, "completed_ids": names, "resolved_ids": names[:1]}
    told = tmp_path / "report.json"
    told.write_text(json.dumps(report | {key: names[2:]}))
    found, _ = outcomes(tmp_path, chats(tmp_path, *names), told)
    assert found == {"1": PASSED, "2": FAILED, "3": UNKNOWN}


def test_an_evaluation_that_broke_is_no_failure(tmp_path: Path) -> None:
    def row(name: str, **report: bool) -> dict[str, Any]:
        return {"instance_id": name, "test_result": {"report": {"resolved": False, **report}}}

    told = lines(tmp_path / "output.jsonl", [row("a__b-1", error_eval=True), row("a__b-2")])
    found, _ = outcomes(tmp_path, chats(tmp_path, "a__b-1", "a__b-2"), told)
    assert found == {"1": UNKNOWN, "2": FAILED}


def test_reports_of_multi_swe_bench_name_instances_in_their_own_way(tmp_path: Path) -> None:
    told = tmp_path / "final_report.json"
    ids = {"resolved_ids": ["cli/cli:pr-1"], "unresolved_ids": ["cli/cli:pr-11"]}
    told.write_text(json.dumps(ids))
    found, _ = outcomes(tmp_path, chats(tmp_path, "cli__cli-1", "cli__cli-11"), told)
    assert found == {"1": PASSED, "2": FAILED}
