"""Preferences as Axolotl's DPO `chat_template.default` reads them, and step values as its
`stepwise_supervised` does.

The former passes no tools and drops calls, so rows with any are refused.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import pyarrow as pa

from synth.exporters.dpo import PreferenceRow
from synth.exporters.facts import EVIDENCE, KEPT_OUT, kept_out
from synth.exporters.kind import Form, Steps, UnsayableError
from synth.exporters.trl_preferences import PRM as TRL_STEPS
from synth.exporters.trl_preferences import prm_steps

_MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])


def dpo_schema() -> pa.Schema:
    """Messages of role and content, and the two answers."""
    texts = [(name, pa.string()) for name in ("pair_id", "family", "trajectory_id")]
    return pa.schema(
        [("messages", pa.list_(_MESSAGE)), ("chosen", _MESSAGE), ("rejected", _MESSAGE), *texts]
    )


def dpo_record(row: PreferenceRow) -> dict[str, Any]:
    """One pair in these columns (axolotl-ai-cloud/axolotl#3824: calls and tools are dropped without
    a word).
    """
    said = [*row.prompt, row.chosen, row.rejected]
    if any(message.get("tool_calls") or message["role"] == "tool" for message in said):
        raise UnsayableError("tool_calls")
    if row.trajectory.tools:
        raise UnsayableError("tool_schemas")
    kept = [{"role": message["role"], "content": message["content"] or ""} for message in said]
    known = {
        "pair_id": row.pair.pair_id,
        "family": row.pair.family.value,
        "trajectory_id": row.pair.prefix.trajectory_id,
    }
    return {"messages": kept[:-2], "chosen": kept[-2], "rejected": kept[-1], **known}


def unsaid(row: PreferenceRow) -> tuple[str, ...]:
    """What is lost of a row."""
    messages = (*row.prompt, row.chosen, row.rejected)
    thinks, named = (
        any(message.get(key) for message in messages) for key in ("reasoning_content", "name")
    )
    return (
        EVIDENCE,
        *((KEPT_OUT,) if kept_out(row.trajectory) else ()),
        *(("thoughts: the strategy passes role and content alone",) if thinks else ()),
        *(("names: the strategy passes role and content alone",) if named else ()),
    )


def training(folder: str) -> str:
    """How Axolotl is told of it."""
    return f"""```yaml
rl: dpo
datasets:
  - path: {folder}
    split: train
    type: chat_template.default
    field_messages: messages
    field_chosen: chosen
    field_rejected: rejected
```
"""


DPO = Form(name="axolotl", schema=dpo_schema, record=dpo_record, training=training, unsaid=unsaid)


def step_training(folder: str) -> str:
    """How Axolotl is told of step values."""
    return f"""```yaml
process_reward_model: true
datasets:
  - path: {folder}
    split: train
    type: stepwise_supervised
    step_separator: ""
```
"""


def steps(row: Mapping[str, Any]) -> Steps:
    """A loaded step: nothing is written between steps."""
    return msgspec.structs.replace(prm_steps(row), separator="")


PRM = msgspec.structs.replace(TRL_STEPS, name="axolotl", training=step_training, steps=steps)
