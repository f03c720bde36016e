"""In the environment of the loaders: LLaMA-Factory's own settings, loader and template over an
export; prints what it trains on, by row.

python tests/trainers/llamafactory_labels.py CARD_YAML MODEL_FOLDER TEMPLATE
"""

import json
import sys
import tempfile
from pathlib import Path

import yaml
from llamafactory.data import get_dataset, get_template_and_fix_tokenizer
from llamafactory.hparams import get_train_args
from llamafactory.model import load_tokenizer

SAID_OTHERWISE = {"dpo": "rm"}
"""As `llamafactory.train.dpo` names its stage to the loader."""


def labels(printed: dict[str, object], model: str, template: str) -> list[dict[str, object]]:
    """Token ids and labels of every row that it takes, as `llamafactory-cli train` makes them of
    the settings.
    """
    with tempfile.TemporaryDirectory() as out:
        further = {
            "model_name_or_path": model,
            "template": template,
            "do_train": True,
            "finetuning_type": "full",
            "output_dir": out,
        }
        settings = {**printed, **further, "report_to": "none", "overwrite_cache": True}
        model_args, data_args, training_args, finetuning_args, _ = get_train_args(settings)
        tokenizer = load_tokenizer(model_args)["tokenizer"]
        rendered = get_template_and_fix_tokenizer(tokenizer, data_args)
        stage = SAID_OTHERWISE.get(finetuning_args.stage, finetuning_args.stage)
        rows = get_dataset(
            rendered, model_args, data_args, training_args, stage=stage, tokenizer=tokenizer
        )["train_dataset"]
        return [
            {name: row[name] for name in row if "ids" in name or "labels" in name or "tags" in name}
            for row in rows
        ]


if __name__ == "__main__":
    card, model, template = sys.argv[1:]
    made = labels(yaml.safe_load(Path(card).read_text(encoding="utf-8")), model, template)
    print("\n" + json.dumps(made))
