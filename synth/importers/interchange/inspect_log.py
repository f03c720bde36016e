"""Inspect logs (EvalLog version 2 as JSON): one trajectory per sample and epoch; also single
samples, as an unpacked `.eval` has them.

A sample counts by itself: cancelled and broken logs hold samples that were finished. Attachments
are put back before anything is read.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from math import isfinite
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from synth.importers.attempt import End, count_labels, ends, entry
from synth.importers.contexts.compaction import in_places
from synth.importers.conversation import counted, totals
from synth.importers.identity.known import benchmark_of
from synth.importers.interchange.inspect_messages import (
    COUNTS,
    contexts,
    recorded,
    with_attachments,
)
from synth.importers.records import (
    WORDS,
    Entry,
    Found,
    ImportedLabel,
    ImportSettings,
    Object,
    Record,
    by_record,
    each,
    inside,
    is_object,
    one_line,
)
from synth.schemas import Fault, Termination, Turn, Usage

_ROUNDING = 1e-6
"""Scores are means of numbers that floats cannot hold exactly."""

LIMITS = ends("inspect")
"""What a sample's `limit.type` is here; one that is not listed is a rejection."""


PUBLIC = WORDS["inspect"]["public"]
_PUBLIC = re.compile(rf"(?i)(?:{'|'.join(PUBLIC['names'].split())})(?:[-_].*)?")
"""The name of a public set, or of a part or version of one (`gaia_level1`)."""


class _Sample(msgspec.Struct):
    epoch: Annotated[int, msgspec.Meta(le=1 << 31)]
    input: Any = None
    target: Any = None
    messages: list[Object] = []
    events: list[Object] = []
    events_data: Object | None = None
    output: Object | None = None
    scores: dict[str, Object] | None = None
    model_usage: dict[str, Object] | None = None
    attachments: dict[str, str] | None = None
    error: Object | None = None
    error_retries: list[Any] | None = None
    limit: Object | None = None
    invalidation: Object | None = None


class _Eval(msgspec.Struct, frozen=True):
    task: str = "unknown"
    model: str | None = None
    task_args: Object = {}
    model_generate_config: Object = {}
    task_registry_name: str | None = None
    dataset: Object = {}

    @property
    def public(self) -> str | None:
        """The public set that it evaluates on, by the names that it gives itself; None for an
        evaluation of somebody's own, which has the same form.
        """
        namespace, _, name = (self.task_registry_name or self.task).rpartition("/")
        location = str(self.dataset.get("location") or "")
        own = location.rpartition("/")[2]
        named = any(_PUBLIC.fullmatch(one) for one in (name, own))
        if namespace in PUBLIC["namespaces"] or location.startswith("example://") or named:
            return self.task.rpartition("/")[2]
        return None


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


def _samples(record: Record, settings: ImportSettings) -> Found:
    """The samples of a log; the epoch is the trial."""
    if not is_object(record.value, "eval"):
        return _read(record, _Eval(), settings)

    log = msgspec.convert(record.value, _Log)
    if log.version != 2:
        how = "write it again with `inspect log convert`"
        return record.rejected("unsupported_version", f"log version {log.version}: {how}")

    if not log.samples:
        what = "a header alone (of an .eval file), or a log of nothing"
        return record.rejected("no_samples", what)

    read = partial(_read, about=log.eval, settings=settings)
    return each(record.parts("samples", log.samples), read)


FORMAT = by_record(recognises, _samples)


def _read(record: Record, about: _Eval, settings: ImportSettings) -> Iterator[Entry]:
    sample = msgspec.convert(record.value, _Sample)
    whole = with_attachments(msgspec.to_builtins(sample), sample.attachments or {})
    sample = msgspec.convert(whole, _Sample)
    parts = contexts(sample.messages, sample.events, sample.events_data or {})
    for part, messages, continued in in_places(record, parts):
        held = replace(sample, messages=messages)
        yield _context(part, held, about, settings, continued=continued)


def _context(
    record: Record, sample: _Sample, about: _Eval, settings: ImportSettings, *, continued: bool
) -> Entry:
    """The trajectory of one context; each has the score of the sample."""
    conversation, tools, from_events = recorded(
        sample.messages, sample.events, sample.events_data or {}
    )

    scores, reward = _scores(sample)
    retries = len(sample.error_retries or ())
    counts = {"error_retries": retries, "messages_from_events": from_events}
    name, config = about.task.rpartition("/")[2], about.model_generate_config
    splits = (inside(about.task_args, key, str) for key in ("split", "subset"))
    split = next(filter(None, splits), "unknown")
    end, why = _ended(sample)
    goal = sample.input if isinstance(sample.input, str) else None

    return entry(
        record,
        "inspect",
        conversation,
        env=f"inspect/{name}",
        continued=continued,
        goal=goal,
        benchmark=f"{about.public}/{split}" if about.public else benchmark_of(goal or "", "task"),
        # what a scorer compares with: the agent is never shown it
        task={"script": {"target": sample.target} if sample.target else {}},
        marks=(*scores, *count_labels(conversation, **counts)),
        no_turns=f"no answer of the model: {why if sample.error else 'no error either'}",
        trial=max(0, sample.epoch - 1),
        passed=settings.passed(reward, _ROUNDING),
        reward=reward,
        end=end,
        fault_detail=one_line(why),
        model=about.model or inside(sample.output, "model", str),
        tools=tools,
        sampling={key: value for key, value in config.items() if value is not None},
        totals=_used(sample, conversation.turns),
    )


def _scores(sample: _Sample) -> tuple[list[ImportedLabel], float | None]:
    """A label for each scorer, and the score on which all agree; None where one gives no number, or
    two differ: then nobody says which one counts.
    """
    labels = []
    for name, score in (sample.scores or {}).items():
        value = score.get("value")
        labels.append(ImportedLabel(f"inspect/{name}", _number(value), detail={"value": value}))

    values = {label.value for label in labels}
    return labels, values.pop() if len(values) == 1 else None


def _used(sample: _Sample, turns: Sequence[Turn]) -> Usage:
    """What the answers used; where they do not say, tokens of all models of the sample, whose calls
    are not counted there.
    """
    if any(turn.usage is not None for turn in turns[:1]):
        return totals(turns)

    models = (sample.model_usage or {}).values()
    return Usage(*(sum(counted(usage, name) for usage in models) for name in COUNTS))


def _ended(sample: _Sample) -> tuple[End, str]:
    """An error or an invalidation before a limit, a limit before an end; `done` is a sample that
    was finished.
    """
    broken = (Termination.FAULT, Fault.INFRASTRUCTURE)
    if sample.error is not None:
        return broken, str(sample.error.get("message", ""))

    if sample.invalidation is not None:
        return broken, f"invalidated: {sample.invalidation.get('reason') or 'no reason given'}"

    if sample.limit is None:
        return (Termination.DONE, None), ""

    if sample.limit.get("type") not in LIMITS:
        raise ValueError(f"limit of unknown type {sample.limit.get('type')!r}")
    return LIMITS[sample.limit["type"]], "stopped by an operator"


def _number(value: Any) -> float | None:
    """A score as Inspect's own `value_to_float` reads it, except that what it cannot read is no
    score rather than 0.
    """
    if isinstance(value, str):
        known = WORDS["inspect"]["values"]
        value = known.get(value, known.get(value.lower(), value))

    try:
        number = float(value) if isinstance(value, int | float | str) else None
    except (ValueError, OverflowError):
        return None

    return number if number is not None and isfinite(number) else None
