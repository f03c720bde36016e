"""The column `evidence`: what a row's label or verdict rests on."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets
import pyarrow.parquet as pq
import pytest

from synth.exporters.evidence_class import configurations, evidence_of, told
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from synth.schemas import (
    Authorship,
    CheckResult,
    Outcome,
    PrmLabel,
    Termination,
    Tier,
    Verdict,
)
from tests.synth.exporters.solved import export, export_sft, trajectory


@pytest.mark.parametrize(
    ("checked", "synthesizer", "evidence"),
    [(True, "rollout", "exact"), (False, "rollout", "declared"), (True, "import", "declared")],
    ids=["checked", "unchecked", "checked elsewhere"],
)
def test_a_chat_rests_on_the_environments_check_or_on_what_its_source_declares(
    tmp_path: Path, checked: bool, synthesizer: str, evidence: str
) -> None:
    result = CheckResult(passed=True, parts=()) if checked else None
    (row,), _ = export(tmp_path, trajectory(check_result=result, synthesizer=synthesizer))
    assert row["evidence"] == evidence
    card = next(tmp_path.rglob("README.md")).read_text()
    first = card.split("\n---\n")[1].lstrip().splitlines()[0]
    assert first == f"Evidence of the rows (column `evidence`): 1 {evidence}."


@pytest.mark.parametrize(
    ("outcome", "ended"),
    [(Outcome.UNKNOWN, Termination.DONE), (Outcome.TRUNCATED, Termination.TURN_LIMIT)],
)
def test_a_chat_that_nobody_judged_declares_nothing(
    tmp_path: Path, outcome: Outcome, ended: Termination
) -> None:
    about = {"outcome": outcome, "termination": ended, "check_result": None}
    one = trajectory(synthesizer="import", **about)
    (row,), report = export(tmp_path, one, outcomes=("success", outcome.value))
    assert row["evidence"] == "observed"
    assert any("1 of 1 rows are no successes" in note for note in report.notes)


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


def test_a_row_that_only_a_models_judgement_lets_in_is_judged_and_its_agreement_is_told(
    tmp_path: Path,
) -> None:
    agreement = "finds 38 of 40 planted leaks"
    cleared = Verdict(True, "cleared", judged=agreement)
    dropped = Verdict(False, "judged_leak", judged=agreement)
    checked = CheckResult(passed=True, parts=())
    rows = [
        (trajectory("a", check_result=checked), {"leaks": cleared}),
        (trajectory("b", check_result=checked), {"leaks": Verdict(True, "clean")}),
        (trajectory("c", check_result=checked), {"leaks": dropped}),
    ]
    export_sft(rows, DatasetFolder(tmp_path / "out"), RowSettings())
    folder, cache = str(tmp_path / "out"), str(tmp_path / "cache")
    found = {
        name: datasets.load_dataset(folder, name, split="train", cache_dir=cache)["trajectory_id"]
        for name in (None, "exact", "judged")
    }
    assert found == {None: ["b"], "exact": ["b"], "judged": ["a"]}
    card = (tmp_path / "out" / "README.md").read_text()
    assert f"Judged by a model (leaks: {agreement})." in card


@pytest.mark.parametrize("form", ["axolotl", "verl", "llamafactory"])
def test_other_forms_of_chats_tell_it_in_a_column(tmp_path: Path, form: str) -> None:
    checked = CheckResult(passed=True, parts=())
    rows = [(trajectory("a", check_result=checked), {}), (trajectory("b", check_result=None), {})]
    export_sft(rows, DatasetFolder(tmp_path / "out"), RowSettings(form=form))
    names = (tmp_path / "out").glob("*.parquet")
    found = [row for name in names for row in pq.read_table(name).to_pylist()]
    assert {one["trajectory_id"]: one["evidence"] for one in found} == {
        "a": "exact",
        "b": "declared",
    }


def test_a_task_has_no_evidence() -> None:
    with pytest.raises(TypeError, match="has no evidence"):
        evidence_of(object())


def test_each_class_is_a_configuration_and_weaker_ones_are_loaded_by_name_alone(
    tmp_path: Path,
) -> None:
    checked = CheckResult(passed=True, parts=())
    names = written(tmp_path, {"a": checked, "b": None, "c": checked})
    folder, cache = str(tmp_path / "out"), str(tmp_path / "cache")
    assert datasets.get_dataset_config_names(folder) == ["default", "exact", "declared"]
    found = {
        name: datasets.load_dataset(folder, name, split="train", cache_dir=cache)["trajectory_id"]
        for name in (None, "exact", "declared")
    }
    assert found == {None: ["a", "c"], "exact": ["a", "c"], "declared": ["b"]}
    assert [name.split("-")[1] for name in names if name.endswith("parquet")] == [
        "declared",
        "exact",
    ]
    assert (
        "Evidence of the rows (column `evidence`): 2 exact, 1 declared. Unasked, `load_dataset` "
        'gives exact alone; the others by name: `load_dataset(..., "declared")`.'
    ) in (tmp_path / "out" / "README.md").read_text().splitlines()


def test_rows_of_one_class_alone_are_loaded_unasked(tmp_path: Path) -> None:
    written(tmp_path, {"a": None, "b": None})
    folder = str(tmp_path / "out")
    assert datasets.get_dataset_config_names(folder) == ["declared"]
    loaded = datasets.load_dataset(folder, split="train", cache_dir=str(tmp_path / "cache"))
    assert loaded["trajectory_id"] == ["a", "b"]


def test_of_several_weak_classes_none_is_loaded_unasked() -> None:
    digest = "0123456789abcdef-00000.parquet"
    names = [f"train-{one}-{digest}" for one in ("declared", "observed")]
    assert configurations(names) == {"declared": names[:1], "observed": names[1:]}
    assert told({"declared": 3, "observed": 4}) == (
        "Evidence of the rows (column `evidence`): 4 observed, 3 declared. Nothing is loaded "
        'unasked; each by its name: `load_dataset(..., "declared")`, '
        '`load_dataset(..., "observed")`.'
    )


def written(tmp_path: Path, results: dict[str, CheckResult | None]) -> tuple[str, ...]:
    """The files of a data set of trajectories with these check results."""
    rows = [(trajectory(one, check_result=result), {}) for one, result in results.items()]
    return export_sft(rows, DatasetFolder(tmp_path / "out"), RowSettings()).written
