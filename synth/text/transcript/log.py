"""A trajectory as a log for a reader that diagnoses it.

Each turn is one JSON object, so that nothing in it can pass for instructions.
"""

import json
from collections.abc import Sequence

from synth.schemas import GREETING_MASK, Observation, SampledBy, Trajectory, Turn

LONGEST_TEXT = 3000
"""Characters of one message; what is beyond is left out in the middle."""
LONGEST_LOG = 80_000
_LINE_ENDS = {ord(end): f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"}


def log_of(trajectory: Trajectory) -> str:
    """The opening, then the turns numbered from 0, as lines of JSON.

    The turns of a long log are shortened alike.
    """
    opening = {
        "system_prompt": _cut(trajectory.system_prompt or "", LONGEST_TEXT * 4),
        "said": _heard(trajectory.opening, LONGEST_TEXT),
    }
    limit = LONGEST_TEXT

    while True:
        lines = [_line(turn, limit) for turn in trajectory.turns]
        if sum(map(len, lines)) <= LONGEST_LOG or limit <= 200:
            return "\n".join([quoted(opening), *lines])

        limit //= 2


def quoted(value: object) -> str:
    """A value as one line of JSON, whatever a reader takes for the end of a line."""
    text = json.dumps(value, ensure_ascii=False)
    return text.translate(_LINE_ENDS) if not text.isascii() else text


def first_own_turn(trajectory: Trajectory) -> int | None:
    """The first turn that the agent itself wrote, None where it wrote none.

    A canned greeting is nobody's mistake.
    """
    return next(
        (turn.index for turn in trajectory.turns if turn.sampled_by is not SampledBy.CANNED), None
    )


def _line(turn: Turn, limit: int) -> str:
    """One turn of the log, with texts of `limit` characters at most."""
    entry: dict[str, object] = {"step": turn.index}
    if turn.sampled_by is SampledBy.CANNED:
        entry["note"] = GREETING_MASK

    if turn.thought:
        entry["thought"] = _cut(turn.thought, limit)

    if turn.content:
        entry["says"] = _cut(turn.content, limit)

    if turn.tool_calls:
        entry["calls"] = [
            {"name": call.name, "arguments": _cut(call.arguments, limit)}
            for call in turn.tool_calls
        ]

    entry["answers"] = _heard(turn.observations, limit)

    return quoted(entry)


def _heard(observations: Sequence[Observation], limit: int) -> list[dict[str, str]]:
    """Who said what, with texts of `limit` characters at most."""
    return [
        {"from": observation.source.value, "text": _cut(observation.content, limit)}
        for observation in observations
    ]


def _cut(text: str, limit: int) -> str:
    """A text without its middle, where it is too long."""
    if len(text) <= limit:
        return text

    return (
        f"{text[: limit // 2]} ...[{len(text) - limit} characters left out]... "
        f"{text[-limit // 2 :]}"
    )
