"""Trajectories as session traces (STS), which the Hub shows in its trace viewer: one JSON-lines
file each, a header, then messages.
"""

from collections.abc import Iterator
from typing import Any

from synth.exporters import facts
from synth.exporters.forms.columns import Column, plain_text, said
from synth.exporters.kind import Form
from synth.exporters.sft_rows import SftRow, said_after
from synth.schemas.model import Message
from synth.schemas.printable import in_file_name

LACKS = (
    *(facts.SCHEMAS, facts.MASKS, facts.REASONS, facts.SPEAKERS, facts.AGENTS, facts.TOOL_NAMES),
    *(facts.BEHIND, facts.CHECK, facts.TURN_VALUES, facts.TOKENS, facts.USAGE, facts.AUTHORS),
    *(facts.ERRORS, facts.HIDDEN, facts.RAW),
)


def _lines(row: SftRow) -> Iterator[dict[str, Any]]:
    """The header, with lineage as further keys, then the messages; arguments stay the JSON text
    that was received.
    """
    trajectory = row.trajectory
    lineage = {name: getattr(trajectory, name) for name in (*facts.LINEAGE, "reward")}
    del lineage["trajectory_id"]
    yield {
        "type": "session",
        "harness": "synth",
        "id": trajectory.trajectory_id,
        "name": f"{trajectory.env} {trajectory.task_id[:8]}",
    } | facts.present(lineage)
    for message in row.messages:
        yield {"type": "message", "message": _written(message, trajectory.model)}


def _written(message: Message, model: str | None) -> dict[str, Any]:
    calls = message.get("tool_calls") or ()
    further = {
        "reasoningContent": message.get("reasoning_content"),
        "toolCalls": [{"id": call["id"], "function": call["function"]} for call in calls],
        "toolCallId": message.get("tool_call_id"),
    }
    written = {"role": message["role"], "content": said(message)["content"]}
    written |= {name: value for name, value in further.items() if value}
    by_model = message["role"] == "assistant" and model is not None
    return written | {"model": model} if by_model else written


def told(row: SftRow) -> facts.RenderedChat:
    """What a row tells, for a reader to be compared with."""
    trajectory = row.trajectory
    known = facts.known_of(trajectory)
    behind = said_after(trajectory)
    return facts.RenderedChat(row.messages, list(trajectory.tools), row.masked, known, behind)


SFT = Form(
    name="sts",
    columns=(
        Column("name", "string", lambda row: f"{in_file_name(row.trajectory.trajectory_id)}.jsonl"),
        Column(
            "text", "string", lambda row: "".join(f"{plain_text(line)}\n" for line in _lines(row))
        ),
    ),
    guide="""`FOLDER/traces/*.jsonl`: one session per trajectory; uploaded to the Hub, its viewer shows them. For looking at, not for
training.
""",
    masks=True,
    unsaid=lambda row: facts.lost(told(row), LACKS),
    layout="files",
)
