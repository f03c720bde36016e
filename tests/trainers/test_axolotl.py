"""Axolotl's own `chat_template` strategy over rows of `--as axolotl`: loss where our masks say,
token by token.

Under the template of Qwen 2.5: that of Qwen 3 writes an empty thinking block, which TRL trains on
and Axolotl does not.
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from synth.exporters.export import export
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from synth.ledger.ledger import StoredLedger

pytestmark = pytest.mark.slow


def test_loss_is_where_our_masks_are(storefront: Path, student: Path, tmp_path: Path) -> None:
    pytest.importorskip("axolotl", reason="needs: pip install --no-deps axolotl==0.19.0 addict")
    import datasets
    from axolotl.prompt_strategies.chat_template import ChatTemplatePrompter, ChatTemplateStrategy

    from synth.exporters.registry import form_of
    from synth.exporters.template import student_template

    export(
        "sft",
        StoredLedger(str(storefront / "run")),
        DatasetFolder(tmp_path / "sft"),
        RowSettings(form="axolotl", include_scripted=True),
    )
    template = replace(
        student_template("trl:qwen2_5"), tokenizer=student_template(str(student)).tokenizer
    )
    source = template.source.replace("{% generation %}", "").replace("{% endgeneration %}", "")
    printed = re.search(
        r"```yaml\n(.*?)```", form_of("sft", "axolotl").training(str(tmp_path / "sft")), re.DOTALL
    )
    assert printed is not None
    (entry,) = yaml.safe_load(printed[1])["datasets"]
    fields = {
        name: entry[name] for name in ("field_messages", "field_tools", "message_field_training")
    }
    strategy = ChatTemplateStrategy(
        ChatTemplatePrompter(
            template.tokenizer, chat_template=source, max_length=100_000, **fields
        ),
        tokenizer=template.tokenizer,
        train_on_inputs=False,
        sequence_len=100_000,
        roles_to_train=entry["roles_to_train"],
        train_on_eos="turn",
    )
    rows = datasets.load_dataset(str(tmp_path / "sft"), split="train").select(range(8))
    for row in rows:
        chat = form_of("sft", "axolotl").read(row)
        text, spans = template.spans(chat.messages, chat.tools)
        tokens = template.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        lit = [spans[turn] for turn in chat.trained]
        ours = [
            any(start <= first and last <= end for start, end in lit)
            for first, last in tokens["offset_mapping"]
        ]
        made = strategy.tokenize_prompt(row)
        made = made[0] if isinstance(made, list) else made
        assert made["input_ids"] == tokens["input_ids"]
        theirs = [label != -100 for label in made["labels"]]
        differing = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
        assert {template.tokenizer.decode([tokens["input_ids"][i]]) for i in differing} <= {"\n"}, (
            "only line breaks: before calls, after the end of a turn"
        )
        assert len(differing) <= 2 * len(chat.trained)
