"""States beside the trajectories that their rows name, a hundred states in memory at a time."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

import msgspec

from synth.ledger.decided import decision_order, has_decided, with_verdicts
from synth.ledger.flow_scan import SECRETS, FlowScan
from synth.ledger.ledger import Ledger
from synth.ledger.task_places import TaskPlaces
from synth.ledger.views import LedgerConnection, connect
from synth.pairs.experiments import (
    CHUNK,
    INJECTION,
    OFF_POLICY,
    REPAIR,
    Experiment,
    TestState,
    states,
)
from synth.pairs.likelihood_bar import Surprisals, surprisals
from synth.pairs.turns import policy_name
from synth.schemas.outcome import Outcome
from synth.schemas.task import Task
from synth.schemas.trajectory import Authorship, Trajectory
from synth.schemas.verdict import Verdict
from synth.set_aside import SetAside

EXPERT = "expert"


class Scene(msgspec.Struct, frozen=True):
    """A state, the trajectories that its rows name, whatever flow played them, their verdicts by
    filter, and the task.

    `models`: the flow's models by role. `tags`: retry -> 1 where the unguided policy never did in
    its samples what the retry does at its
    pivot, 0 where it did, nothing where that is not known. `surprisals`: what students make of what
    injections name.
    """

    state: TestState
    trajectories: Mapping[str, Trajectory]
    verdicts: Mapping[str, Mapping[str, Verdict]]
    task: Task | None
    models: Mapping[str, str]
    tags: Mapping[str, float] = {}
    surprisals: Surprisals = {}

    @property
    def own(self) -> Trajectory | None:
        """The trajectory that the state is of; None where its shard is lost or it has no such
        turn.
        """
        found = self.trajectories.get(self.state.trajectory_id)
        return found if found is not None and self.state.turn < len(found.turns) else None

    def solved(self, row: Experiment) -> Trajectory | None:
        """The first of the counted continuations of a row's better act that passed."""
        known = (
            self.trajectories[identity] for identity in row.pos_ids if identity in self.trajectories
        )
        return next(
            (
                one
                for one in known
                if one.outcome is Outcome.SUCCESS and self.state.turn < len(one.turns)
            ),
            None,
        )

    def author(self, row: Experiment, own: Trajectory) -> tuple[str, Authorship]:
        """The policy that proposed a row's better act, and who wrote it; corrections come from the
        world's expert.
        """
        if row.metric == REPAIR:
            return EXPERT, Authorship.SCRIPTED
        source = row.alternative_from
        by = policy_name(own) if source == own.role else self.models.get(source, source)
        return by, Authorship(row.alternative_authorship)


def scenes(ledger: Ledger, metrics: Sequence[str], aside: SetAside) -> Iterator[Scene]:
    """Every state with such rows; trajectories as they may leave the machine, secrets taken out,
    and those that cannot be left out.
    """
    given = (ledger.state.flow or {}).get("models") or {}
    models = {name: str(role["model"]) for name, role in given.items() if role.get("model")}
    places, flow, order = TaskPlaces(ledger), FlowScan(ledger), decision_order(ledger)
    with connect(ledger) as connection:
        scanned = has_decided(connection, SECRETS)
        waiting = states(ledger, connection, metrics, aside)
        while chunk := list(islice(waiting, CHUNK)):
            wanted = {identity for state in chunk for identity in _named(state)}
            read = list(ledger.trajectories(wanted, every=True))
            tasks = places.tasks({one.task_id for one in read})
            found: dict[str, Trajectory] = {}
            verdicts: dict[str, dict[str, Verdict]] = {}
            for one, decided in with_verdicts(connection, read, order, aside):
                identity = one.trajectory_id
                if scanned and SECRETS not in decided:  # no trial, so the filter never saw it
                    task = tasks.get(one.task_id)
                    judged = aside.tried(identity, partial(flow.verdict, one, task))
                    if judged is None:
                        continue
                    one, decided[SECRETS] = judged
                found[identity], verdicts[identity] = one, decided
            tags = _tags(connection, list(found))
            injected = [
                identity for state in chunk if state.of(INJECTION) for identity in _named(state)
            ]
            nlls = surprisals(connection, injected)
            for state in chunk:
                own = found.get(state.trajectory_id)
                yield Scene(
                    state,
                    found,
                    verdicts,
                    None if own is None else tasks.get(own.task_id),
                    models,
                    tags,
                    nlls,
                )


def _named(state: TestState) -> Iterator[str]:
    yield state.trajectory_id
    for row in state.rows:
        yield from row.pos_ids
        yield from filter(None, (row.retry, row.clean_twin_id))


def _tags(connection: LedgerConnection, identities: list[str]) -> dict[str, float]:
    sql = (
        "SELECT subject_id, value FROM scores WHERE metric = ? AND value IS NOT NULL AND "
        "subject_id IN (SELECT unnest(?))"
    )
    return dict(connection.execute(sql, [OFF_POLICY, identities]).fetchall())
