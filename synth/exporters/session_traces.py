"""Trajectories as session traces (STS), which the Hub shows in its trace viewer: one JSON-lines
file each, a header, then messages.
"""

from typing import Any

from synth.exporters import facts
from synth.exporters.json_columns import plain_text, said
from synth.exporters.kind import Form
from synth.exporters.sft_rows import SftRow, said_after
from synth.schemas.printable import in_file_name

HARNESS = "synth"
LACKS = (
    *(
        facts.SCHEMAS,
        facts.MASKS,
        facts.REASONS,
        facts.SPEAKERS,
        facts.AGENTS,
        facts.TOOL_NAMES,
        facts.BEHIND,
        facts.CHECK,
    ),
    *(
        facts.TURN_VALUES,
        facts.TOKENS,
        facts.USAGE,
        facts.AUTHORS,
        facts.ERRORS,
        facts.HIDDEN,
        facts.RAW,
    ),
)


def trace_record(row: SftRow) -> dict[str, Any]:
    """One session."""
    return {
        "name": f"{in_file_name(row.trajectory.trajectory_id)}.jsonl",
        "text": "".join(plain_text(line) + "\n" for line in lines(row)),
    }


def lines(row: SftRow) -> list[dict[str, Any]]:
    """The header, with lineage as further keys, then the messages; arguments stay the JSON text
    that was received.
    """
    trajectory = row.trajectory
    lineage = facts.present(
        {name: getattr(trajectory, name) for name in (*facts.LINEAGE, "reward")}
    )
    del lineage["trajectory_id"]
    header = {
        "type": "session",
        "harness": HARNESS,
        "id": trajectory.trajectory_id,
        "name": f"{trajectory.env} {trajectory.task_id[:8]}",
    }
    found: list[dict[str, Any]] = [header | lineage]
    for message in row.messages:
        written: dict[str, Any] = {"role": message["role"], "content": said(message)["content"]}
        if message.get("reasoning_content"):
            written["reasoningContent"] = message["reasoning_content"]
        if message.get("tool_calls"):
            written["toolCalls"] = [
                {"id": call["id"], "function": call["function"]} for call in message["tool_calls"]
            ]
        if message.get("tool_call_id"):
            written["toolCallId"] = message["tool_call_id"]
        if message["role"] == "assistant" and trajectory.model is not None:
            written["model"] = trajectory.model
        found.append({"type": "message", "message": written})
    return found


def told(row: SftRow) -> facts.Told:
    """What a row tells, for a reader to be compared with."""
    known = facts.known_of(row.trajectory)
    return facts.Told(
        row.messages, list(row.trajectory.tools), row.masked, known, said_after(row.trajectory)
    )


def unsaid(row: SftRow) -> tuple[str, ...]:
    """What is lost of a row."""
    return facts.lost(told(row), LACKS)


def training(folder: str) -> str:
    """How it is read."""
    return f"""`{folder}/traces/*.jsonl`: one session per trajectory; uploaded to the Hub, its viewer shows them. For looking at, not for
training.
"""


TRACES = Form(
    name="sts", record=trace_record, training=training, masks=True, unsaid=unsaid, layout="files"
)
