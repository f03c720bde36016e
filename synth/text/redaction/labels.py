"""Short names and ids of others that stand in a trajectory, each once: of models and policies, of
agents and tools, of calls.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from synth.schemas.trajectory import Observation, Trajectory, Turn, TurnedDown, Wording

Struct = TypeVar("Struct", bound=msgspec.Struct)
Rename = Callable[[str], str]
OF_TRAJECTORY = (
    "policy",
    "role",
    "model",
    "weights_id",
    "opening_state_key",
    "user_model",
    "source",
    "benchmark",
    "split",
    "created_at",
)
OF_TURN = ("agent", "state_key", "mask", "injected")
OF_CALL = ("call_id", "parse_error")
OF_OBSERVATION = ("call_id", "name")
OF_WORDING = ("model", "weights_id")
OF_DEVIATION = ("kind", "what")


def labels(trajectory: Trajectory) -> list[str]:
    """Every one that is not empty, in the order in which they first stand there."""
    found: dict[str, None] = {}

    def noted(label: str) -> str:
        found[label] = None
        return label

    _renamed(trajectory, noted)
    return list(found)


def with_labels(trajectory: Trajectory, names: Mapping[str, str]) -> Trajectory:
    """The trajectory with each label under its new name, wherever it stands."""
    return _renamed(trajectory, lambda label: names.get(label, label))


def _renamed(trajectory: Trajectory, rename: Rename) -> Trajectory:
    named = _with(trajectory, OF_TRAJECTORY, rename)
    opening = tuple(_observation(one, rename) for one in trajectory.opening)
    turns = tuple(_turn(turn, rename) for turn in trajectory.turns)
    return msgspec.structs.replace(named, opening=opening, turns=turns)


def _turn(turn: Turn, rename: Rename) -> Turn:
    return msgspec.structs.replace(
        _with(turn, OF_TURN, rename),
        tool_calls=tuple(_with(call, OF_CALL, rename) for call in turn.tool_calls),
        observations=tuple(_observation(one, rename) for one in turn.observations),
        repairs=tuple(rename(repair) if repair else repair for repair in turn.repairs),
    )


def _observation(one: Observation, rename: Rename) -> Observation:
    named = _with(one, OF_OBSERVATION, rename)
    return (
        named
        if one.wording is None
        else msgspec.structs.replace(named, wording=_wording(one.wording, rename))
    )


def _wording(wording: Wording, rename: Rename) -> Wording:
    down = tuple(_turned_down(one, rename) for one in wording.turned_down)
    return msgspec.structs.replace(_with(wording, OF_WORDING, rename), turned_down=down)


def _turned_down(down: TurnedDown, rename: Rename) -> TurnedDown:
    return msgspec.structs.replace(
        down, deviations=tuple(_with(one, OF_DEVIATION, rename) for one in down.deviations)
    )


def _with(struct: Struct, fields: tuple[str, ...], rename: Rename) -> Struct:
    new = {name: rename(label) for name in fields if (label := getattr(struct, name))}
    return (
        msgspec.structs.replace(struct, **new)
        if any(getattr(struct, name) != label for name, label in new.items())
        else struct
    )
