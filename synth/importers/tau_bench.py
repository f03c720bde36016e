"""tau-bench result lists: `{task_id, reward, info: {task}, traj: [messages], trial}` per record.

The files have no tool schemas and do not say how an episode ended. `task_id` and `trial` are not
trusted: a task is its instruction and user, and trials are numbered by order where the source's
number repeats or is the task's. Control signals of the user simulator (`###STOP###`,
`###TRANSFER###`) stay in the trajectory as evidence of how it ended; training exports cut what
follows the last turn.
"""

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from synth.importers.attempt import entry, import_task
from synth.importers.records import (
    Entry,
    Format,
    Imported,
    ImportSettings,
    Record,
    Rejection,
    each,
    is_object,
)
from synth.importers.trials import DeclaredTrial, numbered
from synth.schemas.messages import from_messages
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall

AGENTRX = "agentrx"
"""AgentRx labels name a trajectory of this format by its `task_id`."""
_ROUNDING = 1e-6  # tau-bench itself compares rewards with 1 up to this
_DOMAIN = re.compile(r"\b(airline|retail)\s+agent\b", re.IGNORECASE)
# {strategy}-{agent model}-{temperature}_range_..._user-... as tau-bench names its results; "none"
# where it was not stated
_RUN_NAME = re.compile(
    r"(?:^|_)(?:tool-calling|act|react|few-shot)-(?P<model>.+?)-(?P<temperature>\d+\.\d+)_range_"
)
_DOMAIN_NAME = re.compile(r"^(?P<model>[A-Za-z0-9.-]+?)-(?:airline|retail)\b")


class _Action(msgspec.Struct):
    name: str
    kwargs: dict[str, Any] = {}


class _Task(msgspec.Struct):
    instruction: str
    user_id: str | None = None
    actions: list[_Action] | None = None
    outputs: list[Any] | None = None


class _Info(msgspec.Struct):
    task: _Task


class _Result(msgspec.Struct):
    info: _Info
    traj: list[dict[str, Any]] | None = None
    reward: float | None = None
    task_id: Any = None
    trial: Any = None


def trajectories(
    records: Iterable[Record | Rejection], settings: ImportSettings
) -> Iterator[Entry]:
    """The attempts of one result file; its first records decide whether its trial numbers are
    any.
    """
    stated: dict[str, DeclaredTrial] = {}

    def read(record: Record) -> Entry:
        result = msgspec.convert(record.value, _Result)
        messages = result.traj or []
        conversation = from_messages(messages)
        model, sampling = _model_and_sampling(record.file)
        task = _task(result.info.task, conversation.system_prompt)
        found = entry(
            record,
            "tau_bench",
            conversation,
            task,
            passed=settings.passed(result.reward, _ROUNDING),
            reward=result.reward,
            model=model,
            sampling=sampling,
            no_turns="the agent said nothing: no result, not a failure",
        )
        if not isinstance(found, Imported):
            return found
        stated[found.trajectory.trajectory_id] = DeclaredTrial(
            task.task_id, result.trial, result.task_id
        )
        if "index" not in messages[0]:
            return found
        return replace(
            found, name=f"{AGENTRX}/{result.task_id}", turn_of_message=_turn_of_message(messages)
        )

    yield from numbered(each(records, read), stated)


def _turn_of_message(messages: Sequence[Mapping[str, Any]]) -> tuple[int | None, ...]:
    """For every message the turn that it is; None for what the agent did not write."""
    count = itertools.count()
    return tuple(
        next(count) if message.get("role") == "assistant" else None for message in messages
    )


def recognises(value: Any) -> bool:
    """`info.task` beside a `traj`."""
    return is_object(value, "traj", info=dict) and "task" in value["info"]


FORMAT = Format(recognises, trajectories)


def _task(task: _Task, system_prompt: str | None) -> Task:
    """The instruction is what the user simulator was told; domain by the policy text, `unknown`
    where that names none.
    """
    named = _DOMAIN.search((system_prompt or "")[:2000])
    domain = named.group(1).lower() if named else "unknown"
    script: dict[str, Any] = {"user_id": task.user_id, "outputs": task.outputs}
    return import_task(
        f"tau_bench/{domain}",
        task.instruction,
        gold=None
        if task.actions is None
        else tuple(_gold(i, action) for i, action in enumerate(task.actions)),
        script={key: value for key, value in script.items() if value},
        benchmark=f"tau-bench/{domain if named else 'test'}",
    )


def _gold(index: int, action: _Action) -> ToolCall:
    return ToolCall.received(
        f"gold_{index}", action.name, json.dumps(action.kwargs, ensure_ascii=False)
    )


def _model_and_sampling(file: str) -> tuple[str | None, Mapping[str, Any]]:
    """What a file name claims of the agent's model and temperature; nothing inside the file says
    so.
    """
    name = file.rsplit("/", 1)[-1]
    run = _RUN_NAME.search(name)
    if run is not None:
        model = run["model"]
        return (
            (None, {})
            if model.endswith("none")
            else (model, {"temperature": float(run["temperature"])})
        )
    domain = _DOMAIN_NAME.match(name)
    return (domain["model"] if domain else None), {}
