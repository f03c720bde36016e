"""The stage `topology` in a flow: what it writes, what it leaves alone, and that it is done
once.
"""

from pathlib import Path

import pytest

from synth.flows.resolve import resolve
from synth.ledger import StoredLedger
from synth.ledger.sql import query
from synth.schemas.errors import FlowError
from synth.schemas.flow import Flow
from tests.flow_files import echo_flow, run_flow


def rows(url: str, sql: str) -> list[tuple[object, ...]]:
    return query(StoredLedger(url), sql).fetchall()


INNER = "node NOT IN ('START', 'SUCCESS', 'FAILURE')"


def flow(trials: int = 4) -> Flow:
    return echo_flow(
        models={"explorer": {"policy": "expert", "profiles": "mixed"}},
        stages=[{"rollout": {"trials": trials}}, "topology", {"filter": ["solved"]}],
    )


@pytest.mark.slow
def test_every_task_has_a_graph_whose_counts_are_those_of_its_trials(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    _, reports, _ = run_flow(flow(), url)
    trials = rows(
        url,
        "SELECT task_id, count(*), count(*) FILTER (outcome = 'success') FROM trajectories GROUP "
        "BY 1 ORDER BY 1",
    )
    ends = (
        "SELECT task_id, sum(n)::BIGINT, sum(n_success)::BIGINT FROM edges WHERE target_node "
        "IN ('SUCCESS', 'FAILURE') GROUP BY 1"
    )
    assert (
        rows(url, "SELECT task_id, n, n_success FROM nodes WHERE node = 'START' ORDER BY 1")
        == trials
    )
    assert rows(url, f"{ends} ORDER BY 1") == trials
    assert reports["topology"]["attempted"] == sum(int(str(count)) for _, count, _ in trials)


@pytest.mark.slow
def test_every_node_names_a_turn_that_can_be_looked_at(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(flow(), url)
    joined = (
        "SELECT count(*) FROM nodes JOIN turns ON nodes.trajectory_id = turns.trajectory_id "
        f"AND nodes.turn = turns.turn WHERE {INNER}"
    )
    assert rows(url, joined) == rows(url, f"SELECT count(*) FROM nodes WHERE {INNER}") != [(0,)]


@pytest.mark.slow
def test_every_trial_has_its_scores_and_every_task_its_own(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(flow(), url)
    (trials,), (tasks,) = rows(url, "SELECT count(*) FROM trajectories") + rows(
        url, "SELECT count(*) FROM tasks"
    )
    counted = dict(rows(url, "SELECT metric, count(*) FROM scores WHERE turn IS NULL GROUP BY 1"))
    per_trial = {
        "potential",
        "efficiency",
        "strategy",
        "recovered",
        "waste",
        "gigpo",
        "graphgpo",
        "salt",
    }
    assert {metric: counted[metric] for metric in per_trial} == dict.fromkeys(per_trial, trials)
    assert {
        counted[m]
        for m in (
            "pass_rate",
            "mixed_group",
            "error_branch_ratio",
            "strategic_heterogeneity",
            "singletons",
        )
    } == {tasks}


@pytest.mark.slow
def test_it_is_done_once_and_again_where_trials_have_come(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(flow(), url)
    before = rows(url, "SELECT count(*) FROM nodes_all")
    run_flow(flow(), url)
    assert rows(url, "SELECT count(*) FROM nodes_all") == before
    run_flow(flow(trials=5), url)
    assert rows(url, "SELECT count(*) FROM nodes_all") > before
    assert rows(url, "SELECT min(n) FROM nodes WHERE node = 'START'") == [(5,)]


def selecting(per_task: float) -> Flow:
    return echo_flow(
        models={"explorer": {"policy": "expert", "profiles": "mixed"}},
        stages=[
            {"rollout": {"trials": 6}},
            "topology",
            {"filter": ["solved"]},
            {"select": {"sft": {"per_task": per_task, "easy_share": 1.0}}},
            {"export": {"kinds": ["sft"], "include_scripted": True}},
        ],
    )


@pytest.mark.slow
def test_only_what_was_selected_is_exported_and_every_other_success_has_its_reason(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    _, reports, _ = run_flow(selecting(1), url)
    (successes,) = rows(url, "SELECT count(*) FROM trajectories WHERE outcome = 'success'")[0]
    decided = dict(
        rows(url, "SELECT reason, count(*) FROM decisions WHERE filter = 'select' GROUP BY 1")
    )
    assert sum(int(str(count)) for count in decided.values()) == successes
    assert reports["export"]["datasets"]["sft"]["rows"] == decided["chosen"] == 4
    assert set(decided) <= {"chosen", "strategy_taken", "task_has_its_share"}


@pytest.mark.slow
def test_a_selection_is_made_once_and_again_where_it_is_asked_for_otherwise(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(selecting(1), url)
    _, _, said = run_flow(selecting(1), url)
    assert "select: nothing to do" in said
    _, _, said = run_flow(selecting(0.5), url)
    assert "select: 24 trajectories to do (sft: " in said
    assert rows(url, "SELECT count(*) FROM decisions WHERE filter = 'select' AND keep") == [(2,)]


@pytest.mark.parametrize("kind", ["masked", "generated"])
@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(", "is no regular expression: missing )"),
        ("(?P<a>x)(?P<a>y)", "redefinition of group name"),
        ("x*", "matches the empty text"),
    ],
)
def test_a_pattern_that_cannot_be_looked_for_is_refused_with_its_place(
    kind: str, pattern: str, said: str
) -> None:
    with pytest.raises(FlowError) as caught:
        resolve(echo_flow(stages=[{"rollout": {}}, {"topology": {kind: {"ticket": pattern}}}]))
    assert str(caught.value).startswith(f"stages[1].topology.{kind}: ticket: {pattern!r} ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
