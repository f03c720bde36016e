"""The forms that TRL reads.

`messages` and `tools` are lists of `Json()`: typed structs would fill the keys that a message or
its arguments lack with null, and
TRL trains on these. Arguments are objects, as TRL documents them; its `assistant_only_loss` trains
on every assistant message, so
`trained_turns` and `masked_turns` say which ones (counted from 0 among the assistant messages)
should carry loss.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from synth.exporters.json_columns import holds_exactly, said, text
from synth.exporters.kind import Chat, Form
from synth.exporters.sft_rows import SftRow

LINEAGE = (
    *(
        "trajectory_id",
        "task_id",
        "slot_id",
        "parent_id",
        "synthesizer",
        "policy",
        "model",
        "authorship",
        "outcome",
        "benchmark",
    ),
    "split",
)
_TOKENS = ("prompt_token_ids", "completion_token_ids", "logprobs")


def sft_schema() -> pa.Schema:
    """The columns of an SFT data set, with the features that `datasets` finds in the file's
    metadata.
    """
    from datasets import Json, List

    return _schema({"messages": List(Json()), "tools": List(Json())}, per_turn=False)


def turn_schema() -> pa.Schema:
    """The same with one row per turn: loss on `completion`, one message, alone."""
    from datasets import Json, List, Value

    first = {
        "prompt": List(Json()),
        "completion": List(Json()),
        "tools": List(Json()),
        "turn": Value("int32"),
    }
    return _schema(first, per_turn=True)


def memory_schema() -> pa.Schema:
    """The columns of a memory data set."""
    from datasets import Json, List, Value

    own = {name: Value("string") for name in ("context", "question", "answer")}
    return _schema({"messages": List(Json()), "tools": List(Json()), **own}, per_turn=False)


def _schema(first: Mapping[str, Any], *, per_turn: bool) -> pa.Schema:
    from datasets import Features, List, Value

    words = Value("string")
    ids = {
        "prompt_token_ids": Value("int32"),
        "completion_token_ids": Value("int32"),
        "logprobs": Value("float64"),
    }
    features = Features(
        {
            **first,
            **{column: words for column in LINEAGE},
            "reward": Value("float64"),
            "gold_informed": Value("bool"),
            "trained_turns": List(Value("int32")),
            "masked_turns": List({"turn": Value("int32"), "reason": words}),
            **{name: List(kind) if per_turn else List(List(kind)) for name, kind in ids.items()},
        }
    )
    schema: pa.Schema = features.arrow_schema
    return schema


def sft_record(row: SftRow) -> dict[str, Any]:
    """One row in these columns; JSON columns as text. Token ids as sampled, one list per trained
    turn, where the ledger has them all.
    """
    turns = [row.trajectory.turns[turn] for turn in row.trained] if row.trajectory.turns else []
    ids = {name: [getattr(turn, name) for turn in turns] for name in _TOKENS}
    return {
        "messages": [text(said(message)) for message in row.messages],
        "tools": [text(tool) for tool in row.trajectory.tools],
        **_lineage(row),
        **{
            name: [list(found) for found in of_turns] if all(found for found in of_turns) else None
            for name, of_turns in ids.items()
        },
    }


def turn_record(row: SftRow) -> dict[str, Any]:
    """The same for one turn."""
    (index,) = row.trained
    turn = row.trajectory.turns[index]
    ids = {name: getattr(turn, name) for name in _TOKENS}
    return {
        "prompt": [text(said(message)) for message in row.messages[:-1]],
        "completion": [text(said(row.messages[-1]))],
        "tools": [text(tool) for tool in row.trajectory.tools],
        "turn": row.turn,
        **_lineage(row),
        **{name: None if found is None else list(found) for name, found in ids.items()},
    }


def memory_record(row: SftRow) -> dict[str, Any]:
    """A compiled question in these columns."""
    return {**sft_record(row), **row.extra}


def whole_chat(row: Mapping[str, Any]) -> Chat:
    """A loaded row: TRL puts loss on every assistant message, so the trained ones must be all."""
    return Chat(row["messages"], row["tools"], tuple(row["trained_turns"]))


def turn_chat(row: Mapping[str, Any]) -> Chat:
    """A loaded row of one turn: loss on the completion."""
    before = sum(message["role"] == "assistant" for message in row["prompt"])
    return Chat([*row["prompt"], *row["completion"]], row["tools"], (before,))


def _lineage(row: SftRow) -> dict[str, Any]:
    trajectory = row.trajectory
    return {
        **{column: getattr(trajectory, column) for column in LINEAGE},
        "reward": trajectory.reward,
        "gold_informed": trajectory.gold_informed,
        "trained_turns": list(row.trained),
        "masked_turns": [{"turn": turn, "reason": reason} for turn, reason in row.masked.items()],
    }


def sft_training(folder: str) -> str:
    """A section of Markdown: how TRL trains on the data set in a folder."""
    return _TRAINING.replace("FOLDER", folder)


_TRAINING = """```
pip install "trl>=1.16" "datasets>=4.7"
```
```python
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

SFTTrainer(
    model="Qwen/Qwen3-0.6B",
    train_dataset=load_dataset("FOLDER", split="train"),
    args=SFTConfig(
        output_dir="sft",
        assistant_only_loss=True,  # without it, what tools and users said is trained on too
        max_length=None,  # the default, 1024 tokens, cuts long trajectories without a word
        per_device_train_batch_size=1,
    ),
).train()
```

`assistant_only_loss` needs a chat template that marks what the assistant generates. TRL 1.16 brings templates that do, and that write
tool calls, for Qwen 2.5 and 3, gpt-oss, GLM 4, DeepSeek V3, LFM 2 (v2) and Nemotron 3. **Those for Llama 3, Phi 3, DeepSeek R1, Cohere,
LFM 2 and Qwen 2.5 VL leave tool calls out without a word**; Gemma's refuses them. Older `datasets` cannot read `messages` and `tools`.
"""

_TURN_TRAINING = """Loss is on `completion` alone, one assistant message; leave `assistant_only_loss` out:

"""


def turn_training(folder: str) -> str:
    """How TRL trains on one turn per row."""
    one_turn = sft_training(folder).replace(_ASSISTANT_ONLY, "        completion_only_loss=True,\n")
    return _TURN_TRAINING + one_turn.partition("\n`assistant_only_loss` needs")[0] + "\n"


_ASSISTANT_ONLY = (
    "        assistant_only_loss=True,  # without it, what tools and users said is trained on too\n"
)

PER_TURN = Form(
    name="trl",
    arguments="dict",
    schema=turn_schema,
    record=turn_record,
    holds=holds_exactly,
    training=turn_training,
    masks=True,
    chat=turn_chat,
)
SFT = Form(
    name="trl",
    arguments="dict",
    schema=sft_schema,
    record=sft_record,
    holds=holds_exactly,
    training=sft_training,
    per_turn=PER_TURN,
    chat=whole_chat,
)
MEMORY = Form(
    name="trl",
    arguments="dict",
    schema=memory_schema,
    record=memory_record,
    holds=holds_exactly,
    training=sft_training,
    chat=whole_chat,
)
