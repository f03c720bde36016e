"""tau-bench result lists: `{task_id, reward, info: {task}, traj: [messages], trial}` per record.

The files have no tool schemas and do not say how an episode ended. `task_id` and `trial` are not trusted: a task is its instruction and
user, and trials are numbered by order where the source's number repeats or is the task's. Control signals of the user simulator
(`###STOP###`, `###TRANSFER###`) stay in the trajectory as evidence of how it ended; training exports cut what follows the last turn.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

import msgspec

from schemas.messages import Conversation, from_messages
from schemas.outcome import Termination, settle
from schemas.task import Origin, Task
from schemas.trajectory import ToolCall, Trajectory
from synth.importers.records import Imported, ImportSettings, Record, Rejection

_FORMAT = "tau_bench"
_ROUNDING = 1e-6  # tau-bench itself compares rewards with 1 up to this
_DOMAIN = re.compile(r"\b(airline|retail)\s+agent\b", re.IGNORECASE)
# {strategy}-{agent model}-{temperature}_range_..._user-... as tau-bench names its results; "none" where it was not stated
_RUN_NAME = re.compile(r"(?:^|_)(?:tool-calling|act|react|few-shot)-(?P<model>.+?)-(?P<temperature>\d+\.\d+)_range_")
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


def trajectories(records: Iterable[Record | Rejection], settings: ImportSettings) -> Iterator[Imported | Rejection]:
    """The attempts of one result file (read whole: whether its trial numbers are any is seen over all of them)."""
    read = [_read(record) for record in records]
    trials = _trials([r for r in read if not isinstance(r, Rejection)])
    for entry in read:
        if isinstance(entry, Rejection):
            yield entry
            continue
        record, result, conversation = entry
        task = _task(result.info.task, conversation.system_prompt)
        yield Imported(task, _trajectory(record, result, conversation, task, next(trials), settings))


def _read(record: Record | Rejection) -> tuple[Record, _Result, Conversation] | Rejection:
    if isinstance(record, Rejection):
        return record
    try:
        result = msgspec.convert(record.value, _Result)
        if result.reward is not None and not isfinite(result.reward):
            return record.rejected("bad_record", "reward is not finite")
        conversation = from_messages(result.traj or [])
    except (ValueError, RecursionError) as error:
        return record.rejected("bad_record", str(error))
    if not conversation.turns:
        return record.rejected("no_turns", "the agent said nothing: no result, not a failure")
    return record, result, conversation


def _trials(read: Sequence[tuple[Record, _Result, Conversation]]) -> Iterator[int]:
    """The trial number of each: the source's where they are integers that tell a task's attempts apart, else by order in its task."""
    keys = [(result.info.task.instruction, result.info.task.user_id) for _, result, _ in read]
    stated = [result.trial for _, result, _ in read]
    are_numbers = all(isinstance(trial, int) and not isinstance(trial, bool) and trial >= 0 for trial in stated)
    are_task_ids = any(stated) and all(result.trial == result.task_id for _, result, _ in read)
    if are_numbers and not are_task_ids and len(set(zip(keys, stated, strict=True))) == len(read):
        yield from stated
        return
    seen: Counter[tuple[str, str | None]] = Counter()
    for key in keys:
        yield seen[key]
        seen[key] += 1


def _task(task: _Task, system_prompt: str | None) -> Task:
    """The instruction is what the user simulator was told; domain by the policy text, `unknown` where that names none."""
    named = _DOMAIN.search((system_prompt or "")[:2000])
    domain = named.group(1).lower() if named else "unknown"
    script: dict[str, Any] = {"user_id": task.user_id, "outputs": task.outputs}
    return Task.identified(
        env=f"tau_bench/{domain}",
        goal=task.instruction,
        origin=Origin.IMPORT,
        gold=None if task.actions is None else tuple(_gold(i, action) for i, action in enumerate(task.actions)),
        script={key: value for key, value in script.items() if value},
        benchmark=f"tau-bench/{domain if named else 'test'}",
    )


def _gold(index: int, action: _Action) -> ToolCall:
    return ToolCall.received(f"gold_{index}", action.name, json.dumps(action.kwargs, ensure_ascii=False))


def _trajectory(
    record: Record, result: _Result, conversation: Conversation, task: Task, trial: int, settings: ImportSettings
) -> Trajectory:
    slot, identity = record.ids(_FORMAT)
    passed = None if result.reward is None else result.reward >= settings.reward_threshold - _ROUNDING
    model, sampling = _model_and_sampling(record.file)
    return Trajectory(
        trajectory_id=identity,
        slot_id=slot,
        attempt=0,
        task_id=task.task_id,
        env=task.env,
        trial=trial,
        synthesizer="import",
        policy="imported",
        model=model,
        sampling=sampling,
        outcome=settle(Termination.UNREPORTED, passed, None),
        termination=Termination.UNREPORTED,
        reward=result.reward,
        system_prompt=conversation.system_prompt,
        opening=conversation.opening,
        turns=conversation.turns,
        source=record.source(_FORMAT),
        benchmark=task.benchmark,
    )


def _model_and_sampling(file: str) -> tuple[str | None, Mapping[str, Any]]:
    """What a file name claims of the agent's model and temperature; nothing inside the file says so."""
    name = file.rsplit("/", 1)[-1]
    run = _RUN_NAME.search(name)
    if run is not None:
        model = run["model"]
        return (None, {}) if model.endswith("none") else (model, {"temperature": float(run["temperature"])})
    domain = _DOMAIN_NAME.match(name)
    return (domain["model"] if domain else None), {}
