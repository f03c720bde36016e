"""Preferences, desirability and step values as TRL reads them: the prompt is always given, a side
is one assistant message.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from synth.exporters.dpo import PreferenceRow
from synth.exporters.json_columns import holds_exactly, said, text
from synth.exporters.kind import Comparison, Form, Steps, UnsayableError
from synth.exporters.kto import DesirabilityRow
from synth.exporters.prm import StepValueRow
from synth.schemas.pairs import PreferencePair

_PAIR_TEXTS = (
    *(
        "pair_id",
        "prefix_policy",
        "chosen_policy",
        "rejected_policy",
        "on_policy_for",
        "task_id",
        "template",
        "off_policy_reason",
    ),
    *("benchmark", "split"),
)
_LABEL_TEXTS = (
    "stratum",
    "matched_by",
    "method",
    "source",
    "policy",
    "on_policy_for",
    "task_id",
    "template",
    "benchmark",
    "split",
)
_STEP_TEXTS = (
    "source",
    "method",
    "rule",
    "on_policy_for",
    "policy",
    "task_id",
    "benchmark",
    "split",
)


def _schema(columns: dict[str, Any]) -> pa.Schema:
    from datasets import Features

    schema: pa.Schema = Features(columns).arrow_schema
    return schema


def dpo_schema() -> pa.Schema:
    """The columns of a DPO data set."""
    from datasets import Json, List, Value

    words, number, whole = Value("string"), Value("float64"), Value("int64")
    return _schema(
        {
            **{name: List(Json()) for name in ("prompt", "chosen", "rejected", "tools")},
            **{
                name: words
                for name in (
                    "family",
                    "trajectory_id",
                    "chosen_id",
                    "rejected_id",
                    "method",
                    *_PAIR_TEXTS,
                )
            },
            **{name: words for name in ("chosen_authorship", "rejected_authorship")},
            **{name: whole for name in ("turn", "n_pos", "n_neg", "world_seed")},
            **{name: number for name in ("q_pos", "q_neg")},
            "off_policy": Value("bool"),
            "gold_informed": Value("bool"),
        }
    )


def dpo_record(row: PreferenceRow) -> dict[str, Any]:
    """One pair in these columns."""
    pair = row.pair
    return {
        "prompt": [text(said(message)) for message in row.prompt],
        "chosen": [text(said(row.chosen))],
        "rejected": [text(said(row.rejected))],
        "tools": _tools(row),
        **pair_columns(pair),
    }


def pair_columns(pair: PreferencePair) -> dict[str, Any]:
    """Lineage and evidence of a pair."""
    evidence = pair.evidence
    return {
        "family": pair.family.value,
        "trajectory_id": pair.prefix.trajectory_id,
        "chosen_id": pair.chosen.trajectory_id,
        "rejected_id": pair.rejected.trajectory_id,
        "method": evidence.method,
        **{name: getattr(pair, name) for name in _PAIR_TEXTS},
        "chosen_authorship": pair.chosen_authorship.value,
        "rejected_authorship": pair.rejected_authorship.value,
        "turn": pair.prefix.turn,
        "n_pos": evidence.n_pos,
        "n_neg": evidence.n_neg,
        "world_seed": pair.world_seed,
        "q_pos": evidence.q_pos,
        "q_neg": evidence.q_neg,
        "off_policy": pair.off_policy,
        "gold_informed": pair.gold_informed,
    }


def kto_schema() -> pa.Schema:
    """The columns of a KTO data set."""
    from datasets import Json, List, Value

    return _schema(
        {
            **{name: List(Json()) for name in ("prompt", "completion", "tools")},
            "label": Value("bool"),
            **{name: Value("string") for name in ("trajectory_id", "authorship", *_LABEL_TEXTS)},
            "turn": Value("int64"),
            "n": Value("int64"),
            "q": Value("float64"),
            "task_rate": Value("float64"),
            "gold_informed": Value("bool"),
        }
    )


def kto_record(row: DesirabilityRow) -> dict[str, Any]:
    """One labelled turn in these columns."""
    return {
        "prompt": [text(said(message)) for message in row.prompt],
        "completion": [text(said(row.completion))],
        "tools": _tools(row),
        **label_columns(row),
    }


def label_columns(row: DesirabilityRow) -> dict[str, Any]:
    """Lineage and evidence of a label."""
    label = row.label
    return {
        "label": label.desirable,
        "trajectory_id": label.trajectory_id,
        "authorship": label.authorship.value,
        **{
            name: getattr(label, name)
            for name in (*_LABEL_TEXTS, "turn", "n", "q", "task_rate", "gold_informed")
        },
    }


def prm_schema() -> pa.Schema:
    """The columns of a PRM data set: strings, as step trainers read them, with the messages
    beside.
    """
    from datasets import Json, List, Value

    return _schema(
        {
            "prompt": Value("string"),
            "completions": List(Value("string")),
            "labels": List(Value("bool")),
            **{
                name: Value("string")
                for name in ("trajectory_id", "tier", "authorship", *_STEP_TEXTS)
            },
            **{name: Value("int64") for name in ("turn", "n", "successes")},
            **{name: Value("float64") for name in ("q", "value")},
            "gold_informed": Value("bool"),
            **{name: List(Json()) for name in ("prompt_messages", "step_messages", "tools")},
        }
    )


def prm_record(row: StepValueRow) -> dict[str, Any]:
    """One step in these columns. Raises `UnsayableError` for one that nothing decided: the trainer
    reads a missing label as a bad step.
    """
    label = row.label
    if label.label is None:
        raise UnsayableError("undecided_step")
    return {
        "prompt": row.prompt_text,
        "completions": [row.step_text],
        "labels": [label.label],
        "trajectory_id": label.trajectory_id,
        "tier": label.tier.value,
        "authorship": label.authorship.value,
        **{
            name: getattr(label, name)
            for name in (*_STEP_TEXTS, "turn", "n", "successes", "q", "value", "gold_informed")
        },
        "prompt_messages": [text(said(message)) for message in row.prompt],
        "step_messages": [text(said(row.step))],
        "tools": _tools(row),
    }


def dpo_comparison(row: Mapping[str, Any]) -> Comparison:
    """A loaded pair: each side is one message."""
    return Comparison(row["prompt"], (*row["chosen"], *row["rejected"]), row["tools"])


def kto_comparison(row: Mapping[str, Any]) -> Comparison:
    """A loaded labelled turn."""
    return Comparison(row["prompt"], tuple(row["completion"]), row["tools"])


def prm_steps(row: Mapping[str, Any]) -> Steps:
    """A loaded step, as the loop of the page on training and TRL's PRM trainer before 1.16 read it:
    a line break after each step.
    """
    return Steps(
        prompt=row["prompt"],
        steps=tuple(row["completions"]),
        labels=tuple(row["labels"]),
        separator="\n",
        messages=row["prompt_messages"],
        step_messages=row["step_messages"],
        tools=row["tools"],
    )


def _tools(row: PreferenceRow | DesirabilityRow | StepValueRow) -> list[str]:
    if not all(holds_exactly(tool) for tool in row.trajectory.tools):
        raise UnsayableError("inexact_tool_schemas")
    return [text(tool) for tool in row.trajectory.tools]


def _training(folder: str, trainer: str, config: str, module: str = "trl") -> str:
    return f"""```
pip install "trl>=1.16" "datasets>=4.7"
```
```python
from datasets import load_dataset
from {module} import {config}, {trainer}

{trainer}(
    model="Qwen/Qwen3-0.6B",
    train_dataset=load_dataset("{folder}", split="train"),
    args={config}(output_dir="{trainer.removesuffix("Trainer").lower()}", max_length=None),
).train()
```
"""


def prm_training(folder: str) -> str:
    """How it is read: TRL 1.16 ships no PRM trainer any more."""
    return f"""Columns as in TRL's PRM format (`prompt`, `completions`, `labels`), which Axolotl's `stepwise_supervised` reads too; TRL 1.16
has no trainer for it any more. Load it with `datasets.load_dataset("{folder}", split="train")`.
"""


DPO = Form(
    name="trl",
    arguments="dict",
    schema=dpo_schema,
    record=dpo_record,
    holds=holds_exactly,
    training=lambda folder: _training(folder, "DPOTrainer", "DPOConfig"),
    comparison=dpo_comparison,
)
KTO = Form(
    name="trl",
    arguments="dict",
    schema=kto_schema,
    record=kto_record,
    holds=holds_exactly,
    training=lambda folder: _training(folder, "KTOTrainer", "KTOConfig"),
    comparison=kto_comparison,
)
PRM = Form(
    name="trl",
    arguments="dict",
    schema=prm_schema,
    record=prm_record,
    holds=holds_exactly,
    training=prm_training,
    steps=prm_steps,
)
