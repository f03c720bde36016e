"""Inspect logs (EvalLog version 2 as JSON): one trajectory per sample and epoch; also single
samples, as an unpacked `.eval` has them.

A sample counts by itself: cancelled and broken logs hold samples that were finished. Attachments
are put back before anything is read.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any

import msgspec

from synth.importers.attempt import attempt
from synth.importers.inspect_messages import recorded, with_attachments
from synth.importers.records import (
    Entry,
    Format,
    Imported,
    ImportSettings,
    Mark,
    Record,
    Rejection,
    each,
    one_line,
)
from synth.importers.turn_notes import counted, goal_of, totals, unresolved_mark
from synth.schemas.outcome import Fault, Termination
from synth.schemas.task import Origin, Task
from synth.schemas.trajectory import Usage

_FORMAT = "inspect"
_ROUNDING = 1e-6

LIMITS: Mapping[str, tuple[Termination, Fault | None]] = {
    "context": (Termination.CONTEXT_LIMIT, None),
    "time": (Termination.TIME_LIMIT, None),
    "working": (Termination.TIME_LIMIT, None),
    "message": (Termination.TURN_LIMIT, None),
    "turn": (Termination.TURN_LIMIT, None),
    "custom": (Termination.TURN_LIMIT, None),
    "token": (Termination.TOKEN_LIMIT, None),
    "cost": (Termination.TOKEN_LIMIT, None),
    "operator": (Termination.FAULT, Fault.INFRASTRUCTURE),
}
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
    if not isinstance(value, Mapping):
        return False
    if isinstance(value.get("eval"), Mapping):
        return "status" in value and "version" in value
    return isinstance(value.get("messages"), list) and all(
        key in value for key in ("id", "epoch", "input", "target")
    )


def trajectories(
    records: Iterable[Record | Rejection], settings: ImportSettings
) -> Iterator[Entry]:
    """The samples of logs; the epoch is the trial."""
    for record in records:
        if isinstance(record, Rejection) or not (
            isinstance(record.value, Mapping) and "eval" in record.value
        ):
            yield from each([record], lambda one: _read(one, _Eval(), settings))
            continue
        try:
            log = msgspec.convert(record.value, _Log)
        except ValueError as error:
            yield record.rejected("bad_record", str(error))
            continue
        if log.version != 2:
            yield record.rejected(
                "unsupported_version",
                f"log version {log.version}: write it again with `inspect log convert`",
            )
        elif not log.samples:
            yield record.rejected(
                "no_samples", "a header alone (of an .eval file), or a log of nothing"
            )
        for index, sample in enumerate(log.samples or () if log.version == 2 else ()):
            part = record.part(f"samples/{index}", sample)
            yield from each([part], lambda one, about=log.eval: _read(one, about, settings))  # type: ignore[misc]


FORMAT = Format(recognises, trajectories)


def _read(record: Record, about: _Eval, settings: ImportSettings) -> Entry:
    sample = msgspec.convert(record.value, _Sample)
    sample = msgspec.convert(
        with_attachments(msgspec.to_builtins(sample), sample.attachments or {}), _Sample
    )
    heard = recorded(sample.messages, sample.events, sample.events_data)
    if not heard.conversation.turns:
        return record.rejected(
            "no_turns",
            one_line(
                "no answer of the model: "
                f"{sample.error.message if sample.error else 'no error either'}"
            ),
        )
    termination, fault, detail = _ended(sample)
    reward = _reward(sample.scores)
    model = about.model or (sample.output or {}).get("model")
    goal = sample.input if isinstance(sample.input, str) else goal_of(heard.conversation)
    task = _task(sample, about, goal)
    found = attempt(
        record,
        _FORMAT,
        task,
        heard.conversation,
        trial=max(0, sample.epoch - 1),
        passed=None if reward is None else reward >= settings.reward_threshold - _ROUNDING,
        reward=reward,
        termination=termination,
        fault=fault,
        fault_detail=detail,
        model=model if isinstance(model, str) else None,
        tools=heard.tools,
        sampling={
            key: value for key, value in about.model_generate_config.items() if value is not None
        },
        totals=totals(heard.conversation.turns)
        if heard.conversation.turns[0].usage
        else _usage(sample.model_usage or {}),
    )
    return Imported(
        task, found, marks=_marks(sample) + heard.marks + unresolved_mark(heard.conversation)
    )


def _task(sample: _Sample, about: _Eval, goal: str) -> Task:
    """The target is what a scorer compares with: the agent is never shown it."""
    name = about.task.rsplit("/", 1)[-1]
    split = next(
        (
            about.task_args[key]
            for key in ("split", "subset")
            if isinstance(about.task_args.get(key), str)
        ),
        "unknown",
    )
    return Task.identified(
        env=f"inspect/{name}",
        goal=goal,
        origin=Origin.IMPORT,
        script={"target": sample.target} if sample.target else {},
        benchmark=f"{name}/{split}" if about.task != "unknown" else "inspect/unknown",
    )


def _ended(sample: _Sample) -> tuple[Termination, Fault | None, str | None]:
    """An error or an invalidation before a limit, a limit before an end; `done` is a sample that
    was finished.
    """
    if sample.error is not None:
        return Termination.FAULT, Fault.INFRASTRUCTURE, one_line(sample.error.message)
    if sample.invalidation is not None:
        return (
            Termination.FAULT,
            Fault.INFRASTRUCTURE,
            one_line(f"invalidated: {sample.invalidation.reason or 'no reason given'}"),
        )
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


def _marks(sample: _Sample) -> tuple[Mark, ...]:
    scores = tuple(
        Mark(f"inspect/{name}", _number(score.value), detail={"value": score.value})
        for name, score in (sample.scores or {}).items()
    )
    retries = (
        (Mark("error_retries", float(len(sample.error_retries))),) if sample.error_retries else ()
    )
    return scores + retries
