"""RL tasks as verl's `RLHFDataset` reads them."""

from typing import Any

import pyarrow as pa

from synth.exporters.facts import SPEAKERS
from synth.exporters.json_columns import plain_text, said
from synth.exporters.kind import Form, UnsayableError
from synth.exporters.rl import RlRow
from synth.schemas.canonical import digest

LOOPS = "synth_agent_loop.yaml"
_LOOP = b"- name: synth_world\n  _target_: synth.rl.verl.WorldAgentLoop\n"


def rl_schema() -> pa.Schema:
    """verl's columns; what is open-ended is JSON text, because its structs would be filled with
    null.
    """
    texts, number = pa.string(), pa.int64()
    message = pa.struct([("role", texts), ("content", texts)])
    reward = pa.struct([("style", texts), ("ground_truth", texts)])
    extra = [
        ("split", texts),
        ("index", number),
        ("task_id", texts),
        ("tool_schemas", texts),
        ("trials", number),
        ("successes", number),
    ]
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
    """One task; `reward_model.ground_truth` is the whole of it as JSON text, with which the agent
    loop sets the world up and checks it.

    verl counts the rollouts of a prompt by `extra_info.index`, so it tells tasks apart.
    """
    if any(set(message) - {"role", "content", "name"} for message in row.prompt):
        raise UnsayableError("calls_in_the_prompt")
    task = row.task
    return {
        "data_source": task.env,
        "prompt": [
            {"role": message["role"], "content": said(message)["content"]} for message in row.prompt
        ],
        "ability": "agent",
        "reward_model": {"style": "rule", "ground_truth": plain_text(task)},
        "extra_info": {
            "split": task.split or "train",
            "index": int(digest(task.task_id.encode())[:8], 16),
            "task_id": task.task_id,
            "tool_schemas": plain_text(row.tools),
            "trials": row.trials,
            "successes": row.successes,
            "need_tools_kwargs": False,
        },
    }


def loops(shards: tuple[str, ...]) -> dict[str, bytes]:
    """The agent loops that verl may call by name."""
    return {LOOPS: _LOOP}


def rl_training(folder: str) -> str:
    """How verl is told of it; the page on training has the rest."""
    return f"""```
python -m verl.trainer.main_ppo data.train_files="[$(ls {folder}/train-*.parquet | paste -sd,)]" \\
    data.max_prompt_length=8192 data.max_response_length=24576 \\
    actor_rollout_ref.rollout.agent.agent_loop_config_path={folder}/{LOOPS} \\
    actor_rollout_ref.rollout.agent.default_agent_loop=synth_world \\
    actor_rollout_ref.rollout.multi_turn.enable=True actor_rollout_ref.rollout.multi_turn.format=hermes \\
    actor_rollout_ref.rollout.multi_turn.max_parallel_calls=16 ...
```

`{LOOPS}` names `synth.rl.verl.WorldAgentLoop`, so synth must be importable where verl runs: it shows the world's tools, plays the row's
task, and gives the world's own check as the reward. verl's defaults would cut the beginning off prompts of more than 512 tokens and play
the first of several calls alone. An agent may be shown `prompt` and the tools only.
"""


def unsaid(row: RlRow) -> tuple[str, ...]:
    """What is lost of a row: messages have a role and a content."""
    return (SPEAKERS,) if any(message.get("name") for message in row.prompt) else ()


RL = Form(
    name="verl",
    schema=rl_schema,
    record=rl_record,
    training=rl_training,
    beside=loops,
    unsaid=unsaid,
)
