"""The stages `select` and `report` in a flow: RL tasks, what no export takes in, and the page at
the end.
"""

from pathlib import Path
from typing import Any

import pytest

from synth.flows.resolve import resolve
from synth.ledger import StoredLedger
from synth.ledger.sql import query
from synth.schemas.errors import FlowError
from synth.schemas.flow import Flow
from tests.flow_files import echo_flow, run_flow

pytestmark = pytest.mark.slow

EXPORT = {"export": {"kinds": ["sft"], "include_scripted": True}}
MIXED = {"explorer": {"policy": "expert", "profiles": "mixed"}}


def rows(url: str, sql: str) -> list[tuple[Any, ...]]:
    return query(StoredLedger(url), sql).fetchall()


def flow(select: Any, *after: Any, **changes: Any) -> Flow:
    return echo_flow(
        models=MIXED,
        stages=[{"rollout": {"trials": 6}}, "topology", {"select": select}, *after],
        **changes,
    )


def test_every_task_is_decided_on_for_rl_and_ranked_by_its_chance_of_a_mixed_group(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    _, reports, _ = run_flow(flow({"rl": {"tasks": 2, "group": 4}}), url)
    decided = rows(
        url, "SELECT trajectory_id, keep, score FROM decisions WHERE filter = 'select.rl'"
    )
    assert {task for task, *_ in decided} == {
        task for (task,) in rows(url, "SELECT task_id FROM tasks")
    }
    ranks = rows(
        url, "SELECT subject_id, value FROM scores WHERE metric = 'rl_rank' ORDER BY value"
    )
    chances = {task: chance for task, _, chance in decided}
    assert [chances[task] for task, _ in ranks] == sorted(chances.values(), reverse=True)
    assert sum(keep for _, keep, _ in decided) == 2
    (part,) = reports["select"]["parts"]
    assert (part["for"], part["attempted"], part["verified"]) == ("rl", 4, 2)
    assert sum(part["composition"]["after"]["pass rate"].values()) == 2
    assert rows(url, "SELECT count(*) FROM decisions WHERE filter = 'select'") == [(0,)]


def test_held_out_tasks_take_no_place_among_rows_or_tasks(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    held_out = {"name": "storefront", "tasks": 3, "variant": "held_out"}
    _, reports, _ = run_flow(flow({"sft": {}, "rl": {}}, EXPORT, env=held_out), url)
    assert {reason for (reason,) in rows(url, "SELECT DISTINCT reason FROM decisions")} == {
        "held_out"
    }
    told = reports["export"]["datasets"]["sft"]
    assert (set(told["left_out"]), told["filtered"]) == ({"held_out"}, {})
    allowed = {"export": {"kinds": ["sft", "rl"], "include_scripted": True, "allow_held_out": True}}
    _, reports, said = run_flow(flow({"sft": {}, "rl": {}}, allowed, env=held_out), url)
    assert "select: " in said
    assert all(part["verified"] for part in reports["select"]["parts"])


def test_rows_of_scripts_take_no_share_of_what_leaves_them_out(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(flow({}, {"export": {"kinds": ["sft"]}}), url)
    assert {
        reason
        for (reason,) in rows(url, "SELECT DISTINCT reason FROM decisions WHERE filter = 'select'")
    } == {"scripted"}


def test_the_page_is_written_at_the_end_and_again_only_where_something_changed(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    _, reports, _ = run_flow(flow({}, EXPORT, "report"), url)
    page = tmp_path / "run" / reports["report"]["path"]
    assert "select sft" in page.read_text()
    assert "export sft" in page.read_text()
    _, _, said = run_flow(flow({}, EXPORT, "report"), url)
    assert "report: nothing to do" in said
    page.unlink()
    run_flow(flow({}, EXPORT, "report"), url)
    assert page.exists()
    assert "select rl" not in page.read_text()
    _, reports, _ = run_flow(flow({"sft": {}, "rl": {}}, EXPORT, "report"), url)
    assert "select rl" in page.read_text()
    composition = reports["select"]["parts"][0]["composition"]["after"]["synthesizer"]
    assert (
        f'<td class="number">{composition["rollout"]:,}</td><td class="number">100%</td></tr>'
        in page.read_text()
    )


def test_the_page_has_no_settings() -> None:
    with pytest.raises(FlowError, match=r"stages\[3\]\.report.title"):
        resolve(flow({}, {"report": {"title": "x"}}))
