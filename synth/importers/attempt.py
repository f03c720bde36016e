"""Makes tasks and trajectories of foreign records: ids, provenance, outcome and trial in one place
for all formats.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from math import isfinite
from typing import Any

from msgspec.structs import replace

from synth.importers.chats.columns import names_of
from synth.importers.chats.words import ENDS
from synth.importers.conversation import goal_of, totals
from synth.importers.identity.known import benchmark_of
from synth.importers.records import WORDS, Entry, Imported, ImportedLabel, Record, inside
from synth.schemas import (
    PROVIDER_MASK,
    Conversation,
    Fault,
    Origin,
    Task,
    Termination,
    ToolCall,
    Trajectory,
    content_hash,
    settle,
    trajectory_id,
)

End = tuple[Termination, Fault | None]
CONTINUED = "continued"
"""What the environment of an attempt is called that goes on behind a compaction."""
OPEN_END: End = (Termination.UNREPORTED, None)
"""A source that does not say how the attempt ended."""
SEEN_FIRST = 500
"""Records looked at before it is decided whether a file's trial numbers are any."""


def ends(format: str) -> dict[str, End]:
    """The end that each of a source's own words stands for, as `words.toml` has them."""
    found: dict[str, End] = {}
    for end, words in WORDS[format]["ends"].items():
        found |= dict.fromkeys(words.split(), end_of(end))

    return found


def end_of(named: str) -> End:
    """The end that `agent_stop`, or `fault model`, names."""
    termination, _, fault = named.partition(" ")
    return Termination(termination), Fault(fault) if fault else None


def stated_end(said: Any) -> End:
    """How the record says that the attempt ended; open where it uses no word that is known."""
    word = said.strip().lower() if isinstance(said, str) else ""
    if word.startswith("submitted (") and word.endswith(")"):
        word = word[len("submitted (") : -1]
    return end_of(ENDS[word]) if word in ENDS else OPEN_END


def gold_action(place: int, name: Any, arguments: Any) -> ToolCall:
    """An action that the authors of a task expect of the agent. Raises `ValueError` for one without
    a name.
    """
    if not isinstance(name, str):
        raise ValueError(f"action {place} that the task expects has no name")

    return ToolCall.received(f"gold_{place}", name, json.dumps(arguments, ensure_ascii=False))


def count_labels(conversation: Conversation, **counts: int) -> tuple[ImportedLabel, ...]:
    """A label for each of the counts that is not zero, one for tool results that answer no call,
    and one for calls that the provider ran, where there are any.
    """
    counts["unresolved_results"] = conversation.unresolved
    run = (turn for turn in conversation.turns if turn.mask == PROVIDER_MASK)
    counts["provider_calls"] = sum(len(turn.tool_calls) for turn in run)
    return tuple(ImportedLabel(name, float(count)) for name, count in counts.items() if count)


def entry(
    record: Record,
    format: str,
    conversation: Conversation,
    *,
    env: str | None = None,
    goal: str | None = None,
    benchmark: str | None = None,
    split: str | None = None,
    task: Mapping[str, Any] = {},
    marks: Iterable[ImportedLabel] = (),
    no_turns: str | None = "no answer of the model: no result, not a failure",
    beside: Mapping[str, Any] = {},
    names: tuple[str | None, ...] = (),
    identified: bool = False,
    continued: bool = False,
    **about: Any,
) -> Entry:
    """An attempt at a task with its labels, as a format yields it; a rejection where the agent said
    nothing, unless `no_turns` is None.

    The task's `env` is the format, and its `goal` what the user first asked, where none is given;
    an attempt that is `continued` from behind a compaction is none at the task from its beginning;
    `task` are further fields of it, `beside` those of `Imported`, `about` what `_attempt` is told;
    `names` is what the source calls the attempt, beside what its record says. A goal that is a task
    of a public benchmark, or a system prompt that is the policy of one, stamps the attempt, unless
    the task was `identified` itself.
    """
    if not conversation.turns and no_turns is not None:
        return record.rejected("no_turns", no_turns)

    wish = goal_of(conversation) if goal is None else goal
    if benchmark is None and not identified:
        policy = conversation.system_prompt or ""
        benchmark = benchmark_of(wish, "task") or benchmark_of(policy, "policy")
    stated: dict[str, Any] = {"goal": wish, "benchmark": benchmark, "split": split, **task}
    place = f"{env or format}/{CONTINUED}" if continued else env or format
    attempted = Task.identified(env=place, origin=Origin.IMPORT, **stated)
    trajectory = _attempt(record, format, conversation, attempted, **about)
    declared = _first(record, _TRIALS, int), _first(record, _TASKS, str | int)
    called = tuple(dict.fromkeys(filter(None, (*names, *names_of(record.value)))))
    return Imported(attempted, trajectory, tuple(marks), declared=declared, names=called, **beside)


_TRIALS = (
    "trial trial_id trial_index trial_number attempt attempt_id rollout rollout_id rollout_index"
)
_TASKS = "task_id problem_id question_id prompt_id scenario_id task_name"
"""Under which keys records have the number of a trial, and the name of its task."""


def _first(record: Record, keys: str, kind: Any) -> Any:
    """What stands under the first of the keys under which there is something of a kind."""
    found = (inside(record.value, key) for key in keys.split())
    return next((one for one in found if isinstance(one, kind) and not isinstance(one, bool)), None)


def _attempt(
    record: Record,
    format: str,
    conversation: Conversation,
    task: Task,
    *,
    passed: bool | None = None,
    reward: float | None = None,
    end: End = OPEN_END,
    fault_detail: str | None = None,
    **more: Any,
) -> Trajectory:
    """The trajectory of an attempt; `more` are further fields of it.

    `passed` is the source's own verdict, None where it gives none. A fault has no reward, whatever
    the file says. The id is a hash of the format, the file and the place in it: exact duplicates at
    two places are two. Raises `ValueError` for a reward that is no number.
    """
    if reward is not None and not isfinite(reward):
        raise ValueError("reward is not finite")

    termination, fault = end
    slot = content_hash(["import", format, record.sha, record.locator])

    return Trajectory(
        trajectory_id=trajectory_id(slot, 0),
        slot_id=slot,
        attempt=0,
        task_id=task.task_id,
        env=task.env,
        benchmark=task.benchmark,
        split=task.split,
        synthesizer="import",
        policy="imported",
        outcome=settle(termination, passed, fault),
        termination=termination,
        fault=fault,
        fault_detail=None if fault is None else fault_detail,
        reward=None if fault is not None else reward,
        system_prompt=conversation.system_prompt,
        opening=conversation.opening,
        turns=conversation.turns,
        # provenance without a path of this machine
        source=f"{format}:{record.sha}:{record.locator}:{record.file}",
        content_hash=record.content,
        **{"trial": 0, "totals": totals(conversation.turns), **more},
    )


def in_order(entries: Iterator[Entry], believed: bool = False) -> Iterator[Entry]:
    """The attempts of one file, numbered by order within their tasks; where the numbers that they
    declare are `believed`, each has its own, unless another attempt at the task has it already.
    """
    given: dict[str, set[int]] = {}

    for one in entries:
        if isinstance(one, Imported):
            taken = given.setdefault(one.task.task_id, set())
            stated: Any = one.declared[0] if believed else None
            trial: int = stated if _is_number(stated) and stated not in taken else len(taken)
            while trial in taken:
                trial += 1

            taken.add(trial)
            if trial != one.trajectory.trial:
                one = replace(one, trajectory=replace(one.trajectory, trial=trial))

        yield one


def as_declared(entries: Iterator[Entry]) -> Iterator[Entry]:
    """The attempts of one file with the numbers that they declare, if these are any: they tell the
    first attempts at a task apart, and are not the names of the tasks.
    """
    first = list(islice(entries, SEEN_FIRST))
    attempts = [(one.task.task_id, *one.declared) for one in first if isinstance(one, Imported)]
    are_numbers = all(_is_number(number) for _, number, _ in attempts)
    are_names = all(number == name for _, number, name in attempts)
    are_names = are_names and any(number for _, number, _ in attempts)
    tell_apart = are_numbers and len({one[:2] for one in attempts}) == len(attempts)
    return in_order(chain(first, entries), believed=tell_apart and not are_names)


def _is_number(trial: Any) -> bool:
    return type(trial) is int and 0 <= trial < 1 << 31
