"""Whether an injected turn is likely enough under the policy for a preference against it to teach
anything (rigor: injection labels).
"""

import json
from collections.abc import Mapping, Sequence

import msgspec

from synth.ledger.views import LedgerConnection
from synth.schemas.trajectory import Trajectory, Turn

RSR = "rsr"
"""Metric of `scores`, as the filter `rank_surprisal` writes it: in its detail the sums of ranks,
nats and tokens, turn by turn.
"""
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
    sql = (
        "SELECT subject_id, detail FROM scores WHERE metric = ? AND value IS NOT NULL AND "
        "subject_id IN (SELECT unnest(?))"
    )
    for identity, text in (
        connection.execute(f"{sql} ORDER BY ALL", [RSR, list(identities)]).fetchall()
        if identities
        else ()
    ):
        detail = json.loads(text)
        means = tuple(nats / tokens for _, nats, tokens in detail["turns"])
        found.setdefault(identity, []).append(
            Surprisal(detail["student"], (detail["weights_id"], detail["template_hash"]), means)
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
