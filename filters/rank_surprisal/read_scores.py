"""What a ledger holds of the measures of `rank_surprisal`: one row per trajectory, under one
student.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from synth.filters.rank_surprisal.measure import DECISION, NLL, RANK, RSR, TOKENS
from synth.filters.rank_surprisal.sources import ScoredRow
from synth.ledger.ledger import StoredLedger
from synth.ledger.typed import Read, read
from synth.ledger.views import connect
from synth.schemas import ConfigError, Ranked, given

Student = tuple[str, str | None, str, int]
"""(model, weights, template hash, cap of the ranks): only what was measured under one and the same
can be compared.
"""
_METRICS = (RSR, RANK, NLL, TOKENS, DECISION)


def scored_rows(
    ledger: StoredLedger, by: str, student: str | None
) -> tuple[Student, list[ScoredRow]]:
    """The student, and a row per measured trajectory of the current flow. Raises `ConfigError`
    where there is not just one student.

    `by` is a column of the view `trajectories`. Without `student` the measures of the current flow
    are read; with it those of any flow on these trajectories.
    """
    with connect(ledger) as connection:
        sql = f"SELECT trajectory_id, coalesce({by}, 'none'), task_id FROM trajectories"
        places = {identity: place for identity, *place in connection.execute(sql).fetchall()}
        found = read(connection, Ranked, _METRICS, every=student is not None)
        rows = [row for row in found if row.subject_id in places]

    key, who = _one_student(ledger.storage.url, [row for row in rows if row.metric == RSR], student)

    measured: dict[str, dict[str, Read[Ranked]]] = defaultdict(dict)

    for row in rows:
        if row.stage_key == key:
            measured[row.subject_id][row.metric] = row

    return who, [_row(by_metric, *places[one]) for one, by_metric in sorted(measured.items())]


def _one_student(
    url: str, ratios: Sequence[Read[Ranked]], wanted: str | None
) -> tuple[str, Student]:
    """The stage key and the student of the measures, which must be one of each: ratios under two
    students are two scales.
    """
    if not ratios:
        raise ConfigError(
            f"{url}: no trajectory was measured; give the flow `models: {{student: ...}}` and "
            "`filter: [rank_surprisal]`, then synth curate"
        )

    known = {(row.stage_key, _student(row.about)) for row in ratios if row.value is not None}
    fitting = sorted((one for one in known if wanted in (None, one[1][0])), key=str)
    if not fitting:
        reasons = sorted({row.about.why for row in ratios if row.about.why is not None})
        under = "" if wanted is None else f" under {wanted}"
        raise ConfigError(
            f"{url}: no trajectory has a ratio{under}: "
            f"{', '.join(reasons) or 'it was measured under others'}"
        )

    if len(fitting) > 1:
        keys, named = {key for key, _ in fitting}, sorted({one for _, one in fitting}, key=str)
        told = "; ".join(
            f"{m} (weights {w}, template {t[:12]}, ranks to {r})" for m, w, t, r in named
        )
        raise ConfigError(
            f"{url}: measured {len(keys)} times under {len(named)} students, which cannot be "
            f"compared: {told}; measure under one"
        )

    return fitting[0]


def _student(about: Ranked) -> Student:
    """Who measured: what the ratio depends on beside the trajectory."""
    weights, template = given(about.weights_id), str(about.template_hash)
    return str(about.student), weights, template, about.max_rank or 0


def _row(found: Mapping[str, Read[Ranked]], source: str, task: str) -> ScoredRow:
    """A trajectory by its measures, metric by metric; by the reason alone where it was not
    scored.
    """
    about = found[RSR].about
    if found[RSR].value is None:
        return ScoredRow(source, task, why=about.why)

    decision = found[DECISION].about if DECISION in found else Ranked()
    values = [found[metric].value or 0.0 for metric in (RANK, NLL, TOKENS)]
    return ScoredRow(
        source,
        task,
        found[RSR].value,
        (values[0], values[1]),
        int(values[2]),
        _means(decision.avg_rank_clip, decision.avg_nll),
        given(about.chat_tokens),
        given(about.copied_share),
        about.loss_tokens,
    )


def _means(rank: float | None, nll: float | None) -> tuple[float, float] | None:
    """Both or none: a measure that was not taken has neither."""
    return None if rank is None or nll is None else (rank, nll)
