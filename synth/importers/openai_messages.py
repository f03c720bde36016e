"""Chats in OpenAI's form: `{"messages": [...], "tools"?: [...], ...}` or a bare list of messages
per record.

Other keys that are read: `reward`, `success`, `outcome`, `model`, `benchmark`, `split`. Without the
first three the outcome is unknown. Turns that the source gives no loss (`weight` 0, `training`
false, `masked_turns`) are masked.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from synth.importers.attempt import entry, import_task
from synth.importers.records import Entry, Format, Imported, ImportSettings, Record, Rejection, each
from synth.schemas.canonical import content_hash
from synth.schemas.messages import Conversation, from_messages
from synth.schemas.outcome import Outcome
from synth.schemas.task import Task
from synth.schemas.trajectory import Source, ToolSchema

_LOSS = {"weight": "zero_weight", "training": "not_trained"}
"""Keys of an answer that say whether it carries loss (OpenAI's fine-tuning, Axolotl), and the mask
of those that do not.
"""


class _Masked(msgspec.Struct):
    turn: int
    reason: str


class _Chat(msgspec.Struct):
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | str | None = None
    reward: float | None = None
    success: bool | None = None
    outcome: str | None = None
    model: str | None = None
    benchmark: str | None = None
    split: Any = None
    masked_turns: list[_Masked] | None = None


def trajectories(
    records: Iterable[Record | Rejection], settings: ImportSettings
) -> Iterator[Entry]:
    """The chats of one file, one at a time; trials are numbered by order within a task."""
    trials: Counter[str] = Counter()

    def read(record: Record) -> Entry:
        value = record.value if isinstance(record.value, dict) else {"messages": record.value}
        chat = msgspec.convert(value, _Chat)
        conversation = _without_loss(from_messages(chat.messages), chat)
        task = _task(conversation, chat)
        found = entry(
            record,
            "openai_messages",
            conversation,
            task,
            trial=trials[task.task_id],
            passed=_passed(chat, settings),
            reward=chat.reward,
            model=chat.model,
            tools=_tools(chat.tools),
            no_turns="no assistant message",
        )
        trials[task.task_id] += isinstance(found, Imported)
        return found

    yield from each(records, read)


def recognises(value: Any) -> bool:
    """Chat messages whose calls are nested under `function`; flat calls and `requestor` are other
    formats' (tau2).
    """
    messages = value.get("messages") if isinstance(value, Mapping) else value
    if not isinstance(messages, list) or not messages:
        return False
    for message in messages:
        if (
            not isinstance(message, Mapping)
            or not isinstance(message.get("role"), str)
            or "requestor" in message
        ):
            return False
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list) or any(
            isinstance(call, Mapping) and "function" not in call for call in calls
        ):
            return False
    return True


FORMAT = Format(recognises, trajectories)


def _tools(tools: list[dict[str, Any]] | str | None) -> tuple[ToolSchema, ...]:
    """Tool schemas as a list, or as the JSON text of one. Raises `ValueError`."""
    decoded = json.loads(tools) if isinstance(tools, str) and tools else tools or []
    return tuple(msgspec.convert(decoded, list[dict[str, Any]]))


def _without_loss(conversation: Conversation, chat: _Chat) -> Conversation:
    """The conversation with a mask on the turns that the source gives no loss. Raises `ValueError`
    where it says neither yes nor no.
    """
    masks = {
        place: mask
        for place, at in enumerate(_answers(chat))
        if (mask := _unweighted(chat.messages[at], at)) is not None
    }
    masks |= {masked.turn: masked.reason for masked in chat.masked_turns or ()}
    turns = conversation.turns
    if beyond := sorted(masks.keys() - range(len(turns))):
        raise ValueError(
            f"masked_turns names turn {beyond[0]}, the chat has {len(turns)} turns, counted from 0"
        )
    masked = (
        turn if turn.mask is not None else msgspec.structs.replace(turn, mask=masks.get(turn.index))
        for turn in turns
    )
    return msgspec.structs.replace(conversation, turns=tuple(masked))


def _answers(chat: _Chat) -> list[int]:
    """Where the assistant's messages stand, one for each turn."""
    return [at for at, message in enumerate(chat.messages) if message.get("role") == "assistant"]


def _unweighted(message: Mapping[str, Any], at: int) -> str | None:
    """The mask of an answer without loss, None for one that may carry it."""
    mask = None
    for key, name in _LOSS.items():
        weight = message.get(key)
        if weight is not None and weight not in (0, 1):
            raise ValueError(f"message {at}: {key} {weight!r} is neither 0 nor 1")
        if weight is not None and not weight:
            mask = mask or name
    return mask


def _passed(chat: _Chat, settings: ImportSettings) -> bool | None:
    """What the record claims: `outcome` before `success` before `reward`. Raises `ValueError` for
    an outcome it cannot have.
    """
    if chat.outcome is not None:
        if chat.outcome not in (Outcome.SUCCESS, Outcome.FAILURE, Outcome.UNKNOWN):
            raise ValueError(f"outcome {chat.outcome!r} is none of success, failure, unknown")
        return None if chat.outcome == Outcome.UNKNOWN else chat.outcome == Outcome.SUCCESS
    if chat.success is not None:
        return chat.success
    return settings.passed(chat.reward)


def _task(conversation: Conversation, chat: _Chat) -> Task:
    """What the user first said, under the system prompt that stood before it; a chat that no user
    speaks in has the prompt as goal.
    """
    heard = [*conversation.opening, *(o for turn in conversation.turns for o in turn.observations)]
    prompt = conversation.system_prompt or ""
    return import_task(
        "openai_messages",
        next((o.content for o in heard if o.source is not Source.TOOL and o.content), prompt),
        env_config={"system_prompt": content_hash(prompt)},
        benchmark=chat.benchmark,
        split=chat.split if isinstance(chat.split, str) and chat.split else None,
    )
