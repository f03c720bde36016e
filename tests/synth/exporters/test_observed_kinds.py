"""Data sets of collected trials: kinds of their own, read by `datasets`, and told of honestly."""

import json
from pathlib import Path

from datasets import load_dataset

from synth.exporters.export import export
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from tests.synth.exporters.kind_rows import rows_of
from tests.synth.pairs.observed.test_observed import three_each
from tests.synth.pairs.planted import planted


def test_rows_have_the_columns_of_pairs_and_say_what_they_rest_on(tmp_path: Path) -> None:
    (row,), report = rows_of(tmp_path, "dpo_observed", planted(tmp_path, three_each(), []))
    assert row["evidence"] == "observed"
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    assert row["chosen"][0]["tool_calls"][0]["function"]["name"] == "look"
    assert row["rejected"][0]["tool_calls"][0]["function"]["name"] == "take"
    assert (row["chosen_successes"], row["rejected_trials"], row["single"]) == (3, 3, False)
    assert "shuffled inside each task give 1.0 (mean of 20)" in "\n".join(report.notes)


def test_each_act_by_itself_is_desirable_or_not(tmp_path: Path) -> None:
    rows, _ = rows_of(tmp_path, "kto_observed", planted(tmp_path, three_each(), []))
    assert [(row["label"], row["successes"], row["trials"]) for row in rows] == [
        (True, 3, 3),
        (False, 0, 3),
    ]
    assert rows[0]["prompt"] == rows[1]["prompt"]


def test_no_outcome_is_ever_a_tested_pair(tmp_path: Path) -> None:
    ledger = planted(tmp_path, three_each(), [])
    assert rows_of(tmp_path / "dpo", "dpo", ledger)[0] == []
    assert rows_of(tmp_path / "kto", "kto", ledger)[0] == []


def test_datasets_reads_what_is_written(tmp_path: Path) -> None:
    ledger = planted(tmp_path, three_each(), [])
    for kind, rows in (("dpo_observed", 1), ("kto_observed", 2)):
        folder = DatasetFolder(str(tmp_path / kind), replace="written")
        export(kind, ledger, folder, RowSettings())
        loaded = load_dataset(str(tmp_path / kind), split="train")
        assert loaded.num_rows == rows
        assert isinstance(loaded[0]["prompt"], list)


def test_other_trainers_read_the_acts_too(tmp_path: Path) -> None:
    ledger = planted(tmp_path, three_each(), [])
    (pair,), _ = rows_of(tmp_path / "pairs", "dpo_observed", ledger, form="llamafactory")
    assert [pair[side]["from"] for side in ("chosen", "rejected")] == 2 * ["function_call"]
    assert '"name":"look"' in pair["chosen"]["value"].replace(" ", "")
    assert (pair["chosen_successes"], pair["rejected_trials"], pair["single"]) == (3, 3, False)
    assert pair["evidence"] == "observed"

    acts, _ = rows_of(tmp_path / "acts", "kto_observed", ledger, form="llamafactory")
    assert [(one["kto_tag"], one["successes"], one["trials"]) for one in acts] == [
        (True, 3, 3),
        (False, 0, 3),
    ]
    assert all(one["conversations"][-1]["from"] == "function_call" for one in acts)
    named = json.loads((tmp_path / "acts" / "out" / "dataset_info.json").read_text())["synth"]
    assert named["columns"]["kto_tag"] == "kto_tag"


def test_axolotl_drops_calls_so_that_acts_with_any_are_refused(tmp_path: Path) -> None:
    ledger = planted(tmp_path, three_each(), [])
    rows, report = rows_of(tmp_path / "rows", "dpo_observed", ledger, form="axolotl")
    assert rows == []
    assert report.left_out == {"axolotl:tool_calls": 1}
