"""Makes tasks and trajectories of foreign records: ids, provenance and outcome in one place for all
formats.
"""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from synth.importers.conversation import totals
from synth.importers.records import Entry, Imported, ImportedLabel, Record
from synth.schemas.messages import Conversation
from synth.schemas.outcome import Fault, Termination, settle
from synth.schemas.task import Origin, Task
from synth.schemas.trajectory import Trajectory

_MOST_TRIALS = 1 << 31
_INTEGERS = 1 << 63
End = tuple[Termination, Fault | None]
OPEN_END: End = (Termination.UNREPORTED, None)
"""A source that does not say how the attempt ended."""


def ends(table: Mapping[str, str]) -> dict[str, End]:
    """The end that each of a source's own words stands for; `table` lists the words below our
    termination, below `fault <kind>` for a fault.
    """
    found = {}
    for end, words in table.items():
        termination, _, fault = end.partition(" ")
        for word in words.split():
            found[word] = Termination(termination), Fault(fault) if fault else None
    return found


def import_task(env: str, goal: str, **more: Any) -> Task:
    """A task that came with an import."""
    return Task.identified(env=env, goal=goal, origin=Origin.IMPORT, **more)


def entry(
    record: Record,
    format: str,
    conversation: Conversation,
    task: Task,
    *,
    marks: tuple[ImportedLabel, ...] = (),
    no_turns: str = "no answer of the model: no result, not a failure",
    **about: Any,
) -> Entry:
    """An attempt with its task and labels, as a format yields it; a rejection where the agent said
    nothing.
    """
    if not conversation.turns:
        return record.rejected("no_turns", no_turns)
    return Imported(task, attempt(record, format, task, conversation, **about), marks)


def unresolved(conversation: Conversation) -> tuple[ImportedLabel, ...]:
    """How many tool results answer no call, where there are any."""
    count = conversation.unresolved
    return (ImportedLabel("unresolved_results", float(count)),) if count else ()


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
    used = more.setdefault("totals", totals(conversation.turns))
    numbers = (
        more.get("seed", 0),
        used.prompt_tokens,
        used.completion_tokens,
        used.cached_tokens,
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
