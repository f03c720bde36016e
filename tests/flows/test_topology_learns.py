"""The stage `topology` does some trials again, learns what their worlds answer differently each
time, and keeps it.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from synth.cli.graph import graph
from synth.ledger import StoredLedger
from synth.ledger.sql import query
from synth.schemas.flow import Flow
from tests.flow_files import echo_flow, run_flow
from tests.synth.topology.restless_world import NAME

pytestmark = pytest.mark.slow


def flow(**settings: Any) -> Flow:
    return echo_flow(
        env={"name": NAME, "tasks": 2, "turns": 3}, models={"explorer": {"policy": "expert"}},
        stages=[{"rollout": {"trials": 3}}, {"topology": settings}],
    )  # fmt: skip


def trials_of_nodes(url: str) -> set[object]:
    return {
        n
        for (n,) in query(
            StoredLedger(url),
            "SELECT n FROM nodes WHERE node NOT IN ('START', 'SUCCESS', 'FAILURE')",
        ).fetchall()
    }


def test_turns_that_differ_in_what_replays_answer_differently_are_one(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    _, reports, _ = run_flow(flow(learn=4), url)
    assert trials_of_nodes(url) == {3}
    rows = query(
        StoredLedger(url),
        "SELECT subject_id, value, detail FROM scores WHERE metric = 'volatile_field'",
    ).fetchall()
    found = {
        (world, value, msgspec.json.decode(detail)["tool"], msgspec.json.decode(detail)["place"])
        for world, value, detail in rows
    }
    assert found == {(NAME, 1.0, "echo", ".request"), (NAME, 1.0, "finish", ".request")}
    assert any("echo .request differs each time" in line for line in reports["topology"]["also"])
    before = query(StoredLedger(url), "SELECT count(*) FROM scores_all").fetchall()
    run_flow(flow(learn=4), url)
    assert query(StoredLedger(url), "SELECT count(*) FROM scores_all").fetchall() == before, (
        "it is learned once"
    )


@pytest.mark.parametrize("settings", [{"learn": 0}, {}])
def test_a_world_that_is_not_deterministic_is_stepped_again_only_where_the_flow_says_so(
    tmp_path: Path, settings: dict[str, int]
) -> None:
    url = str(tmp_path / "run")
    run_flow(flow(**settings), url)
    assert trials_of_nodes(url) == {1}


def test_why_two_turns_are_one_is_told_as_the_run_masked_them(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(flow(learn=4), url)
    one, other = [t.trajectory_id for t in StoredLedger(url).trajectories()][:2]
    same = [
        CliRunner().invoke(graph, [url, "--why", f"{one}:0", f"{other}:0"]).stdout.splitlines()[1]
    ]
    assert same == ["observation: equal"]
