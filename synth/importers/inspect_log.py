"""Inspect logs (EvalLog version 2 as JSON): one trajectory per sample and epoch; also single
samples, as an unpacked `.eval` has them.

A sample counts by itself: cancelled and broken logs hold samples that were finished. Attachments
are put back before anything is read.
"""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

import msgspec

from synth.importers.attempt import ends, entry, import_task, unresolved
from synth.importers.conversation import counted, goal_of, totals
from synth.importers.inspect_messages import recorded, with_attachments
from synth.importers.records import (
    Entry,
    ImportedLabel,
    ImportSettings,
    Record,
    by_record,
    each,
    is_object,
    one_line,
)
from synth.schemas.messages import Conversation
from synth.schemas.outcome import Fault, Termination
from synth.schemas.task import Task
from synth.schemas.trajectory import Usage

_ROUNDING = 1e-6

LIMITS = ends(
    {
        "context_limit": "context",
        "time_limit": "time working",
        "turn_limit": "message turn custom",
        "token_limit": "token cost",
        "fault infrastructure": "operator",
    }
)
"""What a sample's `limit.type` is here; one that is not listed is a rejection."""
_LETTERS = {
    "C": 1.0,
    "P": 0.5,
    "I": 0.0,
    "N": 0.0,
    "yes": 1.0,
    "true": 1.0,
    "no": 0.0,
    "false": 0.0,
}


class _Limit(msgspec.Struct):
    type: str


class _Error(msgspec.Struct):
    message: str = ""


class _Invalidation(msgspec.Struct):
    reason: str | None = None


class _Score(msgspec.Struct):
    value: Any = None


class _Sample(msgspec.Struct):
    """Of one sample; `messages` and `events` are read by `recorded`."""

    id: int | str
    epoch: int
    input: Any = None
    target: Any = None
    messages: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    events_data: dict[str, Any] | None = None
    output: dict[str, Any] | None = None
    scores: dict[str, _Score] | None = None
    model_usage: dict[str, dict[str, Any]] | None = None
    attachments: dict[str, str] | None = None
    error: _Error | None = None
    error_retries: list[Any] | None = None
    limit: _Limit | None = None
    invalidation: _Invalidation | None = None


class _Eval(msgspec.Struct, frozen=True):
    task: str = "unknown"
    model: str | None = None
    task_args: dict[str, Any] = {}
    model_generate_config: dict[str, Any] = {}


class _Log(msgspec.Struct):
    eval: _Eval
    version: int
    samples: list[Any] | None = None


def recognises(value: Any) -> bool:
    """A log with `eval`, `status` and `version`; or one sample with input, target, epoch and
    messages.
    """
    if is_object(value, eval=dict):
        return is_object(value, "status", "version")
    return is_object(value, "id", "epoch", "input", "target", messages=list)


def _samples(record: Record, settings: ImportSettings) -> Entry | Iterator[Entry]:
    """The samples of a log; the epoch is the trial."""
    if not is_object(record.value, "eval"):
        return _read(record, _Eval(), settings)
    log = msgspec.convert(record.value, _Log)
    if log.version != 2:
        return record.rejected(
            "unsupported_version",
            f"log version {log.version}: write it again with `inspect log convert`",
        )
    if not log.samples:
        return record.rejected(
            "no_samples", "a header alone (of an .eval file), or a log of nothing"
        )
    parts = (record.part(f"samples/{index}", sample) for index, sample in enumerate(log.samples))
    return each(parts, lambda one: _read(one, log.eval, settings))


def _read(record: Record, about: _Eval, settings: ImportSettings) -> Entry:
    sample = msgspec.convert(record.value, _Sample)
    sample = msgspec.convert(
        with_attachments(msgspec.to_builtins(sample), sample.attachments or {}), _Sample
    )
    conversation, tools, labels = recorded(sample.messages, sample.events, sample.events_data)
    if not conversation.turns:
        why = sample.error.message if sample.error else "no error either"
        return record.rejected("no_turns", f"no answer of the model: {why}")
    termination, fault, detail = _ended(sample)
    reward = _reward(sample.scores)
    model = about.model or (sample.output or {}).get("model")
    scores = tuple(
        ImportedLabel(f"inspect/{name}", _number(score.value), detail={"value": score.value})
        for name, score in (sample.scores or {}).items()
    )
    retries = float(len(sample.error_retries or ()))
    retried = (ImportedLabel("error_retries", retries),) if retries else ()
    has_usage = conversation.turns[0].usage is not None
    return entry(
        record,
        "inspect",
        conversation,
        _task(sample, about, conversation),
        marks=scores + retried + labels + unresolved(conversation),
        trial=max(0, sample.epoch - 1),
        passed=settings.passed(reward, _ROUNDING),
        reward=reward,
        termination=termination,
        fault=fault,
        fault_detail=detail,
        model=model if isinstance(model, str) else None,
        tools=tools,
        sampling={
            key: value for key, value in about.model_generate_config.items() if value is not None
        },
        totals=totals(conversation.turns) if has_usage else _usage(sample.model_usage or {}),
    )


def _task(sample: _Sample, about: _Eval, conversation: Conversation) -> Task:
    """The target is what a scorer compares with: the agent is never shown it."""
    name = about.task.rsplit("/", 1)[-1]
    named = (about.task_args.get(key) for key in ("split", "subset"))
    split = next((one for one in named if isinstance(one, str)), "unknown")
    return import_task(
        f"inspect/{name}",
        sample.input if isinstance(sample.input, str) else goal_of(conversation),
        script={"target": sample.target} if sample.target else {},
        benchmark=f"{name}/{split}" if about.task != "unknown" else "inspect/unknown",
    )


def _ended(sample: _Sample) -> tuple[Termination, Fault | None, str | None]:
    """An error or an invalidation before a limit, a limit before an end; `done` is a sample that
    was finished.
    """
    broken = None
    if sample.error is not None:
        broken = sample.error.message
    elif sample.invalidation is not None:
        broken = f"invalidated: {sample.invalidation.reason or 'no reason given'}"
    if broken is not None:
        return Termination.FAULT, Fault.INFRASTRUCTURE, one_line(broken)
    if sample.limit is None:
        return Termination.DONE, None, None
    if sample.limit.type not in LIMITS:
        raise ValueError(f"limit of unknown type {sample.limit.type!r}")
    termination, fault = LIMITS[sample.limit.type]
    return termination, fault, "stopped by an operator" if fault else None


def _reward(scores: Mapping[str, _Score] | None) -> float | None:
    """The score on which all scorers agree; None where one gives no number, or two differ: then
    nobody says which one counts.
    """
    values = {_number(score.value) for score in (scores or {}).values()}
    return values.pop() if len(values) == 1 else None


def _number(value: Any) -> float | None:
    """A score as Inspect's own `value_to_float` reads it, except that what it cannot read is no
    score rather than 0.
    """
    if isinstance(value, str):
        value = _LETTERS.get(value, _LETTERS.get(value.lower(), value))
    try:
        number = float(value) if isinstance(value, int | float | str) else None
    except (ValueError, OverflowError):
        return None
    return number if number is not None and isfinite(number) else None


def _usage(by_model: Mapping[str, Mapping[str, Any]]) -> Usage:
    """Tokens of all models of a sample; calls are not counted there."""
    names = ("input_tokens", "output_tokens", "input_tokens_cache_read")
    return Usage(*(sum(counted(usage, name) for usage in by_model.values()) for name in names))


FORMAT = by_record(recognises, _samples)
