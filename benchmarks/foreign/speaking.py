"""Filters by family: on how many trajectories each could speak, and how well what it says tells
failures from successes, beside what length, calls and the last speaker tell.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from benchmarks.foreign.families import WORLDS, families, imported, played
from synth.api.curation import curate
from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.flow import Flow
from synth.schemas.trajectory import Source, Trajectory
from synth.stats.ranks import auc

FILTERS = (
    *("leaks", "secrets", "control_tokens", "provenance", "signals", "efficiency", "waste"),
    *("duplicates", "pdi"),
)
QUALITY = ("provenance", "signals", "efficiency", "waste")
"""That judge how well it was done."""
HIGHER_IS_BETTER = ("signals",)
ROUNDS = 200
FEWEST = 10
"""Successes, and failures, on which a filter spoke, below which nothing is said."""
_SAID = """
SELECT filter, trajectory_id, keep, score FROM decisions
WHERE keep IS NOT NULL OR score IS NOT NULL
"""
Scores = Mapping[str, float]
"""By trajectory; the higher, the likelier a failure."""


def lines() -> Iterator[str]:
    """Two tables in Markdown: who could speak, and what those that judge quality say."""
    yield f"| family | trajectories | {' | '.join(FILTERS)} |"
    yield f"|---|---:|{'---:|' * len(FILTERS)}"
    told: list[str] = []
    for name in (*WORLDS, *families()):
        with played(name) if name in WORLDS else imported([name]) as url:
            flow = Flow.model_validate({"name": "all", "stages": [{"filter": list(FILTERS)}]})
            curate(url, flow, quiet=True)
            ledger = StoredLedger(url)
            said = _said(ledger)
            told += _told_of(name, ledger, said)
        spoke = [str(len(said[filter])) for filter in FILTERS]
        yield f"| {name} | {len(ledger.state.current_valid())} | {' | '.join(spoke)} |"
    yield from ("", "| family | filter | AUC for failure | turns | calls | last speaker |")
    yield "|---|---|---:|---:|---:|---:|"
    yield from told


def _said(ledger: StoredLedger) -> dict[str, dict[str, float]]:
    """By filter: what it said, a drop the loudest; else its score, as it counts what is wrong."""
    said: dict[str, dict[str, float]] = {filter: {} for filter in FILTERS}
    with connect(ledger) as connection:
        for filter, identity, keep, score in connection.execute(_SAID).fetchall():
            wrong = float(score or 0.0) * (-1 if filter in HIGHER_IS_BETTER else 1)
            said[filter][identity] = 1e9 if keep is False else wrong
    return said


def _told_of(name: str, ledger: StoredLedger, said: Mapping[str, Scores]) -> Iterator[str]:
    failed: dict[str, bool] = {}
    trivial: dict[str, dict[str, float]] = {"turns": {}, "calls": {}, "speaker": {}}
    for one in ledger.trajectories(set(ledger.state.current_valid())):
        if one.outcome.value in ("success", "failure"):
            failed[one.trajectory_id] = one.outcome.value == "failure"
            for what, value in _trivial(one).items():
                trivial[what][one.trajectory_id] = value

    for filter in QUALITY:
        spoke = said[filter]
        cells = [_told(scores, failed, spoke) for scores in (spoke, *trivial.values())]
        if cells[0] is not None:
            yield f"| {name} | `{filter}` | {' | '.join(map(str, cells))} |"


def _trivial(one: Trajectory) -> Scores:
    last = one.turns[-1].observations if one.turns else ()
    return {
        "turns": float(len(one.turns)),
        "calls": float(sum(len(turn.tool_calls) for turn in one.turns)),
        "speaker": float(bool(last) and last[-1].source is not Source.USER),
    }


def _told(scores: Scores, failed: Mapping[str, bool], spoke: Scores) -> str | None:
    """The AUC among those on which the filter spoke, with its 95 % interval (bootstrap)."""
    bad = np.array([scores[one] for one in spoke if failed.get(one) is True])
    good = np.array([scores[one] for one in spoke if failed.get(one) is False])
    if min(len(bad), len(good)) < FEWEST:
        return None
    rng = np.random.default_rng(20)
    drawn = [auc(rng.choice(bad, len(bad)), rng.choice(good, len(good))) for _ in range(ROUNDS)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{auc(bad, good):.2f} ({low:.2f} to {high:.2f})"
