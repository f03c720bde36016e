"""SPARK: the attempts at one task with the memo that they carry (arXiv 2605.09192), as rows
`execution_result`, `reflect_call`, `pdi_snapshot`, `skill_gen_call`, `task_summary`.

Each attempt is a trajectory, the child of the one before. What was told it (memo, redacted
verifier) is guidance that its transcript lacks. Memos become rows `reflection`, and the run's own
index rows `pdi`: what the filter `pdi` reads.
"""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from synth.importers.attempt import OPEN_END, count_labels, entry
from synth.importers.chats.dialogue import dialogue
from synth.importers.conversation import ConversationBuilder
from synth.importers.records import (
    Entry,
    Format,
    Imported,
    ImportedLabel,
    ImportSettings,
    Object,
    Record,
    Records,
    Rejection,
    each,
    inside,
    is_object,
    number_in,
)
from synth.importers.streams.codex_exec import add_stream
from synth.importers.streams.codex_exec import recognises as is_codex
from synth.importers.streams.memos import memo_of
from synth.schemas import Outcome, content_hash

_ROWS = ("execution_result", "reflect_call", "pdi_snapshot", "skill_gen_call", "task_summary")
_PDI = ("step", "proxy_exec", "proxy_plan", "proxy_oss", "raw_pdi", "weight", "weighted_pdi")
_TOLD = ("triggered", "level")


def recognises(value: Any) -> bool:
    """One of the rows, or the summary of attempts."""
    if is_object(value, attempts=list, memo_history=list):
        return True
    return inside(value, "type") in _ROWS


def _attempts(records: Records, settings: ImportSettings) -> Iterator[Entry]:
    rows: list[Record] = []
    for record in records:
        if isinstance(record, Rejection):
            yield record
        elif is_object(record.value, attempts=list):
            told = "a summary of attempts: their streams stand in trajectory.jsonl beside it"
            yield record.rejected("description", told)
        elif not isinstance(record.value, dict):
            yield record.rejected("bad_record", "no row of SPARK")
        else:
            rows.append(record)
            if record.value.get("type") == "task_summary":
                yield from _task(rows, settings)
                rows = []

    if rows:  # a run that was killed has no summary
        yield from _task(rows, settings)


FORMAT = Format(recognises, _attempts)


def _task(rows: list[Record], settings: ImportSettings) -> Iterator[Entry]:
    """The attempts at one task, in their order, each the child of the one before."""
    about, chain = _About(rows), list[Imported]()
    attempts = [row for row in rows if row.value.get("type") == "execution_result"]
    for found in each(attempts, partial(_attempt, about=about, settings=settings)):
        if not isinstance(found, Imported):
            yield found
            continue
        if chain:
            parent = chain[-1].trajectory.trajectory_id
            trajectory = replace(found.trajectory, parent_id=parent, pivot_turn=0)
            found = replace(found, trajectory=trajectory)
        chain.append(found)

    if not attempts:
        yield rows[0].rejected("no_calls", "a task without an attempt: no row execution_result")
    first = chain[0].trajectory.trajectory_id if chain else ""
    for one, after in zip(chain, [*chain[1:], None], strict=True):
        yield replace(one, marks=(*one.marks, *about.left(one, after, first)))


class _About:
    """What the rows of a task say beside its attempts."""

    def __init__(self, rows: list[Record]) -> None:
        self.summary = _of_type(rows, "task_summary").get(None, {})
        self.memos = _of_type(rows, "reflect_call", "attempt")
        self.snapshots = _of_type(rows, "pdi_snapshot", "attempt")
        self.tests = _of_type(rows, "execution_result", "attempt")
        self.key = content_hash(["spark", rows[0].sha, rows[0].locator])

    def left(self, one: Imported, after: Imported | None, first: str) -> Iterator[ImportedLabel]:
        """What an attempt left for the next: its memo, and the index of the run itself."""
        number = one.trajectory.trial
        told, snapshot = self.memos.get(number), self.snapshots.get(number)
        if told is not None:
            detail = self._reflection(one, after, told, first)
            yield ImportedLabel("reflection", None, 0, detail)
        if told is not None or snapshot is not None:
            held = {name: (snapshot or {}).get(name) for name in (*_PDI, *_TOLD)}
            value = held["weighted_pdi"]
            yield ImportedLabel("pdi", number_in(value), None, {"key": self.key, **held})

    def _reflection(
        self, one: Imported, after: Imported | None, told: Object, first: str
    ) -> Object:
        trial, retry = one.trajectory, None if after is None else after.trajectory
        summary = self.tests.get(trial.trial, {}).get("test_summary")
        memo = memo_of(told.get("memo_after", told.get("response")), summary)
        return {
            "chain": first,
            "key": self.key,
            "attempt": trial.trial,
            "retry": retry and retry.trajectory_id,
            "reflection": None,
            "memo": None if memo is None else msgspec.to_builtins(memo),
            "why_none": None if memo is not None else "no_memo",
            "what_was_wrong": None,
            "gold_informed": True,
            "pivot": 0,
            "r1": float(trial.outcome is Outcome.SUCCESS),
            "r2": None if retry is None else float(retry.outcome is Outcome.SUCCESS),
            "steps1": len(trial.turns),
            "steps2": None if retry is None else len(retry.turns),
            "tokens": {},
            "leaks": [],
        }


def _of_type(rows: list[Record], kind: str, key: str | None = None) -> dict[Any, Object]:
    """The rows of a type, by a key of theirs."""
    found = (row.value for row in rows if row.value.get("type") == kind)
    return {None if key is None else one.get(key): one for one in found}


def _attempt(record: Record, about: _About, settings: ImportSettings) -> Entry:
    value = record.value
    chat = ConversationBuilder()
    end = _stream(chat, value.get("agent_stdout_full"))
    conversation = chat.conversation()
    number = value.get("attempt")
    task = about.summary.get("task_name") or inside(value, "result_json.task_name")
    reward = value.get("reward") if isinstance(value.get("reward"), int | float) else None
    passed = inside(value, "success", bool)
    guidance = value.get("retry_injection") or None
    trial = number if isinstance(number, int) and number >= 0 else 0
    tests = {name: value.get(name) for name in ("n_passed", "n_tests", "status")}
    return entry(
        record,
        "spark",
        conversation,
        goal=str(task or ""),
        trial=trial,
        passed=settings.passed(reward) if passed is None else passed,
        reward=reward,
        end=end,
        fault_detail=str(value.get("error") or "the turn failed"),
        model=inside(about.summary, "exploration_config.model", str),
        guidance=guidance if isinstance(guidance, str) else None,
        gold_informed=bool(guidance),
        marks=[
            ImportedLabel("spark.tests", reward, None, tests),
            *count_labels(conversation),
        ],
        no_turns="the stream of the agent holds no answer",
        names=(str(task),) if task else (),
    )


def _stream(chat: ConversationBuilder, text: Any) -> Any:
    """The stream of the agent: of Codex, or of Claude Code; other lines are its program's."""
    events = []
    for line in str(text or "").split("\n"):
        try:
            value = json.loads(line) if line.startswith("{") else None
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            events.append(value)

    if any(is_codex(one) for one in events):
        return add_stream(chat, events)
    messages = [one["message"] for one in events if is_object(one.get("message"), "role")]
    chat.messages += dialogue(messages).messages
    return OPEN_END
