"""A harness that favours one side of every test is found out by its A/A control, and no label that
was accepted early survives it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.policy import Act, Episode, Policy, PolicySpec, View
from synth.schemas.trajectory import Authorship
from tests.synthesizers.failures.flows_of_failures import injected, injection_flow
from tests.synthesizers.fork_world import NAME, take, throw

pytestmark = pytest.mark.slow
POLICY = "tests.synthesizers.failures.test_planted_harness:biased"


class _Biased:
    """Wins its own trial, loses it with a mistake in it, and wins every continuation of a test's
    good side, whatever was put there.
    """

    def __init__(self, episode: Episode) -> None:
        self._draw = episode.draw

    async def act(self, view: View) -> Act:
        if not view.turns:
            return Act(turn=take("left" if self._draw else "right"))
        if self._draw == 0:
            return Act(turn=throw(99 if any(turn.injected for turn in view.turns) else 0))
        return Act(turn=throw(0 if (self._draw % 100 - 1) // 8 else 99))


def biased(
    settings: Mapping[str, Any], *, model_name: str | None, sampling: Mapping[str, Any]
) -> PolicySpec:
    def open_policy(episode: Episode) -> Policy:
        return _Biased(episode)

    return PolicySpec(
        name="biased",
        authorship=Authorship.SCRIPTED,
        identity={"policy": "biased"},
        open=open_policy,
    )


def test_where_the_control_accepts_no_label_is_confirmed_not_even_of_rounds_before_it(
    tmp_path: Path,
) -> None:
    stage = {"per_task": 2, "round": 2, "controls": 0.3, "strategies": {"natural": 1}}
    flow = injection_flow(
        stage,
        env={"name": NAME, "tasks": 12, "left": 50, "right": 50},
        models={"explorer": {"policy": POLICY}},
    )
    report = injected(tmp_path / "run", flow)
    with connect(StoredLedger(str(tmp_path / "run"))) as connection:

        def rows(sql: str) -> list[Any]:
            return connection.execute(sql).fetchall()

        accepted = rows(
            "SELECT subject_id FROM scores WHERE metric = 'injection_test' AND value = 1"
        )
        notes = [
            json.loads(text)
            for (text,) in rows("SELECT detail FROM scores_all WHERE metric = 'injection_attempt'")
        ]
        controls = rows("SELECT value FROM scores_all WHERE metric = 'injection_control'")
        labels = rows("SELECT value, detail->>'$.status' FROM scores WHERE metric = 'injection'")
    assert len({note["round"] for note in notes if note["reason"] == "accepted"}) > 1, (
        "accepted in several rounds"
    )
    assert (1.0,) in controls, "at the first turn, where what is put decides nothing"
    assert len(labels) >= len(accepted) > 5
    assert set(labels) == {(0.0, "weak")}
    assert any("all labels are weak" in line for line in report["also"])
    assert report["verified"] == 0
    assert report["rejected"]["weak_by_control"] == len(accepted)
