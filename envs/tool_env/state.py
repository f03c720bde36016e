"""The state of an environment: what its instance holds beside its settings, as JSON and back."""

import json
import math
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import msgspec

from synth.schemas import Check, Facts, Scalar, digest

_TAKEN = "text, numbers, true, false, None, and lists and dicts (keys: text) of them"


def packed(
    state: Mapping[str, Any],
    rng: Random | None,
    owner: str,
) -> bytes:
    """State and randomness as JSON, in the order in which they are held.

    Raises `TypeError` that names the attribute and the place in it that JSON cannot hold.
    """

    for name, value in state.items():
        problem = _problem(value)
        if problem is not None:
            raise TypeError(f"{owner}.{name}{problem}; the state of an environment is {_TAKEN}")

    drawn = rng.getstate() if rng is not None else None

    return json.dumps([state, drawn], separators=(",", ":")).encode()


def unpacked(blob: bytes) -> tuple[dict[str, Any], Random | None]:
    """What `packed` was given."""

    state, drawn = json.loads(blob)
    if drawn is None:
        return state, None
    rng = Random()
    rng.setstate((drawn[0], tuple(drawn[1]), drawn[2]))

    return state, rng


def key_of(blob: bytes, *, done: bool) -> str:
    """The same for equal states, in whatever order their dicts were filled.

    An episode that is over is in another state than one that goes on.
    """
    held = [json.loads(blob), done]
    return digest(json.dumps(held, sort_keys=True, separators=(",", ":")).encode())


def flat_facts(found: Mapping[str, Any], owner: str) -> dict[str, Scalar]:
    """Facts as predicates read them: `state/now/<key>`, keys within keys after a dot, and in these
    `~0`, `~1` and `~2` for `~`, `/` and `.` (as JSON Pointer does, RFC 6901): an agent that chooses
    a key cannot spoil the names.

    Raises `TypeError` for what is no scalar, and for two values under one name.
    """

    flat: dict[str, Scalar] = {}
    waiting: list[tuple[str, Any]] = list(found.items())
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, Mapping | list | tuple):
            waiting += _inside(key, value)
        elif "/" in str(key):
            raise TypeError(f"{owner}.facts: the name {key!r} has a slash in it")
        elif f"state/now/{key}" in flat:
            raise TypeError(f"{owner}.facts: {key!r} names two facts")
        elif value is not None and type(value) not in (str, int, float, bool):
            kind = type(value).__name__
            raise TypeError(f"{owner}.facts: {key} is of type {kind}; a fact is {_TAKEN}")
        else:
            flat[f"state/now/{key}"] = value

    return flat


def held(found: Mapping[str, Any]) -> Iterator[str]:
    """The paths of all facts, those that hold others among them, empty ones too."""
    waiting: list[tuple[str, Any]] = list(found.items())
    while waiting:
        key, value = waiting.pop()
        yield f"state/now/{key}"
        waiting += _inside(key, value)


def _inside(key: str, value: object) -> list[tuple[str, Any]]:
    """What a fact holds, each by its own key; nothing where it is a value."""
    if isinstance(value, Mapping):
        return [(f"{key}.{_escaped(inner)}", each) for inner, each in value.items()]
    if isinstance(value, list | tuple):
        return [(f"{key}.{place}", each) for place, each in enumerate(value)]
    return []


def with_gone(
    check: Check | None, start: Facts, end: Facts, found: Mapping[str, Any]
) -> tuple[Check | None, Facts, Facts]:
    """The check and the facts with those as None that the check wants to be None and that are not
    `found` at the end: an entry that is gone has no value. What it held may go with it.
    """
    if check is None:
        return check, start, end
    wanted = {
        f"state/now/{key}"
        for predicate in check.required
        for key, value in predicate.where.items()
        if predicate.table == "state" and value is None
    }
    gone: dict[str, Scalar] = dict.fromkeys(sorted(wanted.difference(held(found))))
    inside = [path for path in start if any(path.startswith(f"{one}.") for one in gone)]
    known = {path: value for path, value in gone.items() if path not in start}
    free = msgspec.structs.replace(check, free=(*check.free, *inside))
    return free, {**known, **start}, {**end, **gone}


def _escaped(key: object) -> str:
    return str(key).replace("~", "~0").replace("/", "~1").replace(".", "~2")


def _problem(value: Any) -> str | None:
    """Where within a value something is that JSON would give back otherwise, and what it is."""

    kind = type(value)
    if value is None or kind in (str, int, bool):
        return None
    if kind is float:
        return None if math.isfinite(value) else f" is {value}"
    if kind is list:
        inside: Any = ((f"[{place}]", each) for place, each in enumerate(value))
    elif kind is dict:
        odd = next((key for key in value if type(key) is not str), None)
        if odd is not None:
            return f" has the key {odd!r} of type {type(odd).__name__}"
        inside = ((f"[{key!r}]", each) for key, each in value.items())
    else:
        return f" is of type {kind.__name__}"

    found = ((place, _problem(each)) for place, each in inside)

    return next((f"{place}{problem}" for place, problem in found if problem is not None), None)
