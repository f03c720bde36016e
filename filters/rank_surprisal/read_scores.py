"""What a ledger holds of the measures of `rank_surprisal`: one row per trajectory, under one
student.
"""

import json
from collections.abc import Mapping
from typing import Any

from synth.filters.rank_surprisal.measure import DECISION, RSR
from synth.filters.rank_surprisal.ratio import Sums
from synth.filters.rank_surprisal.sources import Row
from synth.ledger.ledger import Ledger
from synth.ledger.views import connect
from synth.schemas.errors import ConfigError

Student = tuple[str, str | None, str, int]
"""(model, weights, template hash, cap of the ranks): only what was measured under one and the same
can be compared.
"""


Found = Mapping[str, Mapping[str, Any]]
"""Of a trajectory: metric -> its detail, and the `value`."""


def scored_rows(ledger: Ledger, by: str, student: str | None) -> tuple[Student, list[Row]]:
    """The student, and a row per measured trajectory of the current flow. Raises `ConfigError`
    where there is not just one student.

    `by` is a column of the view `trajectories`. Without `student` the measures of the current flow
    are read; with it those of any flow on
    these trajectories.
    """
    url = ledger.storage.url
    sql = f"""SELECT s.stage_key, s.subject_id, s.metric, s.value, s.detail, coalesce(t.{by}, 'none'), t.task_id
        FROM {"scores" if student is None else "scores_all"} s JOIN trajectories t ON t.trajectory_id = s.subject_id
        WHERE s.metric IN ('{RSR}', '{DECISION}')"""
    keys: dict[str, dict[str, dict[str, Any]]] = {}
    places: dict[str, tuple[str, str]] = {}
    with connect(ledger) as connection:
        for key, identity, metric, value, text, source, task in connection.execute(sql).fetchall():
            keys.setdefault(key, {}).setdefault(identity, {})[metric] = {
                **(json.loads(text) if text else {}),
                "value": value,
            }
            places[identity] = (source, task)
    if not keys:
        raise ConfigError(
            f"{url}: no trajectory was measured; give the flow `models: {{student: ...}}` and "
            "`filter: [rank_surprisal]`, then synth curate"
        )
    students = {key: _students(measured) for key, measured in keys.items()}
    fitting = {
        key for key, found in students.items() if any(student in (None, one[0]) for one in found)
    }
    named = sorted({one for key in fitting for one in students[key]}, key=str)
    if not named:
        reasons = sorted(
            {
                str(found[RSR]["why"])
                for measured in keys.values()
                for found in measured.values()
                if "why" in found[RSR]
            }
        )
        under = "" if student is None else f" under {student}"
        raise ConfigError(
            f"{url}: no trajectory has a ratio{under}: "
            f"{', '.join(reasons) or 'it was measured under others'}"
        )
    if len(named) > 1 or len(fitting) > 1:
        told = "; ".join(
            f"{m} (weights {w}, template {t[:12]}, ranks to {r})" for m, w, t, r in named
        )
        raise ConfigError(
            f"{url}: measured {len(fitting)} times under {len(named)} students, which cannot be "
            f"compared: {told}; measure under one"
        )
    measured = keys[fitting.pop()]
    return named[0], [
        _row(found, *places[identity]) for identity, found in sorted(measured.items())
    ]


def _students(measured: Mapping[str, Found]) -> set[Student]:
    details = [found[RSR] for found in measured.values() if found[RSR]["value"] is not None]
    return {
        (one["student"], one["weights_id"], one["template_hash"], one["max_rank"])
        for one in details
    }


def _row(found: Found, source: str, task: str) -> Row:
    detail = found[RSR]
    if detail["value"] is None:
        return Row(source, task, why=str(detail["why"]))
    sums = sum((Sums(rank, nll, int(tokens)) for rank, nll, tokens in detail["turns"]), Sums())
    of = found.get(DECISION, {})
    decision = None
    if of.get("value") is not None:
        count = of["tokens"]
        decision = Sums(of["avg_rank_clip"] * count, of["avg_nll"] * count, count)
    return Row(
        source,
        task,
        sums,
        decision,
        detail["chat_tokens"],
        detail["copied_share"],
        detail["loss_tokens"],
    )
