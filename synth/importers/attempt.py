"""A record of a foreign file as a `Trajectory`: ids, provenance and outcome in one place for all
formats.
"""

from math import isfinite
from typing import Any

from synth.importers.records import Record
from synth.schemas.messages import Conversation
from synth.schemas.outcome import Fault, Termination, settle
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory, Usage

_MOST_TRIALS = 1 << 31
_INTEGERS = 1 << 63


def attempt(
    record: Record,
    format: str,
    task: Task,
    conversation: Conversation,
    *,
    trial: int = 0,
    passed: bool | None = None,
    reward: float | None = None,
    termination: Termination = Termination.UNREPORTED,
    fault: Fault | None = None,
    **more: Any,
) -> Trajectory:
    """An attempt at `task`; `passed` is the source's own verdict, None where it gives none. A fault
    has no reward, whatever the file says.

    Raises `ValueError` for a reward that is no number and for a trial that is none.
    """
    if reward is not None and not isfinite(reward):
        raise ValueError("reward is not finite")
    if not 0 <= trial < _MOST_TRIALS:
        raise ValueError(f"trial {trial} is no number of a trial")
    totals = more.get("totals", Usage())
    numbers = (
        more.get("seed", 0),
        totals.prompt_tokens,
        totals.completion_tokens,
        totals.cached_tokens,
    )
    if any(not -_INTEGERS <= number < _INTEGERS for number in numbers):
        raise ValueError("seed or token counts are beyond 64 bits")
    slot, identity = record.ids(format)
    return Trajectory(
        trajectory_id=identity,
        slot_id=slot,
        attempt=0,
        task_id=task.task_id,
        env=task.env,
        trial=trial,
        synthesizer="import",
        policy="imported",
        outcome=settle(termination, passed, fault),
        termination=termination,
        fault=fault,
        reward=None if fault is not None else reward,
        system_prompt=conversation.system_prompt,
        opening=conversation.opening,
        turns=conversation.turns,
        source=record.source(format),
        content_hash=record.content,
        benchmark=task.benchmark,
        split=task.split,
        **more,
    )
