"""Scores as rows of typed tables: labels with the continuations behind them, units of work, measures
of trials and of their turns.

`scores` is a view of these tables. A run of an earlier version has one table `scores` instead; its
rows are read through the same columns (`MIGRATED`).
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from synth.ledger.tables import TABLES
from synth.schemas.labels import given

KINDS: Mapping[str, str] = {
    **dict.fromkeys(("step_test", "critical_step", "step_value", "second_evidence"), "step"),
    **dict.fromkeys(
        ("injection_test", "injection", "observation_fault", "recovery"), "attribution"
    ),
    **dict.fromkeys(("injection_control", "repair_test", "repair"), "attribution"),
    **dict.fromkeys(("reflection", "off_policy_pivot"), "retry"),
}
"""Metrics whose rows are labels, or the tests behind them: the kind of the label."""
UNITS = ("injection_attempt", "reflect_retry", "reverse_task.exploration")
"""Metrics whose rows say what became of a unit of work."""
HELD_BY = ("scores", "labels", "measures", "units")
"""Tables that the view `scores` is made of."""
_STEPS = ("potential", "gigpo", "graphgpo", "salt")
_BY_TURN = ("by_turn", "steps")
_ARMS = {"treated": "pos_ids", "control": "neg_ids"}
_TESTED = {"treated_successes": ("q_pos", "n_pos"), "control_successes": ("q_neg", "n_neg")}

Fields = Mapping[str, Sequence[str]]
_LABEL: Fields = {
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
_MEASURE: Fields = {"undefined": ("reason", "why", "fault"), "student": ("student",)}
_UNIT: Fields = {"key": ("key",), "reason": ("reason", "fault"), "attempts": ("made", "attempted")}
_EVIDENCE_CLASS = (
    "CASE WHEN method = 'flip_deterministic' THEN 'exact' WHEN accepted THEN 'tested' "
    "WHEN treated_n > 0 THEN 'counted' END"
)


def evidence_tables(
    scores: Iterable[Any], stage: str, stage_key: str
) -> dict[str, list[dict[str, Any]]]:
    """The rows of the typed tables that scores are stored as, by table."""
    found: dict[str, list[dict[str, Any]]] = {}

    def put(table: str, **row: Any) -> None:
        found.setdefault(table, []).append(row | {"stage": stage, "stage_key": stage_key})

    for score in scores:
        about, metric = _reader(score.detail), score.metric
        same = {name: getattr(score, name) for name in ("subject_id", "turn", "metric", "value")}
        same["detail"] = text = _text(score.detail)
        if metric in KINDS:
            identity = _label_id(stage_key, score, text)
            put("labels", **same, label_id=identity, **_label(metric, about))
            for arm, ids in _ARMS.items():
                for episode in about((ids,)) or ():
                    put("label_episodes", label_id=identity, arm=arm, trajectory_id=episode)
        elif metric in UNITS:
            put("units", **same, **_unit(score, about))
        else:
            undefined = about(_MEASURE["undefined"]) if score.value is None else None
            student = about(_MEASURE["student"])
            put("measures", **same, undefined=_string(undefined), student=_string(student))
            if metric not in _STEPS:
                continue
            for turn, value in zip(about(("turns",)) or (), about(_BY_TURN) or (), strict=False):
                if value is not None:
                    where = {"trajectory_id": score.subject_id, "turn": turn, "metric": metric}
                    put("step_measures", **where, value=value)
    return found


def _label(metric: str, about: Callable[[Sequence[str]], Any]) -> dict[str, Any]:
    schema = TABLES["labels"]
    row: dict[str, Any] = {}
    for name, keys in _LABEL.items():
        value = about(keys)
        row[name] = _string(value) if pa.types.is_string(schema.field(name).type) else value
    for name, (share, n) in _TESTED.items():
        rate, count = about((share,)), about((n,))
        row[name] = None if rate is None or count is None else round(rate * count)
    if row["treated_successes"] is None:
        row["treated_successes"] = about(("successes",))
    row["kind"], row["tier"] = KINDS[metric], "E1" if row["method"] is not None else None
    row["evidence_class"] = (
        "exact"
        if row["method"] == "flip_deterministic"
        else "tested"
        if row["accepted"]
        else "counted"
        if row["treated_n"]
        else None
    )
    return row


def _unit(score: Any, about: Callable[[Sequence[str]], Any]) -> dict[str, Any]:
    parts = (
        score.metric,
        about(("task_id",)) or score.subject_id,
        about(("kind",)),
        about(("key",)),
    )
    is_open = about(("open",)) or about(("settled",)) is False or about(("fault",)) is not None
    return {
        "unit_id": "/".join(part for part in parts if part is not None),
        "state": "open" if is_open else "done",
        **{name: about(keys) for name, keys in _UNIT.items()},
    }


def _reader(detail: Any) -> Callable[[Sequence[str]], Any]:
    """Gives the first of some fields that is set."""
    if detail is None:
        return lambda keys: None
    ask: Callable[[str], Any] = (
        detail.get if isinstance(detail, Mapping) else lambda key: getattr(detail, key, None)
    )
    return lambda keys: next((v for key in keys if (v := given(ask(key))) is not None), None)


def _text(detail: Any) -> str | None:
    return None if detail is None else msgspec.json.encode(detail).decode()


def _string(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else _text(value)


def _label_id(stage_key: str, score: Any, text: str | None) -> str:
    parts = (stage_key, score.metric, score.subject_id, score.turn, text)
    whole = "|".join(str(part) for part in parts if part is not None)
    return hashlib.md5(whole.encode(), usedforsecurity=False).hexdigest()


def _json(keys: Sequence[str], kind: str = "VARCHAR") -> str:
    """The same as `_reader`, asked of the JSON of an earlier version."""
    found = ", ".join(f"json_extract_string(detail, '$.{key}')" for key in keys)
    return f"TRY_CAST(coalesce({found}) AS {kind})"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


_TYPES = {"treated_n": "BIGINT", "control_n": "BIGINT", "lost": "BIGINT", "looks": "BIGINT"}
_TYPES |= {"false_discovery": "DOUBLE", "accepted": "BOOLEAN", "gold_informed": "BOOLEAN"}
_ROW_ID = "md5(concat_ws('|', stage_key, metric, subject_id, turn, detail))"
_SAME = "subject_id, turn, metric, value, detail, stage, stage_key"
_IS_LABEL, _IS_UNIT = f"metric IN ({_listed(KINDS)})", f"metric IN ({_listed(UNITS)})"
_COUNTED = {
    name: f"CAST(round({_json((share,), 'DOUBLE')} * {_json((n,), 'BIGINT')}) AS BIGINT)"
    for name, (share, n) in _TESTED.items()
}
_KIND = " ".join(f"WHEN '{metric}' THEN '{kind}'" for metric, kind in KINDS.items())
_OPEN = (
    f"{_json(('open',), 'BOOLEAN')} OR {_json(('settled',), 'BOOLEAN')} = false "
    f"OR {_json(('fault',))} IS NOT NULL"
)
MIGRATED: Mapping[str, str] = {
    "labels": (
        f"SELECT *, {_EVIDENCE_CLASS} AS evidence_class FROM (SELECT {_SAME}, {_ROW_ID} AS label_id, "
        f"CASE metric {_KIND} END AS kind, "
        f"CASE WHEN {_json(('method',))} IS NOT NULL THEN 'E1' END AS tier, "
        f"coalesce({_COUNTED['treated_successes']}, {_json(('successes',), 'BIGINT')}) AS "
        f"treated_successes, {_COUNTED['control_successes']} AS control_successes, "
        + ", ".join(f"{_json(k, _TYPES.get(n, 'VARCHAR'))} AS {n}" for n, k in _LABEL.items())
        + f" FROM ({{rows}}) WHERE {_IS_LABEL})"
    ),
    "label_episodes": " UNION ALL ".join(
        f"SELECT {_ROW_ID} AS label_id, '{arm}' AS arm, unnest(from_json(json_extract(detail, "
        f"'$.{ids}'), '[\"VARCHAR\"]')) AS trajectory_id, stage, stage_key FROM ({{rows}}) "
        f"WHERE {_IS_LABEL}"
        for arm, ids in _ARMS.items()
    ),
    "measures": (
        f"SELECT {_SAME}, CASE WHEN value IS NULL THEN {_json(_MEASURE['undefined'])} END AS "
        f"undefined, {_json(_MEASURE['student'])} AS student FROM ({{rows}}) "
        f"WHERE NOT ({_IS_LABEL} OR {_IS_UNIT})"
    ),
    "step_measures": (
        "SELECT * FROM (SELECT subject_id AS trajectory_id, metric, stage, stage_key, "
        "unnest(from_json(json_extract(detail, '$.turns'), '[\"BIGINT\"]')) AS turn, "
        "unnest(from_json(coalesce("
        + ", ".join(f"json_extract(detail, '$.{key}')" for key in _BY_TURN)
        + "), '[\"DOUBLE\"]')) AS value FROM ({rows}) "
        f"WHERE metric IN ({_listed(_STEPS)})) WHERE value IS NOT NULL"
    ),
    "units": (
        f"SELECT {_SAME}, concat_ws('/', metric, coalesce({_json(('task_id',))}, subject_id), "
        f"{_json(('kind',))}, {_json(('key',))}) AS unit_id, "
        f"CASE WHEN {_OPEN} THEN 'open' ELSE 'done' END AS state, "
        f"{_json(_UNIT['key'])} AS key, {_json(_UNIT['reason'])} AS reason, "
        f"{_json(_UNIT['attempts'], 'BIGINT')} AS attempts FROM ({{rows}}) WHERE {_IS_UNIT}"
    ),
}
"""The typed tables as questions over the rows of an earlier version's `scores`."""
