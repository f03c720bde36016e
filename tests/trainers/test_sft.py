"""TRL's SFTTrainer on exported rows: it learns, and its labels are, token by token, what
`trained_turns` says carries loss.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.trainers.printed import code_under, losses, trained

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(
    storefront: Path, student: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("run"))
        return trained(
            code_under("SFT"),
            student,
            storefront,
            max_steps=6,
            learning_rate=0.03,
            per_device_train_batch_size=2,
        )


def test_the_printed_code_trains_and_the_loss_falls(run: dict[str, Any]) -> None:
    found = losses(run["trainer"])
    assert len(found) == 6
    assert min(found[-2:]) < found[0] - 0.3


def test_its_labels_are_what_trained_turns_says_token_by_token(
    run: dict[str, Any], storefront: Path, student: Path
) -> None:
    import datasets

    from synth.exporters.template import student_template

    template, trainer = student_template(str(student)), run["trainer"]
    rows = datasets.load_dataset(str(storefront / "sft"), split="train")
    assert len(rows) == len(trainer.train_dataset) >= 10
    compared = 0
    for row, prepared in zip(rows, trainer.train_dataset, strict=True):
        batch = trainer.data_collator([prepared])
        text, spans = template.spans(row["messages"], row["tools"])
        lit = [spans[turn] for turn in row["trained_turns"]]
        tokens = template.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        expected = [
            token if any(start <= first and last <= end for start, end in lit) else -100
            for token, (first, last) in zip(
                tokens["input_ids"], tokens["offset_mapping"], strict=True
            )
        ]
        assert batch["input_ids"][0].tolist() == tokens["input_ids"]
        assert batch["labels"][0].tolist() == expected
        compared += sum(label != -100 for label in expected)
    assert compared > 1000
