"""Sources of trajectories, ranked by what a student would learn from them."""

from pathlib import Path

from synth.api.opened import Ledger, stored
from synth.filters.rank_surprisal.read_scores import scored_rows
from synth.filters.rank_surprisal.sources import Ranking, ranking


def rank(
    ledger: Ledger | Path | str, *, by: str = "model", student: str | None = None, seed: int = 0
) -> tuple[Ranking, tuple[str, str | None, str, int]]:
    """The ranking of models, synthesizers, policies, roles or sources by the ratio that the filter
    `rank_surprisal` has measured; and the student: model, weights, template, largest rank.
    """
    who, rows = scored_rows(stored(ledger), by, student)
    return ranking(rows, seed), who
