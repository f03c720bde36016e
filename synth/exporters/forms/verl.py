"""The forms that verl reads.

Its own loader reads messages and tools as arrow structs, whose missing keys are null: rendered,
they would be trained on. So they stand as JSON text, and `synth_verl.py` beside the rows of chats
is the data set class that verl is told to use; it keeps masks too.
"""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import msgspec

from synth.exporters.facts import SPEAKERS
from synth.exporters.forms.columns import Column, plain_text, said
from synth.exporters.forms.trl import LINEAGE, TRAINED
from synth.exporters.kind import Chat, Form, NotRepresentableError
from synth.exporters.rl import RlRow
from synth.schemas.canonical import digest

LOOPS = "synth_agent_loop.yaml"
READER = "synth_verl.py"
_LOOP = b"- name: synth_world\n  _target_: synth.rl.verl.WorldAgentLoop\n"


def _reader(shards: tuple[str, ...]) -> dict[str, bytes]:
    return {READER: files("synth.exporters.forms").joinpath("verl_reader.py").read_bytes()}


def _chat(row: Mapping[str, Any]) -> Chat:
    return Chat(json.loads(row["messages"]), json.loads(row["tools"]), tuple(row["trained_turns"]))


def _prompt(row: RlRow) -> list[dict[str, Any]]:
    if any(set(message) - {"role", "content", "name"} for message in row.prompt):
        raise NotRepresentableError("calls_in_the_prompt")
    return [{"role": one["role"], "content": said(one)["content"]} for one in row.prompt]


def _extra_info(row: RlRow) -> dict[str, Any]:
    """verl counts the rollouts of a prompt by `index`, so it tells tasks apart."""
    return {
        "split": row.task.split or "train",
        "index": int(digest(row.task.task_id.encode())[:8], 16),
        "task_id": row.task.task_id,
        "tool_schemas": plain_text(row.tools),
        "trials": row.standing.trials,
        "successes": row.standing.successes,
        "need_tools_kwargs": False,
    }


PER_TURN = Form(
    name="verl",
    arguments="dict",
    columns=(
        Column("messages", "string", lambda row: plain_text([said(one) for one in row.messages])),
        Column("tools", "string", lambda row: plain_text(row.trajectory.tools)),
        *LINEAGE,
        TRAINED,
    ),
    guide=f"""```
python -m verl.trainer.sft_trainer data.train_files="[$(ls FOLDER/train-*.parquet | paste -sd,)]" \\
    data.custom_cls.path=FOLDER/{READER} data.custom_cls.name=SynthSFTDataset data.max_length=32768 data.pad_mode=no_padding ...
```

`{READER}` renders a conversation whole, as the chat template does, and finds the turns with loss in it. Where a template renders what
stands before a turn otherwise once the turn is there, it stops and says so: such students need `unroll: per_turn`.
""",
    masks=True,
    beside=_reader,
    chat=_chat,
)
SFT = msgspec.structs.replace(PER_TURN, per_turn=PER_TURN)
RL = Form(
    name="verl",
    columns=(
        Column("data_source", "string", lambda row: row.task.env),
        Column("prompt", [{"role": "string", "content": "string"}], _prompt),
        Column("ability", "string", lambda row: "agent"),
        Column(  # the whole task, with which the agent loop sets the world up and checks it
            "reward_model",
            {"style": "string", "ground_truth": "string"},
            lambda row: {"style": "rule", "ground_truth": plain_text(row.task)},
        ),
        Column(
            "extra_info",
            {
                "split": "string",
                "index": "int64",
                "task_id": "string",
                "tool_schemas": "string",
                "trials": "int64",
                "successes": "int64",
                "need_tools_kwargs": "bool",
            },
            _extra_info,
        ),
    ),
    guide=f"""```
python -m verl.trainer.main_ppo data.train_files="[$(ls FOLDER/train-*.parquet | paste -sd,)]" \\
    data.max_prompt_length=8192 data.max_response_length=24576 \\
    actor_rollout_ref.rollout.agent.agent_loop_config_path=FOLDER/{LOOPS} \\
    actor_rollout_ref.rollout.agent.default_agent_loop=synth_world \\
    actor_rollout_ref.rollout.multi_turn.enable=True actor_rollout_ref.rollout.multi_turn.format=hermes \\
    actor_rollout_ref.rollout.multi_turn.max_parallel_calls=16 ...
```

`{LOOPS}` names `synth.rl.verl.WorldAgentLoop`, so synth must be importable where verl runs: it shows the world's tools, plays the row's
task, and gives the world's own check as the reward. verl's defaults would cut the beginning off prompts of more than 512 tokens and play
the first of several calls alone. An agent may be shown `prompt` and the tools only.
""",
    beside=lambda shards: {LOOPS: _LOOP},
    unsaid=lambda row: (SPEAKERS,) if any(one.get("name") for one in row.prompt) else (),
)
