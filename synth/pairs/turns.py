"""Questions about one recorded turn: what stood before it, how long it is, where its arguments come
from, who sampled it, of which template its task is.

A prompt is what stood before the turn, as messages with the thoughts of earlier turns; two turns
have the same prompt where these and the tools are the same.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from synth.schemas import (
    Message,
    SampledBy,
    Source,
    Task,
    Trajectory,
    Turn,
    content_hash,
    to_messages,
)
from synth.text.provenance.linter import provenance

_IDS = ("tool_call_id", "id")
"""Keys that are new in every rollout: two prompts are one whatever ids their calls have."""
_OF_TRAJECTORY = ("trajectory_id", "task_id", "authorship", "gold_informed", "benchmark", "split")


def of_turn(trajectory: Trajectory, turn: int) -> dict[str, Any]:
    """What every label on a turn says of it."""
    # who wrote the trajectory is who wrote the turn, unless the label says otherwise
    alike = {name: getattr(trajectory, name) for name in _OF_TRAJECTORY}
    return alike | {"turn": turn, "policy": policy_name(trajectory)}


def prompt_messages(trajectory: Trajectory, turn: int) -> list[Message]:
    """What stood before a turn, as it was shown, thoughts of earlier turns included."""
    return to_messages(msgspec.structs.replace(trajectory, turns=trajectory.turns[:turn]))


def prompt_digest(trajectory: Trajectory, turn: int) -> str:
    """Hash of tools and messages before a turn, whatever ids the calls have."""
    return content_hash(
        [trajectory.tools, [_nameless(message) for message in prompt_messages(trajectory, turn)]]
    )


def _nameless(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message without ids, which are new in every rollout."""
    calls = message.get("tool_calls")
    plain = {key: value for key, value in message.items() if key not in _IDS}
    return plain if calls is None else {**plain, "tool_calls": [call["function"] for call in calls]}


def unlearnable(turn: Turn) -> str | None:
    """Why a turn can be no side of a row: nothing said, or calls that do not parse."""
    if any(call.parse_error is not None for call in turn.tool_calls):
        return "parse_error"
    return None if turn.tool_calls or (turn.content or "").strip() else "empty_turn"


def provenance_gap(trajectory: Trajectory, turn: int) -> str | None:
    """Why a turn's effectful calls have no ground in what stood before it: `unjustified_argument`,
    `unjustified_choice`, or None.
    """
    # what stands after the turn must not justify what it did
    report = provenance(msgspec.structs.replace(trajectory, turns=trajectory.turns[: turn + 1]))
    if any(finding.turn == turn for finding in report.unjustified):
        return "unjustified_argument"

    guessed = any(choice.turn == turn and choice.unjustified for choice in report.choices)

    return "unjustified_choice" if guessed else None


def policy_name(trajectory: Trajectory) -> str:
    """Its model, or the policy that has none."""
    return trajectory.model or trajectory.policy


def foreign_prefix(trajectory: Trajectory, turn: int) -> str | None:
    """What makes the turns before this one another policy's than the trajectory's own: whispered
    guidance, injected or human turns.
    """
    # guidance is whispered at the pivot; turns before it had none
    if trajectory.guidance is not None and turn > (trajectory.pivot_turn or 0):
        return "guided"

    # canned and replayed turns count as the policy's own
    written = {one.sampled_by for one in trajectory.turns[:turn]}
    return next((by.value for by in (SampledBy.INJECTED, SampledBy.HUMAN) if by in written), None)


def tool_in_context(trajectory: Trajectory, turn: int) -> str:
    """The last tool that answered before a turn; `none` before the first."""
    # results carry names only where their server gave them, else their calls do
    # from the turn backwards, to the last answer of a tool
    for earlier in reversed(trajectory.turns[:turn]):
        names = {call.call_id: call.name for call in earlier.tool_calls}

        for seen in reversed(earlier.observations):
            if seen.source is Source.TOOL:
                return seen.name or names.get(seen.call_id or "", "unknown")

    return "none"


def template(task: Task | None, env: str) -> str:
    """Its world and what its `difficulty` says of it: `template`, else `structure` (goal with
    masked entities), else `kinds` of requests.

    A world that says none of these has one template per environment.
    """
    said = {} if task is None else task.difficulty

    # the narrowest that the world tells
    for key in ("template", "structure", "kinds"):
        if said.get(key):
            known = said[key] if key == "template" else f"{key}-{content_hash(said[key], size=6)}"

            return f"{env}:{known}"

    return env
