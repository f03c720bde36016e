"""A trajectory as one row of an SFT data set: its messages, and which of its turns carry loss."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from synth.exporters.kind import Form
from synth.exporters.settings import Arguments
from synth.loss_turns import EVIDENCE, turns_without_loss
from synth.schemas.messages import to_messages
from synth.schemas.model import Message
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Source, Trajectory, Turn

_NONE: Mapping[int, str] = MappingProxyType({})


class SftRow(msgspec.Struct, frozen=True):
    """One trajectory as training data, or one turn of it (`turn`): then the messages end with that
    turn's.

    `trained` and `masked` count assistant messages from 0, as turns are counted; `extra` are
    columns of the kind's own.
    """

    messages: list[Message]
    trajectory: Trajectory
    trained: tuple[int, ...]
    masked: Mapping[int, str]
    turn: int | None = None
    extra: Mapping[str, Any] = {}
    recovery: bool = False
    """Whether it came back from an error, its own or an injected one; what made it worse carries no
    loss.
    """
    joined: bool = False
    """Whether words of users stand in answers of tools (`join_answers`)."""

    @property
    def lineage(self) -> Trajectory:
        return self.trajectory


def sft_row(
    trajectory: Trajectory,
    form: Form,
    *,
    arguments: Arguments | None = None,
    thoughts: bool = True,
    masks: Mapping[int, str] = _NONE,
) -> SftRow:
    """A trajectory as a row: loss on turns that the policy wrote, unless something masks them;
    `masks`: as a recovery it has these too.

    Arguments that are no object, or one that the trainer's loader would change, stay text as
    received in a masked turn. What users
    said after the last turn is left out: nothing is trained there, and simulators put their control
    signals there.
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
    return SftRow(
        messages,
        trajectory,
        trained,
        dict(sorted(masked.items())),
        recovery=bool(masks) or injected,
    )


def with_objects(turn: Turn, message: Message, holds: Callable[[Any], bool]) -> bool:
    """Puts the arguments of a turn's calls into its message as objects; False where one would be
    read back changed, and stays text.

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


def said_after(trajectory: Trajectory) -> int:
    """How many observations at the very end are a user's."""
    count = 0
    for observation in reversed(trajectory.turns[-1].observations if trajectory.turns else ()):
        if observation.source is not Source.USER:
            break
        count += 1
    return count
