"""tau-bench result lists: `{task_id, reward, info: {task}, traj: [messages], trial}` per record.

The files have no tool schemas and do not say how an episode ended. `task_id` and `trial` are not
trusted: a task is its instruction and user, and trials are numbered by order where the source's
number repeats or is the task's. Control signals of the user simulator (`###STOP###`,
`###TRANSFER###`) stay in the trajectory as evidence of how it ended; training exports cut what
follows the last turn.
"""

import itertools
import re
from typing import Any

import msgspec

from synth.importers.attempt import as_declared, entry, gold_action
from synth.importers.chats.dialogue import dialogue
from synth.importers.identity.known import benchmark_of
from synth.importers.records import (
    Entry,
    ImportSettings,
    Object,
    Record,
    by_record,
    is_object,
)
from synth.schemas import Conversation

AGENTRX = "agentrx"
"""AgentRx labels name a trajectory of this format by its `task_id`."""
ROUNDING = 1e-6
"""tau-bench itself compares rewards with 1 up to this."""
_DOMAIN = re.compile(r"\b(airline|retail)\s+agent\b", re.IGNORECASE)
# {strategy}-{agent model}-{temperature}_range_..._user-... as tau-bench names its results; "none"
# where it was not stated
_RUN_NAME = re.compile(
    r"(?:^|_)(?:tool-calling|act|react|few-shot)-(?P<model>.+?)-(?P<temperature>\d+\.\d+)_range_"
)
_DOMAIN_NAME = re.compile(r"^(?P<model>[A-Za-z0-9.-]+?)-(?:airline|retail)\b")


class _Action(msgspec.Struct):
    name: str
    kwargs: Object = {}


class _Task(msgspec.Struct):
    instruction: str
    user_id: str | None = None
    actions: list[_Action] | None = None
    outputs: list[Any] | None = None


class _Info(msgspec.Struct):
    task: _Task


class _TauBenchResult(msgspec.Struct):
    info: _Info
    traj: list[Object] | None = None
    reward: float | None = None
    task_id: Any = None


def recognises(value: Any) -> bool:
    """`info.task` beside a `traj`."""
    return is_object(value, "traj", info=dict) and "task" in value["info"]


def _read(record: Record, settings: ImportSettings) -> Entry:
    result = msgspec.convert(record.value, _TauBenchResult)
    task, conversation = result.info.task, dialogue(result.traj or []).conversation()
    script: Object = {"user_id": task.user_id, "outputs": task.outputs}
    gold = tuple(gold_action(at, one.name, one.kwargs) for at, one in enumerate(task.actions or ()))
    model, sampling = _model_and_sampling(record.file_name)

    return entry(
        record,
        "tau_bench",
        conversation,
        env=f"tau_bench/{_domain(conversation)}",
        goal=task.instruction,  # what the user simulator was told
        benchmark=benchmark_of(task.instruction, "task", "tau-bench"),
        identified=bool(task.instruction),
        task={
            "gold": None if task.actions is None else gold,
            "script": {key: value for key, value in script.items() if value},
        },
        passed=settings.passed(result.reward, ROUNDING),
        reward=result.reward,
        model=model,
        sampling=sampling,
        no_turns="the agent said nothing: no result, not a failure",
        beside=_beside(result),
    )


FORMAT = by_record(recognises, _read, as_declared)


def _domain(conversation: Conversation) -> str:
    """The domain that the policy text names."""
    named = _DOMAIN.search((conversation.system_prompt or "")[:2000])
    return named[1].lower() if named else "unknown"


def _beside(result: _TauBenchResult) -> Object:
    """For the labels of AgentRx: what they call a record whose messages are numbered, and which
    turns its messages are.
    """
    messages = result.traj or []
    if not messages or "index" not in messages[0]:
        return {}

    is_answer = [message.get("role") == "assistant" for message in messages]
    turns = zip(is_answer, itertools.accumulate(is_answer, initial=0), strict=False)

    return {
        "name": f"{AGENTRX}/{result.task_id}",
        "turn_of_message": tuple(turn if answer else None for answer, turn in turns),
    }


def _model_and_sampling(file_name: str) -> tuple[str | None, dict[str, float]]:
    """What a file name claims of the agent's model and temperature; nothing inside the file says
    so.
    """
    run, domain = _RUN_NAME.search(file_name), _DOMAIN_NAME.match(file_name)
    if run is None:
        return domain and domain["model"], {}

    if run["model"].endswith("none"):
        return None, {}
    return run["model"], {"temperature": float(run["temperature"])}
