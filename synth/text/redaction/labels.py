"""Short names and ids of others that stand in a trajectory, each once: of models and policies, of
agents and tools, of calls.
"""

from collections.abc import Mapping

from synth.schemas.trajectory import (
    Deviation,
    Observation,
    ToolCall,
    Trajectory,
    Turn,
    TurnedDown,
    Wording,
)
from synth.text.redaction.visiting import Table, TextField, visited

_FIELDS: Mapping[type, str] = {
    Trajectory: "policy role model weights_id opening_state_key user_model source benchmark split "
    "created_at opening turns",
    Turn: "agent state_key mask injected tool_calls observations repairs",
    ToolCall: "call_id parse_error",
    Observation: "call_id name wording",
    Wording: "model weights_id turned_down",
    TurnedDown: "deviations",
    Deviation: "kind what",
}
_LABELS: Table = {
    kind: [TextField(name) for name in fields.split()] for kind, fields in _FIELDS.items()
}


def labels(trajectory: Trajectory) -> list[str]:
    """Every one that is not empty, in the order in which they first stand there."""
    found: dict[str, None] = {}

    def noted(_: str, label: str) -> str:
        found[label] = None
        return label

    visited(trajectory, _LABELS, noted)
    return list(found)


def with_labels(trajectory: Trajectory, names: Mapping[str, str]) -> Trajectory:
    """The trajectory with each label under its new name, wherever it stands."""
    return visited(trajectory, _LABELS, lambda _, label: names.get(label, label))
