"""TRL's DPOTrainer and KTOTrainer on exported rows: they learn, and what they compare is the
assistant's one turn, token by token.
"""

import math
from pathlib import Path
from typing import Any

import pytest

from tests.trainers.printed import code_under, losses, trained

pytestmark = pytest.mark.slow


def run(kind: str, data: Path, student: Path, folder: Path, **settings: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return trained(
            code_under(kind), student, data, max_steps=4, learning_rate=0.01, **settings
        )["trainer"]


def rows_of(data: Path, kind: str) -> list[dict[str, Any]]:
    import datasets

    return list(datasets.load_dataset(str(data / kind), split="train"))


def expected(row: dict[str, Any], side: str, student: Path) -> tuple[list[int], list[int]]:
    """(all tokens, those that carry loss): what the template adds to the rendering of the
    prompt.
    """
    from synth.exporters.template import served_template

    template = served_template(str(student))
    before = template.text(row["prompt"], row["tools"], generation_prompt=True)
    after = template.text([*row["prompt"], *row[side]], row["tools"])
    assert after.startswith(before)
    ids, prompt = template.ids(after) or [], template.ids(before) or []
    assert ids[: len(prompt)] == prompt
    return ids, ids[len(prompt) :]


def carried(batch: Any, at: int) -> tuple[list[int], list[int]]:
    """(all tokens, those that carry loss) of one sequence of a trainer's batch."""
    ids, seen, mask = (
        batch[name][at].tolist() for name in ("input_ids", "attention_mask", "completion_mask")
    )
    return [i for i, there in zip(ids, seen, strict=True) if there], [
        i for i, on in zip(ids, mask, strict=True) if on
    ]


@pytest.mark.nightly
def test_dpo_compares_the_two_turns_after_one_prompt(
    storefront: Path, student: Path, tmp_path: Path
) -> None:
    trainer = run("DPO", storefront, student, tmp_path, per_device_train_batch_size=2)
    found = losses(trainer)
    assert len(found) == 4
    assert found[0] == pytest.approx(math.log(2), abs=0.01), (
        "at first the policy is its own reference"
    )
    assert all(math.isfinite(loss) for loss in found)
    assert min(found) < 0.69
    rows = rows_of(storefront, "dpo")
    assert len(rows) == len(trainer.train_dataset) > 0
    for row, prepared in zip(rows, trainer.train_dataset, strict=True):
        batch = trainer.data_collator([prepared])
        assert carried(batch, 0) == expected(row, "chosen", student)
        assert carried(batch, 1) == expected(row, "rejected", student)


@pytest.mark.nightly
def test_kto_weighs_the_turn_and_its_label(storefront: Path, student: Path, tmp_path: Path) -> None:
    trainer = run("KTO", storefront, student, tmp_path)
    found = losses(trainer)
    assert len(found) == 4
    assert all(math.isfinite(loss) for loss in found)
    rows = rows_of(storefront, "kto")
    assert {row["label"] for row in rows} == {True, False}
    assert len(rows) == len(trainer.train_dataset)
    for row, prepared in zip(rows, trainer.train_dataset, strict=True):
        batch = trainer.data_collator([prepared])
        assert carried(batch, 0) == expected(row, "completion", student)
        assert bool(batch["label"][0]) is row["label"]
