"""LLaMA-Factory 0.9.5: the settings that the card prints through its own parser, loader and
templates; its labels against our masks.

It imports torchaudio, whose compiled part is published for CUDA only and is taken out: torchaudio's
Python part loads without.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from synth.exporters.registry import form_of
from synth.exporters.template import MaskTemplate, served_template
from tests.trainers.conftest import exported
from tests.trainers.loaders import run_loader
from tests.trainers.spoken import of, spoken, written

pytestmark = pytest.mark.slow
JOINED = {"include_scripted": True, "join_answers": True}


@pytest.fixture(scope="module")
def data(storefront: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The storefront's rows for LLaMA-Factory, and under `trl` the same rows for TRL."""
    folder = tmp_path_factory.mktemp("llamafactory")
    exported(str(storefront / "run"), folder, ("sft", "dpo", "kto"), form="llamafactory", **JOINED)
    exported(str(storefront / "run"), folder / "trl", ("sft", "dpo", "kto"), form="trl", **JOINED)
    return folder


def rows_of(folder: Path) -> list[dict[str, Any]]:
    import datasets

    return list(datasets.load_dataset(str(folder), split="train"))


def labels(
    kind: str, folder: Path, student: Path, template: str, scratch: Path, *, per_turn: bool = False
) -> list[dict[str, Any]]:
    """As LLaMA-Factory makes them with the settings that the card prints."""
    form = form_of(kind, "llamafactory")
    form = form.cuts["per_turn"] if per_turn else form
    printed = re.search(r"```yaml\n(.*?)```", form.training(str(folder)), re.DOTALL)
    assert printed is not None
    (scratch / "train.yaml").write_text(printed[1])
    assert yaml.safe_load(printed[1])["stage"] == kind
    made: list[dict[str, Any]] = run_loader(
        "llamafactory_labels.py",
        str(scratch / "train.yaml"),
        str(student),
        template,
        scratch=scratch,
    )
    return made


def answers(
    template: MaskTemplate, made: dict[str, Any], ids: str = "input_ids", labels: str = "labels"
) -> list[str]:
    """The stretches of a row that carry loss, as text; a label is the token itself."""
    runs: list[list[int]] = []
    lit = False
    for token, label in zip(made[ids], made[labels], strict=True):
        if label != -100:
            assert label == token
            runs = [*runs[:-1], [*runs[-1], token]] if lit else [*runs, [token]]
        lit = label != -100
    return [template.tokenizer.decode(run) for run in runs]  # type: ignore[union-attr]


def text_of(template: MaskTemplate, made: dict[str, Any]) -> str:
    assert template.tokenizer is not None
    return str(template.tokenizer.decode(made["input_ids"]))


def test_sft_under_qwen_3_is_tokens_and_labels_of_trls_training_template(
    data: Path, student: Path, tmp_path: Path
) -> None:
    """The empty thinking block that TRL trains on included."""
    template = of("trl:qwen3", student)
    rows, made = (
        rows_of(data / "trl" / "sft"),
        labels("sft", data / "sft", student, "qwen3", tmp_path),
    )
    assert len(made) == len(rows) > 20
    for row, found in zip(rows, made, strict=True):
        text, spans = template.spans(row["messages"], row["tools"])
        end = max(stop for _, stop in spans)
        assert text_of(template, found) == text[:end]
        assert answers(template, found) == [text[start:stop] for start, stop in spans]


def test_sft_under_qwen_2_5_is_what_it_is_served_and_loss_begins_where_a_turn_is_asked_for(
    data: Path, student: Path, tmp_path: Path
) -> None:
    """TRL's training template for it begins one line break earlier, in what the server writes."""
    template = of("trl:qwen2_5", student)
    rows, made = (
        rows_of(data / "trl" / "sft"),
        labels("sft", data / "sft", student, "qwen", tmp_path),
    )
    assert len(made) == len(rows)
    for row, found in zip(rows, made, strict=True):
        text, spans = template.spans(row["messages"], row["tools"])
        assert served_template("trl:qwen2_5").text(row["messages"], row["tools"]) == text
        assert text_of(template, found) == text[: max(stop for _, stop in spans)]
        assert answers(template, found) == [
            text[start:stop].removeprefix("\n") for start, stop in spans
        ]
        assert all(
            text[start] == "\n" and text[:start].endswith("<|im_start|>assistant")
            for start, _ in spans
        )


@pytest.mark.parametrize("template_name", ["qwen", "qwen3"])
def test_dpo_compares_the_one_turn_after_the_served_prompt(
    data: Path, student: Path, tmp_path: Path, template_name: str
) -> None:
    ours = {"qwen": "trl:qwen2_5", "qwen3": "trl:qwen3"}[template_name]
    served = served_template(ours)
    template = of(ours, student)
    rows, made = (
        rows_of(data / "trl" / "dpo"),
        labels("dpo", data / "dpo", student, template_name, tmp_path),
    )
    assert len(made) == len(rows) > 5
    for row, found in zip(rows, made, strict=True):
        for side in ("chosen", "rejected"):
            before = served.text(row["prompt"], row["tools"], generation_prompt=True)
            after = served.text([*row["prompt"], *row[side]], row["tools"])
            assert answers(template, found, f"{side}_input_ids", f"{side}_labels") == [
                after.removeprefix(before)
            ]
            ids: Any = found[f"{side}_input_ids"]
            assert template.tokenizer.decode(ids) == after


def test_kto_weighs_the_one_turn_under_its_own_tag(
    data: Path, student: Path, tmp_path: Path
) -> None:
    served, template = served_template("trl:qwen2_5"), of("trl:qwen2_5", student)
    rows, made = (
        rows_of(data / "trl" / "kto"),
        labels("kto", data / "kto", student, "qwen", tmp_path),
    )
    assert [found["kto_tags"] for found in made] == [row["label"] for row in rows]
    assert len({row["label"] for row in rows}) == 2
    for row, found in zip(rows, made, strict=True):
        before = served.text(row["prompt"], row["tools"], generation_prompt=True)
        after = served.text([*row["prompt"], *row["completion"]], row["tools"])
        assert answers(template, found) == [after.removeprefix(before)]
        assert text_of(template, found) == after


def test_text_beside_calls_calls_side_by_side_and_nested_arguments_are_written_as_qwen_writes_them(
    student: Path, tmp_path: Path
) -> None:
    """A line break between text and call; null, escapes and numbers as they were; no mark for an
    image in what a user wrote.
    """
    for form in ("llamafactory", "trl"):
        written(tmp_path / form, spoken(thoughts=False), form=form)
    template = of("trl:qwen2_5", student)
    (row,) = rows_of(tmp_path / "trl")
    (found,) = labels("sft", tmp_path / "llamafactory", student, "qwen", tmp_path)
    assert text_of(template, found) == served_template("trl:qwen2_5").text(
        row["messages"], row["tools"]
    )
    assert answers(template, found)[0].startswith(
        'I look it up.\n<tool_call>\n{"name": "find", "arguments": {"q": "ß \\" <tool>", "n": 2,'
    )


def test_thoughts_are_trained_on_where_trl_trains_on_them(student: Path, tmp_path: Path) -> None:
    for form in ("llamafactory", "trl"):
        written(tmp_path / form, spoken(thoughts=True), form=form)
    template = of("trl:qwen3", student)
    (row,) = rows_of(tmp_path / "trl")
    (found,) = labels("sft", tmp_path / "llamafactory", student, "qwen3", tmp_path)
    text, spans = template.spans(row["messages"], row["tools"])
    assert text_of(template, found) == text
    assert answers(template, found) == [text[start:stop] for start, stop in spans]


def test_a_row_per_turn_trains_on_its_last_message_alone_so_that_masked_turns_carry_no_loss(
    student: Path, tmp_path: Path
) -> None:
    written(
        tmp_path / "rows",
        spoken(thoughts=False, masked=True),
        form="llamafactory",
        unroll="per_turn",
    )
    template = of("trl:qwen2_5", student)
    made = labels("sft", tmp_path / "rows", student, "qwen", tmp_path, per_turn=True)
    trained = [answers(template, found) for found in made]
    assert [len(runs) for runs in trained] == [1, 1, 1]
    assert [runs[0].partition("\n")[0] for runs in trained] == [
        "I look it up.",
        "There: 5 < 6.<|im_end|>",
        "Bye.<|im_end|>",
    ]
    assert (
        '{"name": "ship", "arguments": {}}' in text_of(template, made[1]).rpartition("<tools>")[2]
    )
