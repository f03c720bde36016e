"""The forms that verl reads.

Its own loader reads messages and tools as arrow structs, whose missing keys are null: rendered,
they would be trained on. So they stand as JSON text, and `synth_verl.py` beside the rows of chats
is the data set class that verl is told to use; it keeps masks too.

Tasks go to an agent loop (`synth.rl.verl`) that plays them, which `synth_agent_loop.yaml` names.
"""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from synth.exporters.evidence_class import evidence_of
from synth.exporters.exact_json import plain_text
from synth.exporters.facts import SPEAKERS
from synth.exporters.form import Chat, NotRepresentableError, form, said
from synth.exporters.kinds.rl import RlRow
from synth.schemas import digest

# files beside the rows, as the guide of the form names them
LOOPS = "synth_agent_loop.yaml"
READER = "synth_verl.py"
_LOOP = b"- name: synth_world\n  _target_: synth.rl.verl.WorldAgentLoop\n"


def _chat(row: Mapping[str, Any]) -> Chat:
    """A loaded row as that class gives it on."""
    return Chat(json.loads(row["messages"]), json.loads(row["tools"]), tuple(row["trained_turns"]))


def _prompt(row: RlRow) -> list[dict[str, Any]]:
    """The messages as role and content, of which the loop makes the first request.

    Raises `NotRepresentableError` where a greeting has called a tool.
    """
    if any(set(message) - {"role", "content", "name"} for message in row.prompt):
        raise NotRepresentableError("calls_in_the_prompt")
    return [{"role": one["role"], "content": said(one)["content"]} for one in row.prompt]


def _extra_info(row: RlRow) -> dict[str, Any]:
    """What the loop and its reports need beside the task.

    verl counts the rollouts of a prompt by `index`, so it tells tasks apart.
    """
    return {
        "split": row.task.split or "train",
        "index": int(digest(row.task.task_id.encode())[:8], 16),
        "task_id": row.task.task_id,
        "tool_schemas": plain_text(row.tools),
        "trials": row.standing.trials,
        "successes": row.standing.successes,
        "need_tools_kwargs": False,
    }


# text in the place of structs: a key that is missing is not null
SFT = form(
    "verl",
    "sft",
    {
        "messages": lambda row: plain_text([said(one) for one in row.messages]),
        "tools": lambda row: plain_text(row.trajectory.tools),
        "evidence": evidence_of,
    },
    # the data set class that verl is told to use, as it stands in this folder
    beside=lambda shards: {
        READER: files("synth.exporters.forms").joinpath("verl_reader.py").read_bytes()
    },
    read=_chat,
)

# the whole task, since the loop sets its environment up and checks it
RL = form(
    "verl",
    "rl",
    {
        "prompt": _prompt,
        "ability": lambda row: "agent",
        "reward_model": lambda row: {"style": "rule", "ground_truth": plain_text(row.task)},
        "extra_info": _extra_info,
    },
    beside=lambda shards: {LOOPS: _LOOP},
    loses=lambda row: (SPEAKERS,) if any(one.get("name") for one in row.prompt) else (),
)
