"""One made-up dialogue, against which every way of writing it down is held."""

from typing import Any

from synth.importers.records import Imported
from synth.schemas import Source, Trajectory, to_messages

SYSTEM, ASKED, FOUND, TOLD = "Help people.", "Where is order 7?", '{"at": "Graz"}', "It is in Graz."
ARGUMENTS = '{"order": 7}'
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": ASKED},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "find_order", "arguments": ARGUMENTS},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": FOUND},
    {"role": "assistant", "content": TOLD},
]
PARAMETERS = {"type": "object", "properties": {"order": {"type": "integer"}}}
TOOL = {
    "type": "function",
    "function": {"name": "find_order", "description": "Finds.", "parameters": PARAMETERS},
}


def outline(found: Imported | Trajectory) -> list[tuple[Any, ...]]:
    """Who said what, in order: call ids and the spelling of JSON are the source's affair."""
    trajectory = found.trajectory if isinstance(found, Imported) else found
    lines: list[tuple[Any, ...]] = []
    if trajectory.system_prompt is not None:
        lines.append(("system", trajectory.system_prompt))
    lines += [(one.source.value, one.content) for one in trajectory.opening]
    for turn in trajectory.turns:
        lines.append(("text", turn.content or None))
        lines += [("call", call.name, call.parsed()) for call in turn.tool_calls]
        ids = [call.call_id for call in turn.tool_calls]
        for one in turn.observations:
            answers = (
                ids.index(one.call_id) if one.source is Source.TOOL and one.call_id in ids else None
            )
            lines.append((one.source.value, one.content, answers))
    assert to_messages(trajectory)
    return lines


OUTLINE = [
    ("system", SYSTEM),
    ("user", ASKED),
    ("text", None),
    ("call", "find_order", {"order": 7}),
    ("tool", FOUND, 0),
    ("text", TOLD),
]
