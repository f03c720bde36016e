"""The training code that the card and the README print: as it is printed, with a tiny model in the
place of a real one.
"""

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.forms.trl import CONTEXT, SFT
from tests.synth.exporters.solved import call, export_sft, result, trajectory

ROOT = Path(__file__).resolve().parents[3]


def python_of(markdown: str) -> str:
    (code,) = re.findall(r"```python\n(.*?)```", markdown, re.DOTALL)
    return str(code)


def test_the_readme_prints_the_code_that_the_card_prints() -> None:
    assert python_of(CONTEXT.training("runs/quickstart/datasets/sft")) in (
        ROOT / "README.md"
    ).read_text(encoding="utf-8")


def test_the_card_prints_how_to_train_on_it(tmp_path: Path) -> None:
    export_sft([(trajectory(), {})], DatasetFolder(tmp_path / "out"))
    card = (tmp_path / "out" / "README.md").read_text()
    assert python_of(SFT.training("path/to/this/folder")) in card
    assert 'pip install "trl>=1.16" "datasets>=4.7"' in card


def tiny_model(
    folder: Path, texts: list[str], *, vocabulary: int = 400, width: int = 16, layers: int = 1
) -> None:
    """A random Qwen 3 of a few thousand weights, the same at each call, with TRL's copy of Qwen's
    chat template.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=vocabulary, special_tokens=special, initial_alphabet=alphabet
        ),
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    fast.chat_template = (
        files("trl").joinpath("chat_templates/qwen3.jinja").read_text(encoding="utf-8")
    )
    fast.save_pretrained(folder)
    config = Qwen3Config(
        vocab_size=len(fast),
        hidden_size=width,
        intermediate_size=width,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        Qwen3ForCausalLM(config).save_pretrained(folder)


@pytest.mark.slow
def test_the_code_trains_on_what_the_assistant_wrote_and_on_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("trl", reason="needs the extra: pip install -e '.[train]'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    first, last = trajectory().turns
    without_n = (call('{"q": "blue whale"}', "c9"),), (result("TOOL RESULT", "c9"),)
    turns = (
        first,
        last.__class__(index=1, tool_calls=without_n[0], observations=without_n[1]),
        last.__class__(index=2, content="Bye."),
    )
    export_sft(
        [(trajectory("a"), {}), (trajectory("b", turns=turns), {})],
        DatasetFolder(tmp_path / "data"),
    )
    tiny_model(tmp_path / "model", [(tmp_path / "data" / "README.md").read_text()])
    code = python_of(SFT.training(str(tmp_path / "data"))).replace(
        "Qwen/Qwen3-0.6B", str(tmp_path / "model")
    )
    code = code.replace('output_dir="sft",', 'output_dir="sft", use_cpu=True,')

    exec(code, {})
    assert list((tmp_path / "sft").glob("checkpoint-*/model.safetensors"))

    made: dict[str, Any] = {}
    exec(code.replace("SFTTrainer(\n", "trainer = SFTTrainer(\n").replace(".train()", ""), made)
    tokenizer = made["trainer"].processing_class
    batch = made["trainer"].data_collator([made["trainer"].train_dataset[1]])
    labels = batch["labels"][0].tolist()
    everything = tokenizer.decode(batch["input_ids"][0].tolist())
    trained = tokenizer.decode([label for label in labels if label != -100])
    for text in ("Help.", "Where is it?", "row", "TOOL RESULT", "Versand – 📦"):
        assert text in everything
        assert text not in trained
    for text in ('{"q": "ß", "n": 2}', '{"q": "blue whale"}', "Bye."):
        assert text in trained
    assert "null" not in everything
