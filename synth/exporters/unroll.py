"""A trajectory as one row per turn that carries loss: each with what stood before it as the prompt,
so that masks need no place.
"""

from collections.abc import Iterator

from synth.exporters.sft_rows import SftRow
from synth.loss_turns import characters
from synth.schemas.model import Message
from synth.schemas.trajectory import Turn

BEFORE = "before_this_turn"


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
