"""The column `evidence`: what a row's label or verdict rests on."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from synth.exporters.evidence_class import evidence_of
from synth.schemas import Authorship, CheckResult, PrmLabel, Tier
from tests.synth.exporters.solved import export, trajectory


@pytest.mark.parametrize(
    ("checked", "by", "evidence"),
    [
        (True, "rollout", "exact"),
        (False, "rollout", "declared"),
        (True, "import", "declared"),
    ],
    ids=["checked", "unchecked", "checked_elsewhere"],
)
def test_a_chat_rests_on_the_environments_check_or_on_what_its_source_declares(
    tmp_path: Path, checked: bool, by: str, evidence: str
) -> None:
    result = CheckResult(passed=True, parts=()) if checked else None
    one = msgspec.structs.replace(trajectory(), check_result=result, synthesizer=by)
    (row,), _ = export(tmp_path, one)
    assert row["evidence"] == evidence
    card = next(tmp_path.rglob("README.md")).read_text()
    first = card.split("\n---\n")[1].lstrip().splitlines()[0]
    assert first == f"Evidence of the rows (column `evidence`): 1 {evidence}."


def test_a_write_that_only_its_trials_outcome_speaks_for_is_observed() -> None:
    def step(**fields: Any) -> SimpleNamespace:
        given = {"trajectory_id": "t", "turn": 0, "source": "check", "policy": "p", "task_id": "k"}
        label = PrmLabel(**given, authorship=Authorship.MODEL, **fields)
        return SimpleNamespace(label=label)

    assert evidence_of(step(tier=Tier.GOLD_RULE, rule="R1", label=False)) == "exact"
    assert evidence_of(step(tier=Tier.GOLD_RULE, rule="passed_check", label=True)) == "observed"
    assert evidence_of(step(tier=Tier.STATISTICAL)) == "observed"
    tested = {"tier": Tier.INTERVENTIONAL, "n": 4}
    assert evidence_of(step(**tested, method="sequential", label=True)) == "tested"
    assert evidence_of(step(**tested, method="sequential")) == "counted"
    assert evidence_of(step(**tested, method="flip_deterministic", label=True)) == "exact"


def test_a_task_has_no_evidence() -> None:
    with pytest.raises(TypeError, match="has no evidence"):
        evidence_of(object())
