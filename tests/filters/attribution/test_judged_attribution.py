"""The filter `attribution` in whole flows: by rules, and by a judge over a loopback server (no real
model was asked).
"""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from synth.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.flow import Flow
from tests.flow_files import echo_flow, run_flow
from tests.synth.models.chat_server import ChatServer

pytestmark = pytest.mark.slow
Body = dict[str, Any]


def flow(url: str, **attribution: Any) -> Flow:
    models = {
        "explorer": {"policy": "random"},
        "judge": {"model": "test", "base_url": url, "timeout_s": 5, "max_retries": 0},
    }
    return echo_flow(
        models=models,
        stages=[{"rollout": {"trials": 2}}, {"filter": [{"attribution": attribution}]}],
    )


def said(body: Body, **answer: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": json.dumps({"reason": "r", **answer})}


def rows(folder: Path) -> list[tuple[Any, ...]]:
    sql = """SELECT outcome, turn, value, scores.detail->>'$.agent', scores.detail->>'$.mode',
            scores.detail->>'$.by', keep, reason
        FROM scores JOIN trajectories ON subject_id = trajectory_id
            JOIN decisions USING (trajectory_id)
        WHERE metric = 'attribution'"""
    with connect(StoredLedger(str(folder))) as connection:
        return connection.execute(f"{sql} ORDER BY ALL").fetchall()


def test_rules_annotate_every_failure_and_drop_nothing(tmp_path: Path) -> None:
    run_flow(flow("http://127.0.0.1:9/v1"), str(tmp_path / "run"))
    found = rows(tmp_path / "run")
    assert len(found) == 8
    failures = [row for row in found if row[0] == "failure"]
    assert failures
    assert all(
        row[2] == 1.0 and row[3] == "agent" and row[5] == "rules" and row[7] == row[4]
        for row in failures
    )
    assert all(row[1] is None and row[7] == row[0] for row in found if row[0] != "failure")
    assert {row[6] for row in found} == {None}


def test_the_step_that_most_draws_name_wins_and_the_share_is_kept(tmp_path: Path) -> None:
    seeds: dict[str, list[int]] = {}

    def brain(body: Body) -> dict[str, Any]:
        known = seeds.setdefault(body["messages"][1]["content"], [])
        known += [] if body["seed"] in known else [body["seed"]]
        return said(body, agent="agent", step=int(known.index(body["seed"]) == 2), mode="FM-1.3")

    with ChatServer(brain) as server:
        run_flow(flow(server.url, by="all_at_once"), str(tmp_path / "run"))
    failures = [row for row in rows(tmp_path / "run") if row[0] == "failure"]
    assert failures
    assert {row[1:6] for row in failures} == {(0, 2 / 3, "agent", "FM-1.3", "judge_all_at_once")}


def test_step_by_step_stops_at_the_first_step_that_is_called_decisive(tmp_path: Path) -> None:
    def brain(body: Body) -> dict[str, Any]:
        step = int(re.findall(r"Is step (\d+)", body["messages"][1]["content"])[-1])
        return said(body, decisive=step == 1, mode="FM-2.3" if step == 1 else None)

    with ChatServer(brain) as server:
        run_flow(flow(server.url, by="step_by_step", samples=1), str(tmp_path / "run"))
        asked = [
            int(re.findall(r"Is step (\d+)", body["messages"][1]["content"])[-1])
            for body in server.bodies
        ]
    with connect(StoredLedger(str(tmp_path / "run"))) as connection:
        turns = [
            n
            for (n,) in connection.execute(
                "SELECT n_turns FROM trajectories WHERE outcome = 'failure'"
            ).fetchall()
        ]
    named = (1, 1.0, "agent", "FM-2.3", "judge_step_by_step")
    failures = [row[1:6] for row in rows(tmp_path / "run") if row[0] == "failure"]
    assert Counter(failures) == {named: sum(n > 1 for n in turns), (None,) * 5: turns.count(1)}
    assert Counter(asked) == {0: len(turns), 1: sum(n > 1 for n in turns)}


def test_an_unreadable_reply_is_asked_for_again_and_then_a_fault_of_the_judge_that_is_no_label(
    tmp_path: Path,
) -> None:
    with ChatServer(
        lambda body: {"role": "assistant", "content": "It was the second step, I think."}
    ) as server:
        run_flow(flow(server.url, by="all_at_once", samples=1), str(tmp_path / "run"))
        first = len(server.bodies)
    with connect(StoredLedger(str(tmp_path / "run"))) as connection:
        failures = connection.execute(
            "SELECT count(*) FROM trajectories WHERE outcome = 'failure'"
        ).fetchall()[0][0]
        assert first == 3 * failures
        scored = connection.execute(
            "SELECT count(*) FROM scores JOIN trajectories ON subject_id = trajectory_id WHERE "
            "outcome = 'failure'"
        )
        assert scored.fetchall() == [(0,)], "a fault is kept as no measure: it is tried again"
        decided = connection.execute(
            "SELECT keep, reason, count(*) FROM decisions WHERE reason = 'judge_fault' GROUP BY ALL"
        ).fetchall()
    assert decided == [(None, "judge_fault", failures)]
