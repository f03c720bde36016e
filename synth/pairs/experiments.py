"""The tests of acts that a ledger holds: accepted or not, with counts, in the order in which their
trials lie there; and what students make of injected turns.

One struct for all of them: the labels of stages (`synth.schemas.evidence.labels`) as far as pairs,
KTO rows and steps read them, with a default for what a metric does not have.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from synth.ledger.ledger import StoredLedger
from synth.ledger.typed import read
from synth.ledger.views import LedgerConnection
from synth.schemas import Ranked, RowEvidence, Trajectory, Turn, given
from synth.set_aside import SetAside

CRITICAL_STEP, REPAIR, INJECTION = "critical_step", "repair", "injection"
STEP_VALUE, REFLECTION = "step_value", "reflection"
"""Metrics of `scores`, as the stages write them (docs/synthesizers.md). Faults of the world
(`observation_fault`) are never read here: they are no mistake of the step that received them.
"""
RSR = "rsr"
"""Metric of `scores`, as the filter `rank_surprisal` writes it."""
MOST_RATIO = 2.0
"""mean nll(rejected) / mean nll(chosen), in nats per token; beyond it the rejected side is told
apart by its strangeness alone.
"""
Student = tuple[str, str | None, str | None]
"""Its name, weights and template."""
Surprisals = Mapping[str, Mapping[Student, Sequence[float]]]
"""By trajectory, then by student: mean nll per token of each turn, in nats."""


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """One row about an act at a recorded state; which fields it has depends on the metric."""

    # where the row stands, and what its test came to
    metric: str = ""
    subject_id: str = ""
    turn: int = 0
    value: float | None = None
    status: str = ""
    # continuations of the better act and of the worse one, by arm
    q_pos: float | None = None
    n_pos: int = 0
    q_neg: float | None = None
    n_neg: int = 0
    # how they were counted, and by whose policy they were played
    method: str = ""
    stopped_at: int = 0
    weights_id: str | None = None
    on_policy_for: str = ""
    pos_ids: tuple[str, ...] = ()
    # the other act of a critical step, and who proposed it
    alternative_from: str = ""
    alternative_authorship: str = "model"
    alternative_digest: str = ""
    # digests of acts: the trial's own, and the one that a value is of
    own: str = ""
    # of an injection: the run without it, and how the mistake was made
    clean_twin_id: str = ""
    strategy: str = ""
    act: str = ""
    n: int = 0
    successes: int = 0
    # what fresh continuations of an accepted test came to
    q_confirm: float | None = None
    confirm_pos: int = 0
    confirm_neg: int = 0
    confirm_pos_ids: tuple[str, ...] = ()
    confirm_neg_ids: tuple[str, ...] = ()
    # of a reflection: the retry that followed from it
    retry: str | None = None
    # A/A controls compare an act with itself
    control: bool = False

    @property
    def confirmed(self) -> bool:
        """Whether the act that succeeded more often makes success likelier, by an accepted test
        whose stage was controlled.
        """
        return self.status == "confirmed"

    def fresh(self, better: bool) -> tuple[float | None, int]:
        """(success rate, number) of the better act's fresh continuations, or of the worse one's."""
        won, ids = (
            (self.confirm_pos, self.confirm_pos_ids)
            if better
            else (self.confirm_neg, self.confirm_neg_ids)
        )
        return (None if self.q_confirm is None else won / len(ids)), len(ids)

    def evidence(self) -> RowEvidence | None:
        """The counts; None where a side has none."""
        if self.q_pos is None or self.q_neg is None:
            return None
        return msgspec.convert(self, RowEvidence, from_attributes=True)


def experiments(
    ledger: StoredLedger, connection: LedgerConnection, metrics: Sequence[str], aside: SetAside
) -> Iterator[list[Experiment]]:
    """All rows of these metrics about one turn of one trajectory, state after state, those of one
    shard of trajectories side by side; `aside`: rows that cannot be read.
    """
    # states of one shard lie side by side, so each shard of trajectories is read once
    places = {
        record.trajectory_id: at
        for at, shard in enumerate(ledger.state.shards)
        for record in shard.slots
    }

    rows = (
        msgspec.structs.replace(
            one.about,
            metric=one.metric,
            subject_id=one.subject_id,
            turn=one.turn,
            value=one.value,
        )
        for one in read(connection, Experiment, metrics, aside=aside, places=places)
        if one.turn is not None and not one.about.control
    )
    for _, held in groupby(rows, lambda row: (row.subject_id, row.turn)):
        yield list(held)


def surprisals(connection: LedgerConnection, identities: Sequence[str]) -> Surprisals:
    """What students have made of these trajectories, in the current flow."""
    found: dict[str, dict[Student, Sequence[float]]] = {}

    for row in read(connection, Ranked, (RSR,), subjects=identities) if identities else ():
        # without a ratio there is nothing to compare, whatever turns say
        if row.value is not None:
            one = row.about
            student = (one.student or "", given(one.weights_id), one.template_hash)
            means = [nats / tokens for _, nats, tokens in one.turns]
            found.setdefault(row.subject_id, {})[student] = means

    return found


def bar(
    chosen: Trajectory, rejected: Trajectory, turn: int, known: Surprisals, student: str | None
) -> str | None:
    """Why a pair with an injected rejected turn is none: `likelihood_unknown`, `unlikely_rejected`,
    or None where the bar holds.

    By what one student makes of both turns (`student`, where it is named), else by what the server
    said while they were sampled.
    """
    # what the server said while it sampled, unless one student has weighed every turn of both
    good, bad = _mean_nll(chosen.turns[turn]), _mean_nll(rejected.turns[turn])
    of_rejected = known.get(rejected.trajectory_id, {})

    for one, means in known.get(chosen.trajectory_id, {}).items():
        others = of_rejected.get(one, ())
        whole = len(means) == len(chosen.turns) and len(others) == len(rejected.turns)

        if whole and student in (None, one[0]):
            good, bad = means[turn], others[turn]
            break

    if good is None or bad is None:
        return "likelihood_unknown"

    return None if bad <= MOST_RATIO * good else "unlikely_rejected"


def _mean_nll(turn: Turn) -> float | None:
    """Of the turn's sampled tokens; None where the server gave none."""
    return -sum(turn.logprobs) / len(turn.logprobs) if turn.logprobs else None
