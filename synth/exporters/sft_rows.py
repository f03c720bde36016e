"""A trajectory as one row of an SFT data set: its messages, and which of its turns carry loss."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from synth.exporters.kind import Arguments, Form
from synth.loss_turns import EVIDENCE, characters, turns_without_loss
from synth.schemas.messages import to_messages
from synth.schemas.model import Message
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Source, Trajectory, Turn

BEFORE = "before_this_turn"


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


def unrolled(row: SftRow, *, past_thoughts: bool = False) -> Iterator[SftRow]:
    """The row cut behind each trained turn; only that turn carries loss.

    What the model had thought in turns before is left out unless asked for: policies are not shown
    it again (`send_thoughts`).
    """
    places = assistant_places(row.messages)
    for turn in row.trained:
        before = row.messages[: places[turn]]
        prompt = before if past_thoughts else [_without_thought(message) for message in before]
        masked = {index: row.masked.get(index, BEFORE) for index in range(turn)}
        yield SftRow(
            [*prompt, row.messages[places[turn]]],
            row.trajectory,
            (turn,),
            masked,
            turn,
            row.extra,
            row.recovery,
            row.joined,
        )


def assistant_places(messages: list[Message]) -> list[int]:
    """Where the assistant's messages stand."""
    return [at for at, message in enumerate(messages) if message["role"] == "assistant"]


def up_to_last_loss(row: SftRow) -> list[Message]:
    """The messages up to the last one that carries loss."""
    return row.messages[: assistant_places(row.messages)[max(row.trained)] + 1]


def loss_characters(row: SftRow) -> int:
    """Characters of what carries loss, the same in every form: arguments count as they were
    received, not as an object is printed.
    """
    places, turns = assistant_places(row.messages), row.trajectory.turns
    found = [(row.messages[places[turn]], turns[turn] if turns else None) for turn in row.trained]
    return sum(
        characters(turn or _said(message), thought="reasoning_content" in message)
        for message, turn in found
    )


def joined_answers(messages: list[Message]) -> list[Message]:
    """What users say right after a tool answered, put into that answer: formats that alternate
    strictly have no place for both.
    """
    joined: list[Message] = []
    for message in messages:
        if message["role"] == "user" and joined and joined[-1]["role"] == "tool":
            joined[-1] = joined[-1] | {
                "content": f"{joined[-1]['content']}\n\n[user] {message['content']}"
            }
        else:
            joined.append(message)
    return joined


def _said(message: Message) -> Turn:
    """Of a compiled row (`memory`), which has no recorded turns: its answer, a text."""
    return Turn(index=0, content=message["content"], thought=message.get("reasoning_content"))


def _without_thought(message: Message) -> Message:
    return {key: value for key, value in message.items() if key != "reasoning_content"}
