"""What a ledger holds of the measures of `rank_surprisal`: one row per trajectory, under one
student.
"""

from collections.abc import Mapping

from synth.filters.rank_surprisal.measure import DECISION, RSR
from synth.filters.rank_surprisal.ratio import Sums
from synth.filters.rank_surprisal.sources import ScoredRow
from synth.ledger.ledger import Ledger
from synth.ledger.typed import Read, read
from synth.ledger.views import connect
from synth.schemas.errors import ConfigError
from synth.schemas.labels import given
from synth.schemas.measures import Ranked

Student = tuple[str, str | None, str, int]
"""(model, weights, template hash, cap of the ranks): only what was measured under one and the same
can be compared.
"""

Found = Mapping[str, Read[Ranked]]
"""Of a trajectory, by metric."""


def scored_rows(ledger: Ledger, by: str, student: str | None) -> tuple[Student, list[ScoredRow]]:
    """The student, and a row per measured trajectory of the current flow. Raises `ConfigError`
    where there is not just one student.

    `by` is a column of the view `trajectories`. Without `student` the measures of the current flow
    are read; with it those of any flow on
    these trajectories.
    """
    url = ledger.storage.url
    keys: dict[str, dict[str, dict[str, Read[Ranked]]]] = {}
    with connect(ledger) as connection:
        sql = f"SELECT trajectory_id, coalesce({by}, 'none'), task_id FROM trajectories"
        places = {identity: place for identity, *place in connection.execute(sql).fetchall()}
        for row in read(connection, Ranked, (RSR, DECISION), every=student is not None):
            if row.subject_id in places:
                of_key = keys.setdefault(row.stage_key, {})
                of_key.setdefault(row.subject_id, {})[row.metric] = row
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
                str(found[RSR].about.why)
                for measured in keys.values()
                for found in measured.values()
                if found[RSR].about.why is not None
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
    scored = [found[RSR].about for found in measured.values() if found[RSR].value is not None]
    return {
        (str(one.student), given(one.weights_id), str(one.template_hash), one.max_rank or 0)
        for one in scored
    }


def _row(found: Found, source: str, task: str) -> ScoredRow:
    about = found[RSR].about
    if found[RSR].value is None:
        return ScoredRow(source, task, why=about.why)
    own = found[DECISION].about if DECISION in found else Ranked()
    count, rank, nll = own.tokens, own.avg_rank_clip, own.avg_nll
    return ScoredRow(
        source,
        task,
        sum(Sums.of(about.turns), Sums()),
        None
        if count is None or rank is None or nll is None
        else Sums(rank * count, nll * count, count),
        given(about.chat_tokens),
        given(about.copied_share),
        about.loss_tokens,
    )
