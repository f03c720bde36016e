"""Trajectories as session traces (STS), which the Hub shows in its trace viewer: one JSON-lines
file each, a header, then messages.

They are for looking at: the viewer knows no tools, no masks and nothing of what turns cost. Nobody
trains on them, and no importer of ours reads them.
"""

from collections.abc import Iterator
from typing import Any

from synth.exporters import facts
from synth.exporters.exact_json import plain_text
from synth.exporters.form import form, said
from synth.exporters.kinds.sft_rows import SftRow, said_after
from synth.schemas import in_file_name


def _lines(row: SftRow) -> Iterator[dict[str, Any]]:
    """The header, with lineage as further keys, then the messages; arguments stay the JSON text
    that was received.
    """
    trajectory = row.trajectory
    yield {
        "type": "session",
        "harness": "synth",
        "id": trajectory.trajectory_id,
        "name": f"{trajectory.env} {trajectory.task_id[:8]}",
    } | facts.of(trajectory, (*facts.LINEAGE[1:], "reward"))
    # as the model saw them, one line each, in the viewer's own spelling of keys
    for message in row.messages:
        calls = message.get("tool_calls") or ()
        further = {
            "reasoningContent": message.get("reasoning_content"),
            "toolCalls": [{"id": call["id"], "function": call["function"]} for call in calls],
            "toolCallId": message.get("tool_call_id"),
        }
        written = {"role": message["role"], "content": said(message)["content"]}
        written |= {name: value for name, value in further.items() if value}
        if message["role"] == "assistant" and trajectory.model is not None:
            written["model"] = trajectory.model

        yield {"type": "message", "message": written}


SFT = form(
    "sts",
    "sft",
    {
        "name": lambda row: f"{in_file_name(row.trajectory.trajectory_id)}.jsonl",
        "text": lambda row: "".join(f"{plain_text(line)}\n" for line in _lines(row)),
    },
    told=lambda row: facts.rendered(
        row.trajectory, row.messages, row.masked, said_after(row.trajectory)
    ),
)
