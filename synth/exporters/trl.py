"""The forms that TRL reads.

`messages` and `tools` are lists of `Json()`: typed structs would fill the keys that a message or its arguments lack with null, and
TRL trains on these. Arguments are objects, as TRL documents them; its `assistant_only_loss` trains on every assistant message, so
`trained_turns` and `masked_turns` say which ones (counted from 0 among the assistant messages) should carry loss.
"""

from typing import Any

import msgspec
import pyarrow as pa

from schemas.model import Message
from synth.exporters.exact_json import exact_json
from synth.exporters.sft_rows import SftForm, SftRow

_LINEAGE = (
    *("trajectory_id", "task_id", "slot_id", "parent_id", "synthesizer", "policy", "model", "authorship", "outcome", "benchmark"),
    "split",
)


def sft_schema() -> pa.Schema:
    """The columns of an SFT data set, with the features that `datasets` finds in the file's metadata."""
    from datasets import Features, Json, List, Value

    text = Value("string")
    features = Features(
        {
            "messages": List(Json()),
            "tools": List(Json()),
            **{column: text for column in _LINEAGE},
            "reward": Value("float64"),
            "gold_informed": Value("bool"),
            "trained_turns": List(Value("int32")),
            "masked_turns": List({"turn": Value("int32"), "reason": text}),
        }
    )
    schema: pa.Schema = features.arrow_schema
    return schema


def sft_record(row: SftRow) -> dict[str, Any]:
    """One row in these columns; JSON columns as text."""
    trajectory = row.trajectory
    return {
        "messages": [_text(_said(message)) for message in row.messages],
        "tools": [_text(tool) for tool in trajectory.tools],
        **{column: getattr(trajectory, column) for column in _LINEAGE},
        "reward": trajectory.reward,
        "gold_informed": trajectory.gold_informed,
        "trained_turns": list(row.trained),
        "masked_turns": [{"turn": turn, "reason": reason} for turn, reason in row.masked.items()],
    }


def _said(message: Message) -> Message:
    """A message that says nothing beside its calls says "": of null, TRL's templates make the word None, or an error."""
    return message | {"content": ""} if message["content"] is None else message


def _text(value: Any) -> str:
    text = exact_json(value)
    return msgspec.json.encode(value).decode() if text is None else text


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

SFT = SftForm(
    name="trl",
    arguments="dict",
    schema=sft_schema,
    record=sft_record,
    holds=lambda value: exact_json(value) is not None,
    training=sft_training,
)
