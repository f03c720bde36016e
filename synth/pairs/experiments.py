"""The tests of acts that a ledger holds: accepted or not, with counts, in the order in which their
trials lie there.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import msgspec

from synth.ledger.ledger import Ledger
from synth.ledger.typed import read
from synth.ledger.views import LedgerConnection
from synth.schemas.labels import given
from synth.schemas.measures import Ranked
from synth.schemas.pairs import RowEvidence
from synth.schemas.trajectory import Trajectory, Turn
from synth.set_aside import SetAside

RSR = "rsr"
"""Metric of `scores`, as the filter `rank_surprisal` writes it."""
MOST_RATIO = 2.0
"""mean nll(rejected) / mean nll(chosen), in nats per token; beyond it the rejected side is told
apart by its strangeness alone.
"""


class Surprisal(msgspec.Struct, frozen=True):
    """Of a trajectory's turns under one student (its name, weights and template): mean nll per
    token, in nats.
    """

    student: str
    under: tuple[str | None, str | None]
    means: tuple[float, ...]


Surprisals = Mapping[str, Sequence[Surprisal]]
"""By trajectory: one per student that measured it."""


def surprisals(connection: LedgerConnection, identities: Sequence[str]) -> Surprisals:
    """What students have made of these trajectories, in the current flow."""
    found: dict[str, list[Surprisal]] = {}
    for row in read(connection, Ranked, (RSR,), subjects=identities) if identities else ():
        if row.value is not None:
            means = tuple(nats / tokens for _, nats, tokens in row.about.turns)
            under = (given(row.about.weights_id), row.about.template_hash)
            found.setdefault(row.subject_id, []).append(
                Surprisal(row.about.student or "", under, means)
            )
    return found


def mean_nll(turn: Turn) -> float | None:
    """Mean negative log-probability of the turn's sampled tokens; None where the server gave
    none.
    """
    if not turn.logprobs:
        return None
    return -sum(turn.logprobs) / len(turn.logprobs)


def bar(
    chosen: Trajectory, rejected: Trajectory, turn: int, known: Surprisals, student: str | None
) -> str | None:
    """Why a pair with an injected rejected turn is none: `likelihood_unknown`, `unlikely_rejected`,
    or None where the bar holds.

    By what one student makes of both turns (`student`, where it is named), else by what the server
    said while they were sampled.
    """
    good, bad = _measured(chosen, rejected, turn, known, student) or (
        mean_nll(chosen.turns[turn]),
        mean_nll(rejected.turns[turn]),
    )
    if good is None or bad is None:
        return "likelihood_unknown"
    return None if bad <= MOST_RATIO * good else "unlikely_rejected"


def _measured(
    chosen: Trajectory, rejected: Trajectory, turn: int, known: Surprisals, student: str | None
) -> tuple[float | None, float | None] | None:
    """Both means under the first student that has measured every turn of both."""
    of_rejected = {(one.student, one.under): one for one in known.get(rejected.trajectory_id, ())}
    for one in known.get(chosen.trajectory_id, ()):
        other = of_rejected.get((one.student, one.under))
        if other is None or student not in (None, one.student):
            continue
        if len(one.means) == len(chosen.turns) and len(other.means) == len(rejected.turns):
            return one.means[turn], other.means[turn]
    return None


CRITICAL_STEP, REPAIR, INJECTION = "critical_step", "repair", "injection"
STEP_VALUE, REFLECTION = "step_value", "reflection"
OFF_POLICY = "off_policy_pivot"
"""Metrics of `scores`, as the stages write them (docs/synthesizers.md). Faults of the world
(`observation_fault`) are never read here:
they are no mistake of the step that received them.
"""


CHUNK = 100


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """One row about an act at a recorded state; which fields it has depends on the metric."""

    metric: str = ""
    subject_id: str = ""
    turn: int = 0
    value: float | None = None
    status: str = ""
    q_pos: float | None = None
    n_pos: int = 0
    q_neg: float | None = None
    n_neg: int = 0
    method: str = ""
    stopped_at: int = 0
    weights_id: str | None = None
    on_policy_for: str = ""
    pos_ids: tuple[str, ...] = ()
    alternative_from: str = ""
    alternative_authorship: str = "model"
    alternative_digest: str = ""
    own: str = ""
    clean_twin_id: str = ""
    strategy: str = ""
    act: str = ""
    successes: int = 0
    n: int = 0
    retry: str | None = None
    control: bool = False

    @property
    def confirmed(self) -> bool:
        """Whether the act that succeeded more often makes success likelier, by an accepted test
        whose stage was controlled.
        """
        return self.status == "confirmed"

    def evidence(self) -> RowEvidence | None:
        """The counts; None where a side has none."""
        if self.q_pos is None or self.q_neg is None:
            return None
        return RowEvidence(**{name: getattr(self, name) for name in RowEvidence.__struct_fields__})


class TestState(msgspec.Struct, frozen=True):
    """All rows about one turn of one trajectory."""

    trajectory_id: str
    turn: int
    rows: tuple[Experiment, ...]

    def of(self, metric: str) -> list[Experiment]:
        """Those of a metric."""
        return [row for row in self.rows if row.metric == metric]


def states(
    ledger: Ledger, connection: LedgerConnection, metrics: Sequence[str], aside: SetAside
) -> Iterator[TestState]:
    """The current flow's states with such rows, those of one shard of trajectories side by side;
    `aside`: rows that cannot be read.
    """
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
    for (subject, turn), held in groupby(rows, lambda row: (row.subject_id, row.turn)):
        yield TestState(subject, turn, tuple(held))
