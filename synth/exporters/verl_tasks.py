"""RL tasks as verl's `RLHFDataset` reads them."""

from typing import Any

import pyarrow as pa

from synth.exporters.json_columns import plain_text, said
from synth.exporters.kind import Form, UnsayableError
from synth.exporters.rl import RlRow


def rl_schema() -> pa.Schema:
    """verl's columns; what is open-ended is JSON text, because its structs would be filled with null."""
    texts, number = pa.string(), pa.int64()
    message = pa.struct([("role", texts), ("content", texts)])
    reward = pa.struct([("style", texts), ("ground_truth", texts)])
    extra = [("split", texts), ("index", number), ("task_id", texts), ("tool_schemas", texts), ("trials", number), ("successes", number)]
    return pa.schema(
        [
            ("data_source", texts),
            ("prompt", pa.list_(message)),
            ("ability", texts),
            ("reward_model", reward),
            ("extra_info", pa.struct([*extra, ("need_tools_kwargs", pa.bool_())])),
        ]
    )


def rl_record(row: RlRow) -> dict[str, Any]:
    """One task; `reward_model.ground_truth` is the whole of it as JSON text, for a reward function that resets and checks the world."""
    if any(set(message) - {"role", "content", "name"} for message in row.prompt):
        raise UnsayableError("calls_in_the_prompt")
    task = row.task
    return {
        "data_source": task.env,
        "prompt": [{"role": message["role"], "content": said(message)["content"]} for message in row.prompt],
        "ability": "agent",
        "reward_model": {"style": "rule", "ground_truth": plain_text(task)},
        "extra_info": {
            "split": task.split or "train",
            "index": 0,
            "task_id": task.task_id,
            "tool_schemas": plain_text(row.tools),
            "trials": row.trials,
            "successes": row.successes,
            "need_tools_kwargs": False,
        },
    }


def unsaid(row: RlRow) -> tuple[str, ...]:
    """verl takes tools from its own configuration."""
    return ("tools are named in verl's own tool configuration, the schemas stand in extra_info only",) if row.tools else ()


def rl_training(folder: str) -> str:
    """How verl is told of it."""
    return f"""```
python -m verl.trainer.main_ppo data.train_files={folder}/train-*.parquet data.return_raw_chat=True ...
```

A reward function reads `reward_model.ground_truth`: `msgspec.json.decode(text, type=schemas.task.Task)` is the task that the environment
named in `data_source` is reset with, and checks. An agent may be shown `prompt` only.
"""


RL = Form(name="verl", schema=rl_schema, record=rl_record, training=rl_training, unsaid=unsaid)
