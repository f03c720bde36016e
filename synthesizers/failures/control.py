"""What the A/A control says of the labels: where too many accepted tests are expected to be false, labels are weak."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from synth.interventions import MOST_FALSE, expected_false_share
from synth.ledger.ledger import Ledger, Score
from synthesizers.failures.labels import CONTROL, INJECTION, OBSERVATION_FAULT, REPAIR
from synthesizers.failures.notes import ATTEMPT

LABELS = frozenset({INJECTION, OBSERVATION_FAULT, REPAIR})


class Judged(msgspec.Struct, frozen=True):
    """A label or a control, as far as the control goes by it."""

    metric: str
    accepted: bool
    method: str | None


def judged_in(ledger: Ledger, stage_key: str) -> Iterator[Judged]:
    """Those that a stage has committed."""
    for shard in ledger.state.shards:
        if shard.stage_key == stage_key and "scores" in shard.files:
            for row in ledger.files.table(shard.files["scores"]).select(["metric", "value", "detail"]).to_pylist():
                if row["metric"] in LABELS | {CONTROL}:
                    found = _tested(row["metric"], row["value"], msgspec.json.decode(row["detail"]))
                    if found is not None:
                        yield found


def judged_among(scores: Sequence[Score]) -> list[Judged]:
    """Those that are about to be committed."""
    found = [_tested(score.metric, score.value, score.detail or {}) for score in scores if score.metric in LABELS | {CONTROL}]
    return [one for one in found if one is not None]


def _tested(metric: str, value: float | None, detail: Any) -> Judged | None:
    """A label that the control made weak was accepted all the same."""
    accepted = value == 1 or "fdr" in detail
    return None if value is None else Judged(metric, accepted, detail.get("method"))


def false_share(tested: Sequence[Judged]) -> float | None:
    """The share of the accepted sequential tests that is expected to be false; None where no control was played."""
    sequential = [found for found in tested if found.method == "sequential"]
    controls = [found.accepted for found in sequential if found.metric == CONTROL]
    labels = [found.accepted for found in sequential if found.metric != CONTROL]
    return expected_false_share(sum(controls), len(controls), len(labels), sum(labels))


def tempered(scores: Sequence[Score], share: float | None) -> list[Score]:
    """The scores as they may be committed: under a share above the limit what the sequential test accepted is weak, and says why."""
    if share is None or share <= MOST_FALSE:
        return list(scores)
    weak = {
        (score.subject_id, score.turn)
        for score in scores
        if score.metric in LABELS and score.value == 1 and score.detail is not None and score.detail.get("method") == "sequential"
    }
    subjects = {subject for subject, _ in weak}
    return [_weakened(score, share) if _concerned(score, weak, subjects) else score for score in scores]


def _concerned(score: Score, weak: set[tuple[str, int | None]], subjects: set[str]) -> bool:
    if score.metric == ATTEMPT:
        return score.subject_id in subjects and (score.detail or {}).get("reason") == "confirmed"
    return score.metric in LABELS and score.value == 1 and (score.subject_id, score.turn) in weak


def _weakened(score: Score, share: float) -> Score:
    if score.metric == ATTEMPT:
        return msgspec.structs.replace(score, value=0.0, detail={**(score.detail or {}), "reason": "weak_by_control"})
    return msgspec.structs.replace(score, value=0.0, detail={**(score.detail or {}), "status": "weak", "fdr": share})
