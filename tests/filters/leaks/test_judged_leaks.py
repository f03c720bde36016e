"""The filter `leaks` in whole flows: a retry that alludes to its lesson, and a judge over a
loopback server (no real model was asked).
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from synth.filters.leaks.calibration import AT_ONCE, EACH, SUBJECT, planted_questions
from synth.ledger import StoredLedger
from synth.ledger.views import connect
from tests.flow_files import run_flow
from tests.synth.models.chat_brains import Body
from tests.synth.models.chat_server import ChatServer
from tests.synthesizers.reflection.desk import guided, reflecting_flow, stutterer

pytestmark = pytest.mark.slow
ALLUSION = "My mentor advised me after the lost round to look first."
Says = Callable[[str], bool]
LEAKING = {request.messages[1]["content"] for planted, request in planted_questions(0.5) if planted}


def knows(asked: str) -> bool:
    """A judge that finds what was planted, and the allusion."""
    return asked in LEAKING or ALLUSION in asked


def brain_of(judge: Says, told: str) -> Callable[[Body], dict[str, Any]]:
    agent = stutterer()

    def brain(body: Body) -> dict[str, Any]:
        messages = body["messages"]
        if str(messages[0]["content"]).startswith("An agent was told something in secret"):
            said = {"reason": "r", "leaks": judge(messages[1]["content"])}
            return {"role": "assistant", "content": json.dumps(said)}
        answer = agent(body)
        return {**answer, "content": told} if guided(body) else answer

    return brain


def decided(
    tmp_path: Path, judge: Says | None, told: str = ALLUSION, **leaks: Any
) -> tuple[dict[str, set[Any]], ChatServer]:
    """The decisions on retries that say what is `told`, by filter, and the server asked."""
    with ChatServer(brain_of(judge or knows, told)) as server:
        model = {"model": "test", "base_url": server.url, "timeout_s": 5, "max_retries": 1}
        models = {"explorer": model, "reflector": model}
        models |= {} if judge is None else {"judge": model}
        flow = reflecting_flow(
            server.url,
            {"off_policy_samples": 0},
            {"filter": [{"leaks": leaks}]},
            {"export": {"kinds": ["sft"]}},
            models=models,
        )
        run_flow(flow, str(tmp_path / "run"))

    with connect(StoredLedger(str(tmp_path / "run"))) as connection:
        rows = connection.execute(
            """SELECT filter, keep, reason FROM decisions JOIN trajectories USING (trajectory_id)
            WHERE synthesizer = 'reflect_retry' AND filter IN ('leak', 'leaks')"""
        ).fetchall()

    found: dict[str, set[Any]] = {}
    for name, keep, reason in rows:
        found.setdefault(name, set()).add((keep, reason))

    return found, server


def evidence(tmp_path: Path) -> list[str]:
    """What rows of retries rest on."""
    files = (tmp_path / "run" / "datasets" / "sft").glob("*.parquet")
    rows = (row for path in files for row in pq.read_table(path).to_pylist())
    return [row["evidence"] for row in rows if row["synthesizer"] == "reflect_retry"]


def exported(tmp_path: Path) -> int:
    """Rows of retries."""
    return len(evidence(tmp_path))


def test_without_a_judge_it_is_unverified_and_in_no_data_set(tmp_path: Path) -> None:
    found, _ = decided(tmp_path, None)
    assert found == {"leak": {(None, "unverified")}, "leaks": {(None, "unverified")}}
    assert exported(tmp_path) == 0


def test_a_judge_that_finds_what_was_planted_drops_it(tmp_path: Path) -> None:
    found, server = decided(tmp_path, knows)
    assert found["leaks"] == {(False, "judged_leak")}
    asked = [body["messages"][1]["content"] for body in server.bodies]
    assert sum(text in LEAKING for text in asked) == 2 * EACH
    assert SUBJECT not in "".join(asked)


def test_a_judge_that_finds_what_was_planted_clears_it(tmp_path: Path) -> None:
    found, _ = decided(tmp_path, lambda asked: asked in LEAKING)
    assert found["leaks"] == {(True, "cleared")}
    assert set(evidence(tmp_path)) == {"judged"}
    card = (tmp_path / "run" / "datasets" / "sft" / "README.md").read_text(encoding="utf-8")
    assert f"(leaks: finds {2 * EACH} of {2 * EACH} planted leaks, and sees one in 0 of " in card


@pytest.mark.parametrize("calibrate", ["suspected", "always"])
def test_a_judge_may_be_asked_about_what_is_planted_though_nothing_is_suspected(
    tmp_path: Path, calibrate: str
) -> None:
    found, server = decided(tmp_path, knows, "Let me look.", calibrate=calibrate)
    assert found["leaks"] == {(True, "clean")}
    asked = [body["messages"][1]["content"] for body in server.bodies]
    assert sum(text in LEAKING for text in asked) == (calibrate == "always") * 2 * EACH
    with connect(StoredLedger(str(tmp_path / "run"))) as connection:
        rows = connection.execute(
            "SELECT max(json_extract(detail, '$.calibration.caught')::INT) FROM scores "
            "WHERE metric = 'leaks.judged'"
        ).fetchall()
    assert rows == [(2 * EACH if calibrate == "always" else None,)]


@pytest.mark.parametrize(
    "judge", [lambda asked: False, lambda asked: True], ids=["deaf", "nervous"]
)
def test_a_judge_that_always_says_the_same_decides_nothing(tmp_path: Path, judge: Says) -> None:
    found, server = decided(tmp_path, judge)
    assert found["leaks"] == {(None, "unverified")}
    assert exported(tmp_path) == 0
    asked = [body["messages"][0]["content"] for body in server.bodies]
    assert sum(text.startswith("An agent was told") for text in asked) == AT_ONCE, (
        "no more is needed"
    )
