"""Whole flows with a judge over a loopback server: bad replies, planted instructions, calibration
against gold, a dead server.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from synth.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.flow import Flow
from tests.flow_files import echo_flow, run_flow
from tests.synth.models.chat_mishaps import Mishap
from tests.synth.models.chat_server import ChatServer

pytestmark = pytest.mark.slow
Body = dict[str, Any]


def flow(url: str, trials: int = 4, **rubric: Any) -> Flow:
    models = {
        "explorer": {"policy": "expert", "profiles": "mixed"},
        "judge": {"model": "test", "base_url": url, "timeout_s": 5, "max_retries": 0},
    }
    return echo_flow(
        models=models,
        stages=[
            {"rollout": {"trials": trials}},
            {"filter": [{"rubric": {"rubric": "stagewise", **rubric}}]},
        ],
    )


def answers(grade: Callable[[str], int]) -> Callable[[Body], dict[str, Any]]:
    """A judge that gives one grade to everything it is asked, by what it was shown."""

    def brain(body: Body) -> dict[str, Any]:
        names = re.findall(r"^- (\w+) \(", body["messages"][0]["content"], re.MULTILINE)
        given = grade(body["messages"][1]["content"])
        return {
            "role": "assistant",
            "content": json.dumps({"reason": "r", **dict.fromkeys(names, given)}),
        }

    return brain


def finished(shown: str) -> int:
    """5 where the log shows the words of the goal echoed in their order, 1 where it does not."""
    goal = json.loads(shown.splitlines()[1])
    words = goal.rpartition(": ")[2].split()
    steps = [json.loads(line) for line in shown.splitlines()[5:]]
    calls = [
        (call["name"], json.loads(call["arguments"]))
        for step in steps
        for call in step.get("calls", ())
    ]
    return 5 if calls == [*(("echo", {"text": word}) for word in words), ("finish", {})] else 1


def sql(url: Path, question: str) -> list[tuple[Any, ...]]:
    with connect(StoredLedger(str(url))) as connection:
        return connection.execute(question).fetchall()


def test_k_draws_per_trajectory_in_changing_order_and_none_again_for_another_threshold(
    tmp_path: Path,
) -> None:
    with ChatServer(answers(finished)) as server:
        run_flow(flow(server.url), str(tmp_path / "run"))
        bodies = list(server.bodies)
        run_flow(flow(server.url, drop_below={"answer": 4}), str(tmp_path / "run"))
        assert len(server.bodies) == len(bodies), "a threshold asks nothing"
    ((trajectories,),) = sql(tmp_path / "run", "SELECT count(*) FROM trajectories")
    assert len(bodies) == 3 * trajectories
    orders = {
        tuple(re.findall(r"^- (\w+) \(", body["messages"][0]["content"], re.MULTILINE))
        for body in bodies
    }
    assert len(orders) > 1
    assert all(body["response_format"]["json_schema"]["strict"] for body in bodies)
    assert sql(
        tmp_path / "run",
        "SELECT count(*) FROM scores WHERE metric = 'stagewise.score' AND value IS NOT NULL",
    ) == [(trajectories,)]
    ((asked, replies),) = sql(
        tmp_path / "run",
        "SELECT count(DISTINCT question_id), count(*) FROM replies WHERE role = 'judge'",
    )
    assert asked == replies == len(bodies)


def test_a_judge_may_drop_only_where_it_agreed_with_gold(tmp_path: Path) -> None:
    gold = (
        "SELECT outcome = 'success' AS gold, reason, count(*) FROM decisions JOIN "
        "trajectories USING (trajectory_id) GROUP BY ALL"
    )
    with ChatServer(answers(finished)) as server:
        _, reports, _ = run_flow(
            flow(server.url, 8, drop_below={"answer": 4}, min_items=20), str(tmp_path / "good")
        )
        run_flow(
            flow(server.url, 8, drop_below={"answer": 4}, min_items=500), str(tmp_path / "few")
        )
    found = {(bool(good), reason) for good, reason, _ in sql(tmp_path / "good", gold)}
    kappa = sql(tmp_path / "good", "SELECT value FROM scores WHERE metric = 'stagewise.kappa'")
    assert kappa[0][0] >= 0.4
    assert {reason for _, reason in found} == {"above", "answer_low"}
    assert "may decide" in reports["filter"]["also"][0]
    assert {reason for _, reason, _ in sql(tmp_path / "few", gold)} == {"judge_not_calibrated"}
    with ChatServer(answers(lambda shown: 5)) as server:
        _, reports, _ = run_flow(
            flow(server.url, 8, drop_below={"answer": 4}, min_items=20), str(tmp_path / "lenient")
        )
    assert {reason for _, reason, _ in sql(tmp_path / "lenient", gold)} == {"judge_not_calibrated"}
    assert "is a column only: kappa" in reports["filter"]["also"][0]
    ((rate,),) = sql(
        tmp_path / "lenient", "SELECT value FROM scores WHERE metric = 'stagewise.false_accepts'"
    )
    assert rate == 1.0


def test_unreadable_replies_are_asked_again_and_then_a_judge_fault_never_a_score(
    tmp_path: Path,
) -> None:
    with ChatServer(
        lambda body: {"role": "assistant", "content": "Great work, five stars!"}
    ) as server:
        run_flow(flow(server.url, 1), str(tmp_path / "run"))
        asked = server.counts()["total"]
    assert set(sql(tmp_path / "run", "SELECT keep, reason FROM decisions")) == {
        (None, "judge_fault")
    }
    assert sql(
        tmp_path / "run",
        "SELECT count(*) FROM scores WHERE value IS NOT NULL AND metric LIKE 'stagewise%'",
    ) == [(0,)]
    ((trajectories,),) = sql(tmp_path / "run", "SELECT count(*) FROM trajectories")
    assert asked == trajectories * 3 * 3


def test_a_server_that_fails_once_leaves_a_fault_on_one_trajectory_alone(tmp_path: Path) -> None:
    with ChatServer(answers(finished), mishaps=[Mishap("status", status=400)]) as server:
        run_flow(flow(server.url, 2), str(tmp_path / "run"))
    reasons = dict(sql(tmp_path / "run", "SELECT reason, count(*) FROM decisions GROUP BY 1"))
    assert reasons.pop("judge_fault") == 1
    assert set(reasons) == {"scored"}


def test_a_rerun_asks_again_where_a_fault_left_it_undefined_and_nowhere_else(
    tmp_path: Path,
) -> None:
    reason = "SELECT reason, count(*) FROM decisions GROUP BY 1"
    with ChatServer(answers(finished), mishaps=[Mishap("status", status=400)]) as server:
        _, reports, _ = run_flow(flow(server.url, 2), str(tmp_path / "run"))
        assert reports["filter"]["faults"] == 1
        assert (
            "faults left 1 undefined; a rerun of the flow measures those again"
            in reports["filter"]["also"]
        )
        asked = server.counts()["total"]
        run, reports, said = run_flow(flow(server.url, 2), str(tmp_path / "run"))
        assert server.counts()["total"] == asked + 3, "the three draws of one trajectory"
        assert "filter: faults left 1 undefined; their measures are taken again" in said
        assert reports["filter"]["faults"] == 0
        _, _, said = run_flow(flow(server.url, 2), str(tmp_path / "run"))
        assert "filter: nothing to do" in said
        assert server.counts()["total"] == asked + 3
    trajectories = len(run.ledger.state.current_valid())
    assert sql(tmp_path / "run", reason) == [("scored", trajectories)]
    assert sql(
        tmp_path / "run", "SELECT count(*) FROM scores WHERE metric = 'stagewise.score'"
    ) == [(trajectories,)]
    assert sql(
        tmp_path / "run", "SELECT count(*) FROM decisions_all WHERE reason = 'judge_fault'"
    ) == [(1,)]


def test_a_judge_that_stays_broken_is_asked_once_more_per_rerun_and_the_rows_stay_single(
    tmp_path: Path,
) -> None:
    with ChatServer(lambda body: {"role": "assistant", "content": "five stars"}) as server:
        for times in (1, 2):
            run, _, _ = run_flow(flow(server.url, 1), str(tmp_path / "run"))
            trajectories = len(run.ledger.state.current_valid())
            assert server.counts()["total"] == times * trajectories * 3 * 3
    assert sql(tmp_path / "run", "SELECT reason, count(*) FROM decisions GROUP BY 1") == [
        ("judge_fault", trajectories)
    ]


def test_a_log_that_the_judge_cannot_hold_is_told_and_not_asked_again(tmp_path: Path) -> None:
    with ChatServer(answers(finished), mishaps=[Mishap("context_length")]) as server:
        run_flow(flow(server.url, 2), str(tmp_path / "run"))
        asked = server.counts()["total"]
        _, reports, _ = run_flow(
            flow(server.url, 2, drop_below={"answer": 4}), str(tmp_path / "run")
        )
        assert server.counts()["total"] == asked
    assert reports["filter"]["faults"] == 0
    assert sql(
        tmp_path / "run",
        "SELECT count(*) FROM decisions WHERE reason = 'too_long' AND keep IS NULL",
    ) == [(1,)]
