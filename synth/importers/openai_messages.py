"""Chats in OpenAI's form: `{"messages": [...], "tools"?: [...], ...}` or a bare list of messages per record.

Other keys that are read: `reward`, `success`, `outcome`, `model`, `benchmark`. Without the first three the outcome is unknown.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from typing import Any

import msgspec

from schemas.canonical import content_hash
from schemas.messages import Conversation, from_messages
from schemas.outcome import Outcome, Termination, settle
from schemas.task import Origin, Task
from schemas.trajectory import Observation, Source, ToolSchema, Trajectory
from synth.importers.records import Imported, ImportSettings, Record, Rejection

_FORMAT = "openai_messages"
_ENV = "openai_messages"


class _Chat(msgspec.Struct):
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | str | None = None
    reward: float | None = None
    success: bool | None = None
    outcome: str | None = None
    model: str | None = None
    benchmark: str | None = None


def trajectories(records: Iterable[Record | Rejection], settings: ImportSettings) -> Iterator[Imported | Rejection]:
    """The chats of one file, one at a time; trials are numbered by order within a task."""
    trials: Counter[str] = Counter()
    for record in records:
        if isinstance(record, Rejection):
            yield record
            continue
        try:
            chat = msgspec.convert(record.value if isinstance(record.value, dict) else {"messages": record.value}, _Chat)
            conversation = from_messages(chat.messages)
            tools = _tools(chat.tools)
            passed = _passed(chat, settings)
        except (ValueError, RecursionError) as error:
            yield record.rejected("bad_record", str(error))
            continue
        if not conversation.turns:
            yield record.rejected("no_turns", "no assistant message")
            continue
        task = _task(conversation, chat.benchmark)
        yield Imported(task, _trajectory(record, chat, conversation, tools, task, trials[task.task_id], passed))
        trials[task.task_id] += 1


def _tools(tools: list[dict[str, Any]] | str | None) -> tuple[ToolSchema, ...]:
    """Tool schemas as a list, or as the JSON text of one. Raises `ValueError`."""
    decoded = json.loads(tools) if isinstance(tools, str) and tools else tools or []
    return tuple(msgspec.convert(decoded, list[dict[str, Any]]))


def _passed(chat: _Chat, settings: ImportSettings) -> bool | None:
    """What the record claims: `outcome` before `success` before `reward`. Raises `ValueError` for an outcome it cannot have."""
    if chat.reward is not None and not isfinite(chat.reward):
        raise ValueError("reward is not finite")
    if chat.outcome is not None:
        if chat.outcome not in (Outcome.SUCCESS, Outcome.FAILURE, Outcome.UNKNOWN):
            raise ValueError(f"outcome {chat.outcome!r} is none of success, failure, unknown")
        return None if chat.outcome == Outcome.UNKNOWN else chat.outcome == Outcome.SUCCESS
    if chat.success is not None:
        return chat.success
    return None if chat.reward is None else chat.reward >= settings.reward_threshold


def _task(conversation: Conversation, benchmark: str | None) -> Task:
    """What the user first said, under the system prompt that stood before it; a chat that no user speaks in has the prompt as goal."""
    heard = [*conversation.opening, *(o for turn in conversation.turns for o in turn.observations)]
    prompt = conversation.system_prompt or ""
    return Task.identified(
        env=_ENV,
        goal=_first_of_user(heard) or prompt,
        env_config={"system_prompt": content_hash(prompt)},
        origin=Origin.IMPORT,
        benchmark=benchmark,
    )


def _first_of_user(heard: Sequence[Observation]) -> str:
    return next((o.content for o in heard if o.source is not Source.TOOL and o.content), "")


def _trajectory(
    record: Record,
    chat: _Chat,
    conversation: Conversation,
    tools: tuple[ToolSchema, ...],
    task: Task,
    trial: int,
    passed: bool | None,
) -> Trajectory:
    slot, identity = record.ids(_FORMAT)
    return Trajectory(
        trajectory_id=identity,
        slot_id=slot,
        attempt=0,
        task_id=task.task_id,
        env=task.env,
        trial=trial,
        synthesizer="import",
        policy="imported",
        model=chat.model,
        outcome=settle(Termination.UNREPORTED, passed, None),
        termination=Termination.UNREPORTED,
        reward=chat.reward,
        system_prompt=conversation.system_prompt,
        tools=tools,
        opening=conversation.opening,
        turns=conversation.turns,
        source=record.source(_FORMAT),
        benchmark=chat.benchmark,
    )
