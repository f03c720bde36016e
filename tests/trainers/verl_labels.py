"""In the environment of the loaders: verl's own settings and data set over an SFT export; prints
what it trains on, by row.

python tests/trainers/verl_labels.py MODEL_FOLDER CHAT_TEMPLATE OVERRIDE... (the words of the
command that the card prints)
"""

import json
import sys
from pathlib import Path

from hydra import compose, initialize_config_module
from transformers import AutoTokenizer
from verl.trainer.sft_trainer import create_sft_dataset


def labels(model: str, chat_template: str, overrides: list[str]) -> list[dict[str, object]]:
    """Token ids and masks of every row, or what verl's class raises."""
    tokenizer = AutoTokenizer.from_pretrained(model)
    tokenizer.chat_template = Path(chat_template).read_text(encoding="utf-8")
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("sft_trainer_engine", overrides=overrides)
    rows = create_sft_dataset(config.data.train_files, config.data, tokenizer, None)
    made: list[dict[str, object]] = []
    for at in range(len(rows)):
        try:
            row = rows[at]
        except (AssertionError, ValueError) as error:
            made.append({"error": str(error)})
        else:
            made.append(
                {"input_ids": row["input_ids"].tolist(), "loss_mask": row["loss_mask"].tolist()}
            )
    return made


if __name__ == "__main__":
    model, chat_template, *overrides = sys.argv[1:]
    print("\n" + json.dumps(labels(model, chat_template, overrides)))
