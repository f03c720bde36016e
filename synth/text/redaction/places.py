"""Every text of a trajectory that a person may read or a trainer be given, by its place."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from synth.schemas import (
    CheckResult,
    Deviation,
    Observation,
    Planted,
    RowError,
    ToolCall,
    ToolSchema,
    Trajectory,
    Turn,
    TurnedDown,
    Wording,
)
from synth.text.transcript.visiting import Change, Visit, table, visited, without_token_ids

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


def _json_of(kind: Any) -> Visit:
    """Changes a value as its JSON text. Raises `RowError` where that is no value of its type."""
    read = msgspec.json.Decoder(kind).decode

    def visit(place: str, value: Any, change: Change) -> Any:
        text = msgspec.json.encode(value).decode()
        changed = change(place, text)
        if changed == text:
            return value

        try:
            return read(changed.encode())
        except msgspec.MsgspecError as error:
            raise RowError(
                "unlawful_redaction",
                f"what is taken out of {place} leaves no value of its type: {error}",
                place,
            ) from error

    return visit


_TEXTS = table(
    {
        Trajectory: "system_prompt:system tools:tools opening:opening turns:turn guidance:guidance "
        "fault_detail:fault check_result:check sampling:sampling",
        Turn: "thought:thought content:content tool_calls:call observations:observation raw:raw",
        ToolCall: "name:name arguments:arguments",
        Observation: "wording planted:planted content",
        Wording: "turned_down:turned_down scripted:scripted",
        TurnedDown: "text",
        Planted: "content",
    },
    {
        "tools": _json_of(tuple[ToolSchema, ...]),
        "check_result": _json_of(CheckResult),
        "sampling": _json_of(dict[str, Any]),
    },
)
"""In the order of the places, that is, in which they are read: so stand-ins are numbered by what
stands before them, and trials that share a prompt share it also after it.
"""
_LABELS = table(
    {
        Trajectory: "policy role model weights_id opening_state_key user_model source benchmark "
        "split created_at opening turns",
        Turn: "agent state_key mask injected tool_calls observations repairs",
        ToolCall: "call_id parse_error",
        Observation: "call_id name wording",
        Wording: "model weights_id turned_down",
        TurnedDown: "deviations",
        Deviation: "kind what",
    }
)
"""Short names and ids of others: of models and policies, of agents and tools, of calls."""
_visit_labels = _json_of(list[str])


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
    turn.N.observation.I (with .scripted, .planted, .turned_down.J for what no agent was shown),
    guidance, fault, check, sampling, labels (a list of all short names and ids of others), id.NAME.
    Turns are numbered by their place. Token ids and log-probabilities of a changed trajectory are
    left out: they say what the texts no longer do. Raises `RowError` where an id would be changed,
    or a value becomes one that its type does not hold.
    """
    changed = _relabelled(visited(trajectory, _TEXTS, change), trajectory, change)

    for name in IDENTIFIERS:
        value = getattr(trajectory, name)
        if value and not _OURS.fullmatch(value) and change(f"id.{name}", value) != value:
            raise RowError(
                "secret_in_identifier",
                f"its {name} holds what may not leave, and cannot be changed",
                f"id.{name}",
            )

    return trajectory if changed is trajectory else without_token_ids(changed)


def _relabelled(changed: Trajectory, given: Trajectory, change: Change) -> Trajectory:
    """The trajectory with each label under its new name, wherever it stands.

    All labels are one text, each once in the order in which they first stand there, so that calls
    keep their answers.
    """
    found: dict[str, None] = {}

    def noted(_: str, label: str) -> str:
        found[label] = None
        return label

    visited(given, _LABELS, noted)
    known = list(found)
    told = _visit_labels("labels", known, change) if known else known
    if told is known:
        return changed

    if len(set(told)) < len(known):
        raise RowError(
            "labels_collide",
            f"trajectory {given.trajectory_id}: two of its names would become one",
            "labels",
        )

    names = dict(zip(known, told, strict=True))

    return visited(changed, _LABELS, lambda _, label: names.get(label, label))
