"""The offline index on a storefront run whose retries carry a memo, with skill texts of a model
behind a loopback server.
"""

import asyncio
import json
from io import StringIO
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import pytest

from synth.engine.progress import PlainProgress
from synth.flows.synthesize import synthesize
from synth.ledger.views import connect
from synth.schemas.errors import FlowError
from synth.schemas.flow import Flow
from tests.synth.models.chat_server import ChatServer

pytestmark = pytest.mark.slow


def flow(
    tasks: int,
    writer: ChatServer | None,
    memo: bool = True,
    after: tuple[Any, ...] = (),
    **settings: Any,
) -> Flow:
    expert = {"policy": "expert", "profiles": "mixed", "weight": 2}
    models: dict[str, Any] = {
        "explorer": {"policy": "mixture", "of": [expert, {"policy": "random", "weight": 1}]}
    }
    if writer is not None:
        models["skill_writer"] = {"engine": "vllm", "model": "test-model", "base_url": writer.url}
    retry = {"reflector": "rules_blind", "attempts": {"n": 5, "memo": memo}}
    stages = [
        {"rollout": {"trials": 3}},
        {"reflect_retry": retry},
        {"filter": [{"pdi": settings}]},
        *after,
    ]
    env = {"name": "storefront", "tasks": tasks}
    return Flow.model_validate(
        {"name": "index", "seed": 3, "env": env, "models": models, "stages": stages}
    )


def made(tmp_path: Path, flow: Flow) -> Any:
    return asyncio.run(synthesize(flow, str(tmp_path / "run"), PlainProgress(StringIO())))


def asked(run: Any, sql: str) -> list[tuple[Any, ...]]:
    with connect(run.ledger) as connection:
        return connection.execute(sql).fetchall()


def skill(body: dict[str, Any]) -> dict[str, Any]:
    text = str(body["messages"][-1]["content"])
    return {
        "role": "assistant",
        "content": f"When a customer writes: read every page, then act. "
        f"{' '.join(text.split()[5:25])}",
    }


@pytest.mark.nightly
def test_the_index_is_the_difference_of_z_scores_over_the_tasks_that_have_a_skill_text(
    tmp_path: Path,
) -> None:
    with ChatServer(skill) as server:
        run, _ = made(tmp_path, flow(150, server))
    rows = asked(
        run,
        "SELECT s.subject_id, t.task_id, s.detail FROM scores s JOIN trajectories t ON "
        "t.trajectory_id = s.subject_id "
        "WHERE s.metric = 'pdi_inputs' AND s.detail LIKE '%exec%' ORDER BY s.subject_id",
    )
    of_task: dict[str, tuple[str, dict[str, float]]] = {}
    for identity, task, detail in rows:
        of_task.setdefault(task, (identity, json.loads(detail)))
    found = {
        subject: (value, json.loads(text))
        for subject, value, text in asked(
            run, "SELECT subject_id, value, detail FROM scores WHERE metric = 'pdi_index'"
        )
    }
    assert len(of_task) >= 20
    assert found.keys() == {identity for identity, _ in of_task.values()}
    columns = {name: [one[name] for _, one in of_task.values()] for name in ("exec", "plan", "oss")}
    for identity, one in of_task.values():
        z = {
            name: (one[name] - fmean(column)) / pstdev(column) if pstdev(column) else 0.0
            for name, column in columns.items()
        }
        assert found[identity][0] == pytest.approx(z["exec"] - z["plan"] - z["oss"])
        assert found[identity][1]["tasks"] == len(of_task)
    texts = asked(
        run,
        "SELECT count(*) FROM scores WHERE metric = 'skill' AND detail->>'$.text' LIKE 'When a "
        "customer%'",
    )
    assert texts == [(len(rows),)]
    assert {
        keep for (keep,) in asked(run, "SELECT DISTINCT keep FROM decisions WHERE filter = 'pdi'")
    } == {None}


def test_without_a_writer_a_memo_or_enough_tasks_there_is_no_index_and_the_reason_is_told(
    tmp_path: Path,
) -> None:
    run, reports = made(tmp_path, flow(20, None))
    reasons = {
        reason
        for (reason,) in asked(run, "SELECT DISTINCT reason FROM decisions WHERE filter = 'pdi'")
    }
    assert "no_skill_document" in reasons
    assert reasons <= {"no_skill_document", "no_chain", "no_success", "below_three_attempts"}
    assert asked(run, "SELECT count(*) FROM scores WHERE metric = 'pdi_index'") == [(0,)]
    assert "no index: 0 tasks have a chain with a skill text, 20 are needed" in str(reports)
    run, _ = made(tmp_path / "plain", flow(20, None, memo=False))
    assert {
        reason
        for (reason,) in asked(run, "SELECT DISTINCT reason FROM decisions WHERE filter = 'pdi'")
    } == {
        "no_chain",
        "no_success",
        "no_memo",
    }


def test_dropping_by_it_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(FlowError, match="pdi is a diagnostic and drops nothing"):
        made(tmp_path, flow(2, None, drop=True))
    assert not (tmp_path / "run").exists()
