"""Every text of a trajectory that a person may read or a trainer be given, by the name of its
place.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec

from synth.schemas.check import CheckResult
from synth.schemas.errors import RowError
from synth.schemas.trajectory import Observation, ToolCall, ToolSchema, Trajectory, Turn
from synth.text.redaction.labels import labels, with_labels

T = TypeVar("T")
Struct = TypeVar("Struct", bound=msgspec.Struct)
Change = Callable[[str, str], str]
"""(place, text) -> what shall stand there."""
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
_TOOLS = msgspec.json.Decoder(tuple[ToolSchema, ...])
_CHECK = msgspec.json.Decoder(CheckResult)
_OPEN = msgspec.json.Decoder(dict[str, Any])
_LABELS = msgspec.json.Decoder(list[str])


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
    turns = tuple(_turn(f"turn.{at}", turn, change) for at, turn in enumerate(trajectory.turns))
    changed = _replaced(
        trajectory,
        system_prompt=_text("system", trajectory.system_prompt, change),
        tools=_json("tools", trajectory.tools, change, _TOOLS.decode)
        if trajectory.tools
        else trajectory.tools,
        opening=_each(
            tuple(
                _observation(f"opening.{at}", one, change)
                for at, one in enumerate(trajectory.opening)
            ),
            trajectory.opening,
        ),
        turns=_each(turns, trajectory.turns),
        guidance=_text("guidance", trajectory.guidance, change),
        fault_detail=_text("fault", trajectory.fault_detail, change),
        check_result=None
        if trajectory.check_result is None
        else _json("check", trajectory.check_result, change, _CHECK.decode),
        sampling=_json("sampling", trajectory.sampling, change, _OPEN.decode)
        if trajectory.sampling
        else trajectory.sampling,
    )
    changed = _relabelled(changed, trajectory, change)
    _keep_identifiers(trajectory, change)
    if changed is trajectory:
        return trajectory
    bare = tuple(
        _replaced(t, prompt_token_ids=None, completion_token_ids=None, logprobs=None)
        for t in changed.turns
    )
    return _replaced(changed, turns=_each(bare, changed.turns))


def _relabelled(changed: Trajectory, given: Trajectory, change: Change) -> Trajectory:
    """All labels are one text, so that one value is changed into one wherever it stands: calls keep
    their answers.
    """
    known = labels(given)
    if not known:
        return changed
    told = _json("labels", known, change, _LABELS.decode)
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


def _turn(place: str, turn: Turn, change: Change) -> Turn:
    calls = tuple(
        _call(f"{place}.call.{at}", call, change) for at, call in enumerate(turn.tool_calls)
    )
    seen = tuple(
        _observation(f"{place}.observation.{at}", one, change)
        for at, one in enumerate(turn.observations)
    )
    return _replaced(
        turn,
        content=_text(f"{place}.content", turn.content, change),
        thought=_text(f"{place}.thought", turn.thought, change),
        raw=_text(f"{place}.raw", turn.raw, change),
        tool_calls=_each(calls, turn.tool_calls),
        observations=_each(seen, turn.observations),
    )


def _call(place: str, call: ToolCall, change: Change) -> ToolCall:
    name, arguments = (
        change(f"{place}.name", call.name),
        change(f"{place}.arguments", call.arguments),
    )
    return (
        call
        if (name, arguments) == (call.name, call.arguments)
        else ToolCall.received(call.call_id, name, arguments)
    )


def _observation(place: str, one: Observation, change: Change) -> Observation:
    wording, planted = one.wording, one.planted
    if wording is not None:
        refused = tuple(
            _replaced(down, text=change(f"{place}.turned_down.{at}", down.text))
            for at, down in enumerate(wording.turned_down)
        )
        wording = _replaced(
            wording,
            scripted=change(f"{place}.scripted", wording.scripted),
            turned_down=_each(refused, wording.turned_down),
        )
    if planted is not None:
        planted = _replaced(planted, content=change(f"{place}.planted", planted.content))
    return _replaced(one, content=change(place, one.content), wording=wording, planted=planted)


def _text(place: str, text: str | None, change: Change) -> str | None:
    return change(place, text) if text else text


def _json(place: str, value: T, change: Change, read: Callable[[bytes], Any]) -> T:
    """Raises `RowError` where the changed text is no value of the same type."""
    text = msgspec.json.encode(value).decode()
    changed = change(place, text)
    if changed == text:
        return value
    try:
        found: T = read(changed.encode())
    except msgspec.MsgspecError as error:
        raise RowError(
            "unlawful_redaction",
            f"what is taken out of {place} leaves no value of its type: {error}",
            place,
        ) from error
    return found


def _each(changed: tuple[T, ...], given: tuple[T, ...]) -> tuple[T, ...]:
    return (
        given if all(one is other for one, other in zip(changed, given, strict=True)) else changed
    )


def _replaced(struct: Struct, **fields: object) -> Struct:
    return (
        struct
        if all(getattr(struct, name) is value for name, value in fields.items())
        else msgspec.structs.replace(struct, **fields)
    )
