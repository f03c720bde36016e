"""Passes without second evidence in the graphs of the report: only along ways that they went
themselves.
"""

from pathlib import Path

import pytest

from synth.ledger import StoredLedger
from synth.ledger.ledger import Decision, StageRef
from tests.flow_files import echo_flow, run_flow
from tests.synth.report.episodes import report

pytestmark = pytest.mark.slow


def test_a_lucky_pass_is_marked_in_the_graph_of_its_own_task_alone(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    profiles = {"explorer": {"policy": "expert", "profiles": "mixed"}}
    flow = echo_flow(
        models=profiles, stages=[{"rollout": {"trials": 4}}, "topology", {"filter": ["solved"]}]
    )
    run_flow(flow, url)
    ledger = StoredLedger(url)
    assert "of a pass without second evidence</title>" not in report(ledger, "synth report")
    lucky = next(one for one in ledger.trajectories() if one.outcome == "success")
    decision = Decision(lucky.trajectory_id, "select", False, "lucky_unproven")
    ledger.commit(
        StageRef("filter", ledger.state.stages["filter"].stage_key),
        decisions=[decision],
        name="by hand",
    )
    page = report(StoredLedger(url), "synth report")
    graphs = page.split("<details")[1:]
    marked = [graph for graph in graphs if "of a pass without second evidence</title>" in graph]
    assert len(graphs) == 4
    assert [lucky.task_id[:8] in graph for graph in marked] == [True]
