"""What a file of labels says of one trajectory."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from synth.importers.chats.columns import parsed
from synth.importers.chats.words import NAMES, VERDICTS
from synth.importers.records import (
    ImportedLabel,
    ImportSettings,
    Object,
    Record,
    first_of,
    is_object,
)
from synth.importers.verdicts import verdict

KEYS = (*NAMES, "key", "trajectory", "traj", "episode", "filename", "file_name")
_REWARD = ("reward", "rewards", "score")
SAYS = frozenset((*VERDICTS, *_REWARD))
"""Names of columns that say something of a trajectory."""
_STEPS = ("steps", "step_labels", "turns", "turn_labels", "per_step", "process_labels")
_PLACES = (("line", "line"), ("row", "row"), ("record", ""))
"""Columns that say which record of a file is meant, and how its place begins."""
_STEP = ("turn", "step", "turn_index", "step_index", "message")
_VALUE = ("label", "value", "score", "reward", "success", "correct", "rating")


class Step(msgspec.Struct, frozen=True):
    """A label of one turn, counted from 0; `message` counts the source's messages instead."""

    place: int
    value: float | None
    metric: str = "step_label"
    is_message: bool = False
    about: Object | None = None


class LabelRow(msgspec.Struct, kw_only=True):
    """`keys` name the trajectory, the likeliest first; `pattern` those whose path or id it fits.

    `no_verdict` says why a row that is there holds none: the judge broke, and says nothing.
    """

    record: Record
    keys: tuple[str, ...]
    pattern: str | None = None
    trial: int | None = None
    success: bool | None = None
    column: str | None = None
    """Whose value the verdict is."""
    reward: float | None = None
    split: str | None = None
    steps: tuple[Step, ...] = ()
    no_verdict: str | None = None
    marks: tuple[ImportedLabel, ...] = ()
    """Scores, each by a name of its own."""
    about: Object = {}

    @property
    def is_of_steps(self) -> bool:
        """Whether it labels steps, and says nothing of the whole."""
        of_whole = (self.success, self.reward, self.split)
        return bool(self.steps) and of_whole == (None, None, None)


def generic(record: Record, settings: ImportSettings, named_by: tuple[str, ...] = ()) -> LabelRow:
    """A row with the usual names of columns, or the one that the settings name for its verdict;
    `named_by` names its trajectory from without. Raises `ValueError` for one that names none, or
    says nothing of it.
    """
    if not isinstance(record.value, dict):
        raise ValueError(f"a label is {type(record.value).__name__}, no object")

    value = _opened(record.value)
    keys, pattern = _keys(value, named_by), value.get("pattern")
    if not keys and not isinstance(pattern, str):
        raise ValueError(f"a label names no trajectory: none of {', '.join(KEYS[:6])}, ..., path")

    step = _own_step(value)
    row = LabelRow(record=record, keys=keys, pattern=pattern, trial=_whole(value.get("trial")))
    row.about = {
        key: value[key] for key in ("annotator", "rater", "reason", "comment") if key in value
    }
    if step is not None:
        row.steps = (step,)
        return row

    told = _judge(row, value, settings)
    row.reward = _reward(value)
    row.split = value["split"] if isinstance(value.get("split"), str) and value["split"] else None
    row.steps = tuple(steps(next(filter(None, map(value.get, _STEPS)), None)))
    if not told and row.reward is None and row.split is None and not row.steps:
        raise ValueError("a label says nothing: no success, reward, split or steps")
    return row


def _keys(value: Object, named_by: tuple[str, ...]) -> tuple[str, ...]:
    """What a row calls its trajectory; first the one record of a file that holds several."""
    own = (_name(value.get(key)) for key in KEYS)
    keys = (*named_by, *dict.fromkeys(name for name in own if name))
    places = (f"{sign}{value[key]}" for key, sign in _PLACES if _whole(value.get(key)) is not None)
    place = next(places, None)
    return keys if place is None else (*(f"{one}#{place}" for one in keys), *keys)


def _judge(row: LabelRow, value: Object, settings: ImportSettings) -> bool:
    """Sets the row's verdict; whether one of its columns says any."""
    stated = settings.columns.get("success")
    named = (stated,) if stated is not None and stated in value else VERDICTS
    told = next((key for key in named if value.get(key) is not None), None)
    if told is not None:
        row.success, row.column = verdict(value[told], told), told
    if value.get("error_eval") is True:  # OpenHands' report of an evaluation that broke
        row.success, row.no_verdict = None, "the harness broke"
    return told is not None


def _opened(value: Object, depth: int = 2) -> Object:
    """A row with what stands in its objects (`{"info": {"id": ...}, "result": {"passed": ...}}`) as
    columns of its own; of two with one name the one that lies less deep, and the first.
    """
    held = {key: one for key, one in value.items() if _is_object(key, one)} if depth else {}
    found = {key: one for key, one in value.items() if key not in held}
    for one in held.values():
        found |= {key: told for key, told in _opened(one, depth - 1).items() if key not in found}
    return found


def _is_object(key: str, value: Any) -> bool:
    """Whether a value is an object of columns: rewards and labels of steps are values."""
    return isinstance(value, dict) and key not in (*_REWARD, *_STEPS)


def _name(value: Any) -> str | None:
    """A name as text; pandas writes whole numbers as fractions where a row of them is empty."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def _whole(value: Any) -> int | None:
    """A number of a trial, which CSV writes as text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return int(value) if isinstance(value, str) and re.fullmatch(r"\d+", value) else None


def _reward(value: Object) -> float | None:
    """The reward: a number, or the one of several that is called so."""
    held = first_of(value, _REWARD)
    if isinstance(held, dict):
        held = held.get("reward", next(iter(held.values())) if len(held) == 1 else None)
    if held is None or held == "":
        return None
    if isinstance(held, bool):
        return float(held)
    try:
        return float(held)
    except (TypeError, ValueError) as error:
        raise ValueError(f"reward {str(held)[:40]!r} is no number") from error


def _own_step(value: Object) -> Step | None:
    """The step that a row of its own labels, where it is one of a turn."""
    key = _turn_key(value)
    if key is None or any(name in value for name in _STEPS):
        return None
    return _step(value, key)


def _turn_key(value: Object) -> str | None:
    """The key under which a label says which turn it is of."""
    return next((key for key in _STEP if _whole(value.get(key)) is not None), None)


def _step(value: Object, key: str) -> Step:
    held = first_of(value, _VALUE)
    metric = value.get("metric")
    about = {name: value[name] for name in ("reason", "comment", "category") if value.get(name)}
    return Step(
        _whole(value[key]) or 0,
        _number(held),
        metric if isinstance(metric, str) and metric else "step_label",
        key == "message",
        about or None,
    )


def steps(value: Any) -> Iterator[Step]:
    """Labels of turns: a list with one for each turn, null for none; a list of objects that name
    theirs; an object by turn. Raises `ValueError`.
    """
    value = parsed(value)
    if value is None:
        return
    if isinstance(value, dict):
        value = [{"turn": place, "value": one} for place, one in value.items()]
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ValueError("step labels are neither a list nor an object")

    for place, one in enumerate(value):
        if not is_object(one):
            if one is not None:
                yield Step(place, _number(one))
            continue
        key = _turn_key(one)
        yield _step(one, key) if key is not None else _step({"turn": place} | one, "turn")


def _number(value: Any) -> float | None:
    """A label as a number: verdicts in words are 1 and 0."""
    if value is None or isinstance(value, bool | int | float):
        return None if value is None else float(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        said = verdict(value, "step label")
        return None if said is None else float(said)
