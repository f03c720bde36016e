"""A trajectory as one row of an SFT data set: its messages, and which of its turns carry loss."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from synth.exporters.kind import Form
from synth.exporters.settings import Arguments
from synth.schemas.messages import GREETING_MASK, to_messages
from synth.schemas.model import Message
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import SampledBy, Source, Trajectory, Turn

EVIDENCE = frozenset({"critical_step", "failure_injection", "second_evidence"})
"""Synthesizers whose trajectories were played to find out what an act does: they stand behind labels, and are not picked to be learnt."""


_NONE: Mapping[int, str] = MappingProxyType({})


class SftRow(msgspec.Struct, frozen=True):
    """One trajectory as training data, or one turn of it (`turn`): then the messages end with that turn's.

    `trained` and `masked` count assistant messages from 0, as turns are counted; `extra` are columns of the kind's own.
    """

    messages: list[Message]
    trajectory: Trajectory
    trained: tuple[int, ...]
    masked: Mapping[int, str]
    turn: int | None = None
    extra: Mapping[str, Any] = {}
    recovery: bool = False
    """Whether it came back from an error, its own or an injected one; what made it worse carries no loss."""
    joined: bool = False
    """Whether words of users stand in answers of tools (`join_answers`)."""

    @property
    def lineage(self) -> Trajectory:
        return self.trajectory


def sft_row(
    trajectory: Trajectory, form: Form, *, arguments: Arguments | None = None, thoughts: bool = True, masks: Mapping[int, str] = _NONE
) -> SftRow:
    """A trajectory as a row: loss on turns that the policy wrote, unless something masks them; `masks`: as a recovery it has these too.

    Arguments that are no object, or one that the trainer's loader would change, stay text as received in a masked turn. What users
    said after the last turn is left out: nothing is trained there, and simulators put their control signals there.
    """
    turns = trajectory.turns
    masked = turns_without_loss(trajectory, masks)
    messages = to_messages(trajectory, thoughts=thoughts)
    del messages[len(messages) - said_after(trajectory) :]
    if (arguments or form.arguments) == "dict":
        answers = [message for message in messages if message["role"] == "assistant"]
        for index, (turn, message) in enumerate(zip(turns, answers, strict=True)):
            if not with_objects(turn, message, form.holds):
                masked.setdefault(index, "inexact_arguments")
    trained = tuple(i for i in range(len(turns)) if i not in masked)
    injected = trajectory.synthesizer in EVIDENCE and trajectory.outcome is Outcome.SUCCESS
    return SftRow(messages, trajectory, trained, dict(sorted(masked.items())), recovery=bool(masks) or injected)


def turns_without_loss(trajectory: Trajectory, masks: Mapping[int, str] = _NONE) -> dict[int, str]:
    """The turns that carry no loss in any form, each with its reason."""
    found = {i: mask_reason(turn, i, trajectory.pivot_turn) or masks.get(i) for i, turn in enumerate(trajectory.turns)}
    return {i: reason for i, reason in found.items() if reason}


def with_objects(turn: Turn, message: Message, holds: Callable[[Any], bool]) -> bool:
    """Puts the arguments of a turn's calls into its message as objects; False where one would be read back changed, and stays text.

    Those that are no object stay text as received.
    """
    exact = True
    for call, written in zip(turn.tool_calls, message.get("tool_calls", ()), strict=True):
        if call.parse_error is not None:
            continue
        if holds(parsed := call.parsed()):
            written["function"]["arguments"] = parsed
        else:
            exact = False
    return exact


def mask_reason(turn: Turn, index: int, pivot_turn: int | None = None) -> str | None:
    """Why a turn carries no loss, or None: its own mask, another author, before the pivot, calls that do not parse, nothing said."""
    if turn.mask is not None:
        return turn.mask
    if turn.sampled_by is not SampledBy.POLICY:
        return GREETING_MASK if turn.sampled_by is SampledBy.CANNED else turn.sampled_by.value
    if turn.injected is not None:
        return "injected"
    if pivot_turn is not None and index < pivot_turn:
        return "before_pivot"
    if any(call.parse_error is not None for call in turn.tool_calls):
        return "parse_error"
    if not turn.content and not turn.tool_calls:
        return "empty"
    return None


def characters(turn: Turn, *, thought: bool = True) -> int:
    """Of what a turn wrote: text, thought (unless it is left out), names and arguments of calls, as they were received."""
    calls = sum(len(call.name) + len(call.arguments) for call in turn.tool_calls)
    return len(turn.content or "") + (len(turn.thought or "") if thought else 0) + calls


def said_after(trajectory: Trajectory) -> int:
    """How many observations at the very end are a user's."""
    count = 0
    for observation in reversed(trajectory.turns[-1].observations if trajectory.turns else ()):
        if observation.source is not Source.USER:
            break
        count += 1
    return count
