"""A trajectory as one row of an SFT data set: its messages, and which of its turns carry loss."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from types import MappingProxyType
from typing import Any

import msgspec

from synth.exporters.form import Form
from synth.exporters.kind import RowSettings
from synth.loss_turns import EVIDENCE, characters, turns_without_loss
from synth.schemas import Message, Outcome, Source, Trajectory, Turn, to_messages

BEFORE = "before_this_turn"
_NONE: Mapping[int, str] = MappingProxyType({})
_PLAIN = RowSettings()


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
    inferred_tools: bool = False
    """Whether its tools are those that calls show, where the source recorded none."""
    joined: bool = False
    """Whether words of users stand in answers of tools (`join_answers`)."""
    since: int = 0
    """The first turn that no earlier row of the same trajectory holds."""
    pieces: int = 1
    """Rows that the trajectory stands in."""
    judged: str = ""
    """How far the model may be believed without whose judgement it would not be here."""


def sft_row(
    trajectory: Trajectory,
    form: Form,
    settings: RowSettings = _PLAIN,
    masks: Mapping[int, str] = _NONE,
) -> SftRow:
    """A trajectory as a row: loss on turns that the policy wrote, unless something masks them;
    `masks`: as a recovery it has these too.

    Arguments that are no object, or one that the trainer's loader would change, stay text as
    received in a masked turn. What users said after the last turn is left out: nothing is trained
    there, and simulators put their control signals there.
    """
    turns, masked = trajectory.turns, turns_without_loss(trajectory, masks)
    messages = to_messages(trajectory, thoughts=settings.thoughts)
    # simulators end a conversation with signals that no user ever writes
    del messages[len(messages) - said_after(trajectory) :]

    if (settings.arguments or form.arguments) == "dict":
        for index in inexact(turns, messages, form.holds):
            masked.setdefault(index, "inexact_arguments")

    # an injected run that passed came back from its mistake
    injected = trajectory.synthesizer in EVIDENCE and trajectory.outcome is Outcome.SUCCESS
    joined = joined_answers(messages) if settings.join_answers and form.joins else messages

    return SftRow(
        joined,
        trajectory,
        tuple(i for i in range(len(turns)) if i not in masked),
        dict(sorted(masked.items())),
        recovery=bool(masks) or injected,
        joined=len(joined) < len(messages),
    )


def inexact(
    turns: Sequence[Turn], messages: Sequence[Message], holds: Callable[[Any], bool]
) -> list[int]:
    """Puts the arguments of calls into the messages as objects; gives the turns in which one would
    be read back changed, and stays text. Those that are no object stay text as received.
    """
    found = []
    said = (message for message in messages if message["role"] == "assistant")

    for index, (turn, message) in enumerate(zip(turns, said, strict=True)):
        for call, written in zip(turn.tool_calls, message.get("tool_calls", ()), strict=True):
            if call.parse_error is not None:
                continue

            if holds(parsed := call.parsed()):
                written["function"]["arguments"] = parsed
            else:
                found.append(index)

    return found


def said_after(trajectory: Trajectory) -> int:
    """How many observations at the very end are a user's."""
    last = trajectory.turns[-1].observations if trajectory.turns else ()
    return sum(1 for _ in takewhile(lambda one: one.source is Source.USER, reversed(last)))


def unrolled(row: SftRow, *, past_thoughts: bool = False) -> Iterator[SftRow]:
    """The row cut behind each trained turn; only that turn carries loss.

    What the model had thought in turns before is left out unless asked for: policies are not shown
    it again (`send_thoughts`).
    """
    places = assistant_places(row.messages)

    for turn in row.trained:
        prompt, answer = row.messages[: places[turn]], row.messages[places[turn]]

        if not past_thoughts:
            prompt = [
                {key: value for key, value in message.items() if key != "reasoning_content"}
                for message in prompt
            ]

        # earlier turns are context here, and trained on in rows of their own
        masked = {index: row.masked.get(index, BEFORE) for index in range(turn)}
        yield msgspec.structs.replace(
            row, messages=[*prompt, answer], trained=(turn,), masked=masked, turn=turn
        )


def in_runs(row: SftRow) -> Iterator[SftRow]:
    """The row cut behind each run of trained turns, so that all the assistant says from the first
    of them on carries loss. A trajectory whose turns all do, or all but its first ones, stays one.
    """
    places, runs = assistant_places(row.messages), _runs(row.trained)
    for piece, run in enumerate(runs):
        since = runs[piece - 1][-1] + 1 if piece else 0
        cut = run[-1] + 1 < len(places)
        earlier = {index: row.masked.get(index, BEFORE) for index in range(run[0])}
        yield msgspec.structs.replace(
            row,
            messages=row.messages[: places[run[-1]] + 1] if cut else row.messages,
            trained=run,
            masked=earlier,
            since=since,
            pieces=len(runs),
        )


def _runs(turns: Sequence[int]) -> list[tuple[int, ...]]:
    """Turns in a row, each row by itself."""
    # turns that follow each other are as far from their places in the list
    runs = groupby(enumerate(turns), key=lambda placed: placed[1] - placed[0])
    return [tuple(turn for _, turn in run) for _, run in runs]


def assistant_places(messages: list[Message]) -> list[int]:
    """Where the assistant's messages stand."""
    return [at for at, message in enumerate(messages) if message["role"] == "assistant"]


def trained_places(row: SftRow) -> list[int]:
    """Where the messages stand that carry loss, in order."""
    places = assistant_places(row.messages)
    return [places[turn] for turn in row.trained]


def up_to_last_loss(row: SftRow) -> list[Message]:
    """The messages up to the last one that carries loss."""
    return row.messages[: trained_places(row)[-1] + 1]


def loss_characters(row: SftRow) -> int:
    """Characters of what carries loss, the same in every form: arguments count as they were
    received, not as an object is printed.
    """
    turns, size = row.trajectory.turns, 0

    for turn, at in zip(row.trained, trained_places(row), strict=True):
        message = row.messages[at]
        thought = message.get("reasoning_content")
        # a compiled row (`memory`) has no recorded turns: its answer is a text
        said = turns[turn] if turns else Turn(0, content=message["content"], thought=thought)
        size += characters(said, thought="reasoning_content" in message)

    return size


def joined_answers(messages: list[Message]) -> list[Message]:
    """What users say right after a tool answered, put into that answer: formats that alternate
    strictly have no place for both.
    """
    joined: list[Message] = []

    for message in messages:
        if message["role"] == "user" and joined and joined[-1]["role"] == "tool":
            said = f"{joined[-1]['content']}\n\n[user] {message['content']}"
            joined[-1] = joined[-1] | {"content": said}
        else:
            joined.append(message)

    return joined
