"""A trajectory as one row per turn that carries loss: each with what stood before it as the prompt, so that masks need no place."""

from collections.abc import Iterator

from schemas.model import Message
from synth.exporters.sft_rows import SftRow

BEFORE = "before_this_turn"


def unrolled(row: SftRow, *, past_thoughts: bool = False) -> Iterator[SftRow]:
    """The row cut behind each trained turn; only that turn carries loss.

    What the model had thought in turns before is left out unless asked for: policies are not shown it again (`send_thoughts`).
    """
    places = assistant_places(row.messages)
    for turn in row.trained:
        before = row.messages[: places[turn]]
        prompt = before if past_thoughts else [_without_thought(message) for message in before]
        masked = {index: row.masked.get(index, BEFORE) for index in range(turn)}
        yield SftRow([*prompt, row.messages[places[turn]]], row.trajectory, (turn,), masked, turn, row.extra, row.recovery)


def assistant_places(messages: list[Message]) -> list[int]:
    """Where the assistant's messages stand."""
    return [at for at, message in enumerate(messages) if message["role"] == "assistant"]


def loss_characters(row: SftRow) -> int:
    """Characters of what carries loss: texts, thoughts, names and arguments of calls."""
    places = assistant_places(row.messages)
    return sum(_characters(row.messages[places[turn]]) for turn in row.trained)


def joined_answers(messages: list[Message]) -> list[Message]:
    """What users say right after a tool answered, put into that answer: formats that alternate strictly have no place for both."""
    joined: list[Message] = []
    for message in messages:
        if message["role"] == "user" and joined and joined[-1]["role"] == "tool":
            joined[-1] = joined[-1] | {"content": f"{joined[-1]['content']}\n\n[user] {message['content']}"}
        else:
            joined.append(message)
    return joined


def _characters(message: Message) -> int:
    size = len(message.get("content") or "") + len(message.get("reasoning_content") or "")
    for call in message.get("tool_calls", ()):
        arguments = call["function"]["arguments"]
        size += len(call["function"]["name"]) + len(arguments if isinstance(arguments, str) else str(arguments))
    return size


def _without_thought(message: Message) -> Message:
    return {key: value for key, value in message.items() if key != "reasoning_content"}
