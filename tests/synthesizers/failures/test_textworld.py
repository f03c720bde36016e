"""Injections in a text adventure, whose tools are verbs and whose answers are prose."""

import asyncio
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.synthesizers.failures.flows_of_failures import injected, injection_flow, scores
from tests.synthesizers.failures.verify_labels import verified


@pytest.mark.slow
@pytest.mark.skipif(find_spec("textworld") is None, reason="needs the extra textworld")
@pytest.mark.nightly
def test_rules_apply_in_a_text_adventure_and_every_label_there_is_right(tmp_path: Path) -> None:
    explorer = {
        "policy": "mixture",
        "of": [{"policy": "expert", "weight": 0.9}, {"policy": "random", "weight": 0.1}],
    }
    report = injected(
        tmp_path / "run",
        injection_flow(
            {"per_task": 6, "strategies": {"rule": 1, "natural": 1}},
            {"trials": 2, "limits": {"max_turns": 30}},
            env={"name": "textworld", "tasks": 4},
            models={"explorer": explorer},
        ),
    )
    assert report["attempted"] == 24
    assert report["verified"] + sum(report["rejected"].values()) == 24
    modes = {
        row["detail"]["mode"]
        for metric in ("injection", "recovery")
        for row in scores(tmp_path / "run", metric)
    }
    assert {"FM-1.1", "FM-1.3", "natural"} <= modes
    _, wrong = asyncio.run(verified(str(tmp_path / "run")))
    assert wrong == {}
