"""Values that stand nowhere, in the place of values that an agent had seen."""

import json
import re
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec

from synth.schemas import ToolCall, Trajectory, Turn
from synth.text.provenance import Status, provenance

_TOKEN = re.compile(r"(?<![\w@.-])(?=[\w@.-]*\d)\w[\w-]*(?:[.@][\w-]+)*(?![\w@.\"(-])")
_LEAST = 3
"""Signs of what is replaced in code."""


def context(trajectory: Trajectory) -> str:
    """All that an agent was shown, folded."""
    heard = [*trajectory.opening, *(o for turn in trajectory.turns for o in turn.observations)]
    texts = [trajectory.system_prompt or "", *(one.content for one in heard)]
    return "\n".join([*texts, json.dumps(trajectory.tools)]).casefold()


def another(value: str, shown: str, rng: Random) -> str:
    """A text of the same shape: letters for letters, digits for digits; nowhere in what was shown.

    What has fewer than two letters or digits is given four digits.
    """
    while True:
        drawn = "".join(map(lambda sign: _drawn(sign, rng), value))
        if sum(map(str.isalnum, value)) < _LEAST:
            drawn = f"{drawn}{rng.randint(1000, 9999)}"

        if drawn.casefold() not in shown and not drawn.startswith("0"):
            return drawn


def _drawn(sign: str, rng: Random) -> str:
    if sign.isdigit():
        return rng.choice("123456789")

    letter = rng.choice("bcdfghjklmnpqrstvwxz")
    return (letter.upper() if sign.isupper() else letter) if sign.isalpha() else sign


def structured(trajectory: Trajectory, rng: Random) -> tuple[Trajectory, str] | None:
    """One argument that was observed, drawn anew; the trajectory and the drawn value."""
    shown, calls = context(trajectory), _calls(trajectory)
    found = [
        one
        for one in provenance(trajectory).findings
        if one.status is Status.OBSERVED
        and (len(str(one.value)) >= _LEAST)
        and one.value in list(_scalars(calls[one.turn, one.call].parsed()))
    ]
    if not found:
        return None

    one = rng.choice(found)
    call, text = calls[one.turn, one.call], another(str(one.value), shown, rng)
    drawn = text if isinstance(one.value, str) else json.loads(text)
    given = _replaced(call.parsed(), one.value, drawn)

    return with_call(trajectory, one.turn, one.call, json.dumps(given)), str(drawn)


def in_code(code: str, shown: str, rng: Random) -> tuple[str, str] | None:
    """One word with a digit of a program that stands in what was shown, drawn anew."""
    words = [one for one in dict.fromkeys(_TOKEN.findall(code)) if len(one) >= _LEAST]
    seen = [one for one in words if one.casefold() in shown and not one.startswith("-")]
    if not seen:
        return None

    old = rng.choice(seen)
    drawn = another(old, shown, rng)
    return _TOKEN.sub(lambda one: drawn if one[0] == old else one[0], code), drawn


def with_call(trajectory: Trajectory, turn: int, call: int, arguments: str) -> Trajectory:
    """A trajectory whose call was given other arguments, and that ends with it."""
    kept = list(trajectory.turns[: turn + 1])
    calls = list(kept[turn].tool_calls)
    calls[call] = ToolCall.received(calls[call].call_id, calls[call].name, arguments)
    last = Turn(kept[turn].index, kept[turn].content, tuple(calls))

    return msgspec.structs.replace(trajectory, turns=(*kept[:turn], last))


def _calls(trajectory: Trajectory) -> dict[tuple[int, int], ToolCall]:
    return {
        (turn.index, at): call
        for turn in trajectory.turns
        for at, call in enumerate(turn.tool_calls)
    }


def _scalars(value: Any) -> Iterator[str | int | float]:
    if isinstance(value, dict | list):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _scalars(entry)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value


def _replaced(value: Any, old: Any, new: Any) -> Any:
    """A JSON value with another text in the place of each of one."""
    if isinstance(value, dict):
        return {key: _replaced(entry, old, new) for key, entry in value.items()}

    if isinstance(value, list):
        return [_replaced(entry, old, new) for entry in value]

    return new if value == old else value
