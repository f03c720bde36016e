"""What the stage notes of every attempt, labelled or not, among the scores: rounds, reruns and the
report go by these.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Literal

import msgspec

from synth.ledger.ledger import Ledger, Score
from synth.ledger.typed import committed
from synth.schemas.labels import AttributionLabel
from synth.synthesizers.failures.mix import yields
from synth.synthesizers.failures.planning import InjectionPlan

ATTEMPT = "injection_attempt"
"""Metric of the notes; 1 where the test accepted it, 0 where not, None where nothing was tried or a
rerun may still tell.
"""
ACCEPTED = "accepted"
"""The reason of an attempt that its test accepted; whether its label is confirmed, the control of
the whole stage says.
"""
Kind = Literal["injection", "repair", "twin", "declined"]


class Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One attempt (`injection`, `repair`), a trial that cannot be built on (`twin`), or a drawn
    strategy that is ruled out (`declined`).

    `reason`: what the test said, else why there was none; `key` tells the notes of a task apart;
    `open`: a rerun may still tell.
    """

    kind: Kind
    task_id: str
    key: str
    reason: str
    round: int
    strategy: str | None = None
    mode: str | None = None
    open: bool = False

    @classmethod
    def of_attempt(cls, planned: InjectionPlan, reason: str, round: int, *, again: bool) -> "Note":
        """Of an injection."""
        return cls(
            "injection",
            planned.task_id,
            str(planned.ordinal),
            reason,
            round,
            planned.strategy,
            planned.mode,
            again,
        )

    @property
    def tried(self) -> bool:
        return self.kind in ("injection", "repair")

    def as_score(self, subject_id: str) -> Score:
        """As it is stored."""
        value = None if self.open or not self.tried else float(self.reason == ACCEPTED)
        return Score(subject_id, ATTEMPT, value, None, self)


def noted(ledger: Ledger, stage_key: str) -> list[Note]:
    """All notes under a stage's key, in the order of their commits."""
    return [row.about for row in committed(ledger, stage_key, Note, (ATTEMPT,))]


def made_elsewhere(ledger: Ledger, stage_key: str, metrics: Collection[str]) -> tuple[str, ...]:
    """Injected runs that the stage has labelled, and that were played under other settings of
    it.
    """
    own = {
        record.trajectory_id
        for shard in ledger.state.shards
        if shard.stage_key == stage_key
        for record in shard.slots
    }
    labelled = committed(ledger, stage_key, AttributionLabel, metrics)
    subjects = {row.subject_id for row in labelled}
    return tuple(sorted(subjects - own))


def settled(notes: Iterable[Note]) -> list[Note]:
    """The last word on each: what a rerun has told stands for what was left open."""
    last: dict[tuple[str, str, str], Note] = {}
    for note in notes:
        key = (note.kind, note.task_id, note.key)
        if key not in last or last[key].open:
            last[key] = note
    return list(last.values())


def yields_of(notes: Iterable[Note]) -> dict[str, float]:
    """Share of the attempts of each mode that were accepted."""
    attempted: Counter[str] = Counter()
    verified: Counter[str] = Counter()
    for note in notes:
        if note.kind == "injection" and not note.open and note.mode is not None:
            attempted[note.mode] += 1
            verified[note.mode] += note.reason == ACCEPTED
    return yields(attempted, verified)
