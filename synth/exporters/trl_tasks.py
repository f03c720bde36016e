"""RL tasks as TRL's GRPO and RLOO read them: a prompt, and columns that reach the environment's
`reset` and the reward functions.
"""

from typing import Any

import pyarrow as pa

from synth.exporters.json_columns import holds_exactly, plain_text, said, text
from synth.exporters.kind import Form, UnsayableError
from synth.exporters.rl import RlRow

_TEXTS = ("task_id", "goal", "split", "benchmark", "parent")


def rl_schema() -> pa.Schema:
    """The columns of an RL data set."""
    from datasets import Features, Json, List, Value

    texts = ("environment", *_TEXTS, "origin", "env_config", "check", "difficulty", "task")
    features = Features(
        {
            "prompt": List(Json()),
            "tool_schemas": List(Json()),
            **{name: Value("string") for name in texts},
            "seed": Value("int64"),
            "trials": Value("int64"),
            "successes": Value("int64"),
            "solvable": Value("bool"),
        }
    )
    schema: pa.Schema = features.arrow_schema
    return schema


def rl_record(row: RlRow) -> dict[str, Any]:
    """One task in these columns: `environment` names the world; `task` is the whole of it, the
    columns beside it are parts.
    """
    task = row.task
    if not all(holds_exactly(tool) for tool in row.tools):
        raise UnsayableError("inexact_tool_schemas")
    return {
        "prompt": [text(said(message)) for message in row.prompt],
        "tool_schemas": [text(tool) for tool in row.tools],
        "environment": task.env,
        **{name: getattr(task, name) for name in _TEXTS},
        "origin": task.origin.value,
        "env_config": plain_text(task.env_config),
        "check": plain_text(task.check),
        "difficulty": plain_text(task.difficulty),
        "task": plain_text(task),
        "seed": task.seed,
        "trials": row.trials,
        "successes": row.successes,
        "solvable": row.solvable,
    }


def rl_training(folder: str) -> str:
    """How TRL plays the tasks; the page on training has the rest."""
    return f"""```python
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

from synth.flows.environments import open_env  # a world that a flow of yours starts: bound_envs("flow.yaml") of the same module
from synth.rl.trl import environment_factories

tasks = load_dataset("{folder}", split="train")
GRPOTrainer(
    model="Qwen/Qwen3-0.6B",
    train_dataset=tasks,
    environment_factory=environment_factories(tasks, open_env),
    args=GRPOConfig(output_dir="grpo", max_completion_length=4096),
).train()
```

A row names its environment and never says what starts it. `open_env` opens those that need no start; for others (an MCP server, a world
of your own) say so yourself: `open_env = bound_envs("flow.yaml")`, from the same module, with a flow or a file of its `env` block.

The reward is the world's own check. Other trainers: `synth.rl.environment.RlEnvironment`; verifiers: `synth.rl.verifiers_taskset`.
Show an agent `prompt` and `tool_schemas` only: `task`, `check` and `env_config` hold what it must not know.
"""


RL = Form(name="trl", schema=rl_schema, record=rl_record, training=rl_training, holds=holds_exactly)
