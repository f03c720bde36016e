"""A flow whose retries carry a memo: rows per attempt, the same after a rerun, gold-informed where
the memo intervenes.
"""

import asyncio
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from synth.engine.progress import PlainProgress
from synth.flows.synthesize import synthesize
from synth.ledger.views import connect
from synth.schemas.flow import Flow

pytestmark = pytest.mark.slow


def flow(**memo: Any) -> Flow:
    retry = {"reflector": "rules_blind", "attempts": {"n": 4, "memo": memo or True}}
    expert = {"policy": "expert", "profiles": "mixed", "weight": 3}
    return Flow.model_validate(
        {
            "name": "carried",
            "seed": 3,
            "env": {"name": "storefront", "tasks": 12},
            "models": {
                "explorer": {"policy": "mixture", "of": [expert, {"policy": "random", "weight": 1}]}
            },
            "stages": [{"rollout": {"trials": 2}}, {"reflect_retry": retry}],
        }
    )


def rows(run: Any, sql: str) -> list[tuple[Any, ...]]:
    with connect(run.ledger) as connection:
        return connection.execute(sql).fetchall()


def test_every_attempt_that_left_a_memo_has_its_proxy_and_a_rerun_adds_none(tmp_path: Path) -> None:
    run, _ = asyncio.run(synthesize(flow(), str(tmp_path / "run"), PlainProgress(StringIO())))
    pdi = rows(
        run,
        "SELECT subject_id, value, detail->>'$.step' AS step, detail->>'$.key' FROM scores WHERE "
        "metric = 'pdi' ORDER BY ALL",
    )
    assert {value is None for _, value, step, _ in pdi if int(step) < 2} == {True}
    assert {value is None for _, value, step, _ in pdi if int(step) >= 2} == {False}
    memos = rows(
        run,
        "SELECT subject_id FROM scores WHERE metric = 'reflection' AND (detail->>'$.memo') IS NOT "
        "NULL ORDER BY ALL",
    )
    assert [subject for subject, *_ in pdi] == [subject for (subject,) in memos]
    counted = rows(
        run, "SELECT min(value), max(value), count(*) FROM scores WHERE metric = 'new_evidence'"
    )
    assert counted[0][0] >= 0
    assert counted[0][1] > 0
    assert counted[0][2] > len(pdi)

    run, _ = asyncio.run(synthesize(flow(), str(tmp_path / "run"), PlainProgress(StringIO())))
    again = rows(
        run,
        "SELECT subject_id, value, detail->>'$.step' AS step, detail->>'$.key' FROM scores WHERE "
        "metric = 'pdi' ORDER BY ALL",
    )
    assert again == pdi


def test_retries_of_a_memo_that_intervenes_are_gold_informed(tmp_path: Path) -> None:
    run, _ = asyncio.run(
        synthesize(flow(intervene=True), str(tmp_path / "run"), PlainProgress(StringIO()))
    )
    assert rows(
        run, "SELECT DISTINCT gold_informed FROM trajectories WHERE synthesizer = 'reflect_retry'"
    ) == [(True,)]
    told = rows(
        run,
        "SELECT count(*) FROM trajectories WHERE guidance LIKE '%resemble each other%' OR "
        "guidance LIKE '%left out here%'",
    )
    triggered = rows(
        run,
        "SELECT count(*) FROM scores WHERE metric = 'pdi' AND (detail->>'$.triggered') = 'true'",
    )
    assert triggered[0][0] >= told[0][0] > 0
