"""Every text of a trajectory that a person may read or a trainer be given, by the name of its
place.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from synth.schemas.check import CheckResult
from synth.schemas.errors import RowError
from synth.schemas.trajectory import (
    Observation,
    Planted,
    ToolCall,
    ToolSchema,
    Trajectory,
    Turn,
    TurnedDown,
    Wording,
)
from synth.text.redaction.labels import labels, with_labels
from synth.text.redaction.visiting import Change, Table, TextField, in_json, visited

IDENTIFIERS = (
    "trajectory_id",
    "slot_id",
    "task_id",
    "parent_id",
    "content_hash",
    "env",
    "synthesizer",
)
"""What rows are found by; they are looked through, and cannot be changed."""
_OURS = re.compile(r"[0-9a-f]{24}|[0-9a-f]{32}|[a-z_]{1,40}")
"""Ids and names as synth itself gives them: hashes, and words."""
_LABELS = msgspec.json.Decoder(list[str])
_TEXTS: Table = {
    Trajectory: (
        TextField("turns", "turn"),
        TextField("system_prompt", "system"),
        TextField("tools", "tools", msgspec.json.Decoder(tuple[ToolSchema, ...]).decode),
        TextField("opening", "opening"),
        TextField("guidance", "guidance"),
        TextField("fault_detail", "fault"),
        TextField("check_result", "check", msgspec.json.Decoder(CheckResult).decode),
        TextField("sampling", "sampling", msgspec.json.Decoder(dict[str, Any]).decode),
    ),
    Turn: (
        TextField("tool_calls", "call"),
        TextField("observations", "observation"),
        TextField("content", "content"),
        TextField("thought", "thought"),
        TextField("raw", "raw"),
    ),
    ToolCall: (TextField("name", "name"), TextField("arguments", "arguments")),
    Observation: (TextField("wording"), TextField("planted", "planted"), TextField("content")),
    Wording: (TextField("turned_down", "turned_down"), TextField("scripted", "scripted")),
    TurnedDown: (TextField("text"),),
    Planted: (TextField("content"),),
}
"""In the order of the places."""


def texts(trajectory: Trajectory) -> Iterator[tuple[str, str]]:
    """(place, text) of all texts that are not empty; what is no text is read as JSON."""
    found: list[tuple[str, str]] = []

    def noted(place: str, text: str) -> str:
        found.append((place, text))
        return text

    with_texts(trajectory, noted)
    return iter(found)


def with_texts(trajectory: Trajectory, change: Change) -> Trajectory:
    """The trajectory with every text changed; the same object where nothing was.

    Places: system, tools, opening.I, turn.N.{content,thought,raw}, turn.N.call.I.{name,arguments},
    turn.N.observation.I (with .scripted,
    .planted, .turned_down.J for what no agent was shown), guidance, fault, check, sampling, labels
    (a list of all short names and ids of
    others: `synth.text.redaction.labels`), id.NAME. Turns are numbered by their place. Token ids and
    log-probabilities of a changed trajectory are
    left out: they say what the texts no longer do. Raises `RowError` where an id would be changed,
    or a value becomes one that its type
    does not hold.
    """
    changed = _relabelled(visited(trajectory, _TEXTS, change), trajectory, change)
    _keep_identifiers(trajectory, change)
    if changed is trajectory:
        return trajectory
    bare = tuple(
        msgspec.structs.replace(t, prompt_token_ids=None, completion_token_ids=None, logprobs=None)
        for t in changed.turns
    )
    return msgspec.structs.replace(changed, turns=bare)


def _relabelled(changed: Trajectory, given: Trajectory, change: Change) -> Trajectory:
    """All labels are one text, so that one value is changed into one wherever it stands: calls keep
    their answers.
    """
    known = labels(given)
    if not known:
        return changed
    told = in_json("labels", known, change, _LABELS.decode)
    if told is known:
        return changed
    if len(set(told)) < len(known):
        raise RowError(
            "labels_collide",
            f"trajectory {given.trajectory_id}: two of its names would become one",
            "labels",
        )
    return with_labels(changed, dict(zip(known, told, strict=True)))


def _keep_identifiers(trajectory: Trajectory, change: Change) -> None:
    for name in IDENTIFIERS:
        value = getattr(trajectory, name)
        if value and not _OURS.fullmatch(value) and change(f"id.{name}", value) != value:
            raise RowError(
                "secret_in_identifier",
                f"its {name} holds what may not leave, and cannot be changed",
                f"id.{name}",
            )
