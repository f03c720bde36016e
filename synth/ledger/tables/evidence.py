"""Scores as rows of typed tables: labels with the continuations behind them, units of work,
measures of trials and of their turns.

`scores` is a view of these tables. A run of an earlier version has one table `scores` instead; its
rows are put into the same columns as they are read (`former_rows`).
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pyarrow as pa

from synth.ledger.tables import TABLES

KINDS: Mapping[str, str] = {
    **dict.fromkeys(("step_test", "critical_step", "step_value", "second_evidence"), "step"),
    **dict.fromkeys(("injection_test", "injection", "injection_control"), "attribution"),
    **dict.fromkeys(("observation_fault", "recovery", "repair_test", "repair"), "attribution"),
    **dict.fromkeys(("reflection", "off_policy_pivot"), "retry"),
}
"""Metrics whose rows are labels, or the tests behind them: the kind of the label."""
UNITS = ("injection_attempt", "reflect_retry", "reverse_task.exploration")
"""Metrics whose rows say what became of a unit of work."""
HELD_BY = ("scores", "labels", "measures", "units")
"""Tables that the view `scores` is made of."""
TYPED = ("labels", "label_episodes", "measures", "step_measures", "units")
"""Tables that scores are stored in."""
_STEPS = ("gigpo", "graphgpo", "salt")
_ARMS = {"treated": "pos_ids", "control": "neg_ids"}
_TESTED = {"treated_successes": ("q_pos", "n_pos"), "control_successes": ("q_neg", "n_neg")}
_LABEL: Mapping[str, Sequence[str]] = {
    **{name: (name,) for name in ("status", "side", "mode", "strategy", "method", "accepted")},
    **{name: (name,) for name in ("on_policy_for", "weights_id", "gold_informed")},
    "treated_n": ("n_pos", "n"),
    "control_n": ("n_neg",),
    "lost": ("invalid",),
    "looks": ("stopped_at",),
    "false_discovery": ("fdr",),
    "act": ("own", "original"),
    "other_act": ("alternative", "injected", "correction"),
    "twin_id": ("clean_twin_id", "retry", "control_of"),
    "reason": ("reason", "untested", "why_none"),
}
_UNIT: Mapping[str, Sequence[str]] = {
    "key": ("key",),
    "reason": ("reason", "fault"),
    "attempts": ("made", "attempted"),
}
"""The columns of a label and of a unit, and the fields of a detail that they may come from."""

Row = dict[str, Any]
Ask = Callable[..., Any]
"""Gives the first of some fields of a detail that is set."""


def former_rows(scores: pa.Table, table: str) -> pa.Table:
    """The rows of a typed table that a shard of an earlier version holds in its scores."""
    found: list[Row] = []

    for row in scores.to_pylist():
        score = SimpleNamespace(**row)
        found += evidence_tables([score], score.stage, score.stage_key).get(table, [])

    return pa.Table.from_pylist(found, TABLES[table])


def evidence_tables(scores: Iterable[Any], stage: str, stage_key: str) -> dict[str, list[Row]]:
    """The rows of the typed tables that scores are stored as, by table."""
    found: dict[str, list[Row]] = {}
    for score in scores:
        for table, row in _rows_of(score, stage_key):
            found.setdefault(table, []).append(row | {"stage": stage, "stage_key": stage_key})

    return found


def _rows_of(score: Any, stage_key: str) -> Iterator[tuple[str, Row]]:
    """The rows that a score is stored as, each with its table."""
    text, metric = _text(score.detail), score.metric
    ask = _asking(text)
    same = {name: getattr(score, name) for name in ("subject_id", "turn", "metric", "value")}
    same["detail"] = text
    if metric in KINDS:
        identity = _label_id(stage_key, score, text)
        yield "labels", {**same, "label_id": identity, **_label(metric, ask)}
        for arm, ids in _ARMS.items():
            for episode in ask(ids) or ():
                yield "label_episodes", {"label_id": identity, "arm": arm, "trajectory_id": episode}
    elif metric in UNITS:
        yield "units", {**same, **_unit(score, ask)}
    else:
        undefined = _string(ask("reason", "why", "fault")) if score.value is None else None
        yield "measures", {**same, "undefined": undefined, "student": _string(ask("student"))}
        if metric in _STEPS:
            yield from (("step_measures", row) for row in _steps(score, ask))


def _steps(score: Any, ask: Ask) -> Iterator[Row]:
    """The values of a trial's turns, as far as they are known."""
    for turn, value in zip(ask("turns") or (), ask("by_turn", "steps") or (), strict=False):
        if value is not None:
            where = {"trajectory_id": score.subject_id, "turn": turn, "metric": score.metric}
            yield {**where, "value": value}


def _label(metric: str, ask: Ask) -> Row:
    """The columns of a label beside those that every score has.

    Successes are counted: shares of continuations times their number, each arm for itself. The
    evidence class says what the label rests on: the flip of a deterministic policy, an accepted
    test that luck does not explain, or continuations.
    """
    row: Row = {}

    for name, fields in _LABEL.items():
        is_text = pa.types.is_string(TABLES["labels"].field(name).type)
        row[name] = _string(ask(*fields)) if is_text else ask(*fields)

    for name, (share, n) in _TESTED.items():
        rate, count = ask(share), ask(n)
        row[name] = None if rate is None or count is None else round(rate * count)

    if row["treated_successes"] is None:
        row["treated_successes"] = ask("successes")
    row["kind"], row["tier"] = KINDS[metric], "E1" if row["method"] is not None else None

    if row["method"] == "flip_deterministic":
        row["evidence_class"] = "exact"
    elif row["accepted"] and row["status"] != "weak":
        row["evidence_class"] = "tested"
    elif row["treated_n"]:
        row["evidence_class"] = "counted"

    return row


def _unit(score: Any, ask: Ask) -> Row:
    """The columns of a unit of work; one that is open is tried again by a rerun of the flow."""
    parts = (score.metric, ask("task_id") or score.subject_id, ask("kind"), ask("key"))
    is_open = ask("open") or ask("settled") is False or ask("fault") is not None

    return {
        "unit_id": "/".join(part for part in parts if part is not None),
        "state": "open" if is_open else "done",
        **{name: ask(*fields) for name, fields in _UNIT.items()},
    }


def _asking(text: str | None) -> Ask:
    """Asks a detail for its fields; one that is not set, or null, is not there."""
    about = {} if text is None else msgspec.json.decode(text)

    def ask(*fields: str) -> Any:
        return next((about[field] for field in fields if about.get(field) is not None), None)

    return ask


def _text(detail: Any) -> str | None:
    """A detail as people read it; that of an earlier version is text already."""
    if detail is None or isinstance(detail, str):
        return detail
    return msgspec.json.encode(detail).decode()


def _string(value: Any) -> str | None:
    """A value in a column of text."""
    return value if value is None or isinstance(value, str) else _text(value)


def _label_id(stage_key: str, score: Any, text: str | None) -> str:
    """The same on every machine for the same label; the rows of its continuations name it."""
    parts = (stage_key, score.metric, score.subject_id, score.turn, text)
    whole = "|".join(str(part) for part in parts if part is not None)
    return hashlib.md5(whole.encode(), usedforsecurity=False).hexdigest()
