"""States beside the trajectories that their rows name, a hundred states in memory at a time."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import msgspec

from synth.datasets.release import LABELLED_TURNS, Lineage, ReleaseRefusal, may_leave
from synth.ledger.decisions import decision_order, has_decided, with_verdicts
from synth.ledger.flow_scan import SECRETS, FlowScan
from synth.ledger.ledger import Ledger
from synth.ledger.views import LedgerConnection, connect
from synth.pairs.experiments import (
    CHUNK,
    INJECTION,
    OFF_POLICY,
    REPAIR,
    Experiment,
    Surprisals,
    TestState,
    states,
    surprisals,
)
from synth.pairs.turns import policy_name
from synth.schemas.outcome import Outcome
from synth.schemas.release import Release
from synth.schemas.task import Task
from synth.schemas.trajectory import Authorship, Trajectory, Turn
from synth.schemas.verdict import Verdict
from synth.set_aside import SetAside
from synth.text.transcript.acts import act_digest

EXPERT = "expert"


class PairAct(msgspec.Struct, frozen=True):
    """A turn of a recorded trajectory, who wrote it, and the row that tells of it: `q` of `n`
    continuations after it passed; `good`: what a test decided, None where none did.
    """

    trajectory: Trajectory
    turn: int
    policy: str
    authorship: Authorship
    row: Experiment
    q: float = 0.0
    n: int = 0
    good: bool | None = None

    @property
    def recorded(self) -> Turn:
        return self.trajectory.turns[self.turn]

    @property
    def digest(self) -> str:
        return act_digest(self.recorded)

    def told(self) -> dict[str, Any]:
        """What labels of turns have alike."""
        one, row = self.trajectory, self.row
        return dict(
            trajectory_id=one.trajectory_id,
            turn=self.turn,
            source=row.metric,
            q=self.q,
            n=self.n,
            method=row.method,
            on_policy_for=row.on_policy_for,
            policy=self.policy,
            authorship=self.authorship,
            task_id=one.task_id,
            gold_informed=one.gold_informed,
            benchmark=one.benchmark,
            split=one.split,
        )


class Scene(msgspec.Struct, frozen=True):
    """A state, the trajectories that its rows name, whatever flow played them, their verdicts by
    filter, and the task.

    `models`: the flow's models by role. `tags`: retry -> 1 where the unguided policy never did in
    its samples what the retry does at its pivot, 0 where it did, nothing where that is not known.
    `surprisals`: what students make of what injections name.
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
        return self._with_turn(self.state.trajectory_id)

    def own_act(
        self, row: Experiment, own: Trajectory, q: float = 0.0, n: int = 0, good: bool | None = None
    ) -> PairAct:
        """What the trajectory of the state itself did there."""
        return PairAct(own, self.state.turn, policy_name(own), own.authorship, row, q, n, good)

    def better(self, row: Experiment, own: Trajectory) -> PairAct | None:
        """A row's better act: the clean twin's of an injection, else that of the first of its
        counted continuations that passed, with the policy that proposed it; corrections come from
        the world's expert. None where it is lost.
        """
        if row.metric == INJECTION:
            one = self._with_turn(row.clean_twin_id)
            by = None if one is None else (policy_name(one), one.authorship)
        else:
            known = filter(None, map(self._with_turn, row.pos_ids))
            one = next((one for one in known if one.outcome is Outcome.SUCCESS), None)
            source = row.alternative_from
            who = policy_name(own) if source == own.role else self.models.get(source, source)
            by = (who, Authorship(row.alternative_authorship))
            by = (EXPERT, Authorship.SCRIPTED) if row.metric == REPAIR else by
        if one is None or by is None:
            return None
        good = True if row.confirmed else None
        return PairAct(one, self.state.turn, *by, row, row.q_pos or 0.0, row.n_pos, good)

    def refusal(
        self, one: Trajectory, authors: tuple[Authorship, ...], own: Trajectory, release: Release
    ) -> ReleaseRefusal | None:
        """Why the release rule keeps here what descends from a trajectory of the scene."""
        lineage = Lineage(one, authors, continuation=one is not own)
        return may_leave(lineage, self.verdicts[one.trajectory_id], LABELLED_TURNS, release)

    def _with_turn(self, identity: str) -> Trajectory | None:
        found = self.trajectories.get(identity)
        return found if found is not None and self.state.turn < len(found.turns) else None


def scenes(ledger: Ledger, metrics: Sequence[str], aside: SetAside) -> Iterator[Scene]:
    """Every state with such rows; trajectories as they may leave the machine, secrets taken out,
    and those that cannot be left out.
    """
    given = (ledger.state.flow or {}).get("models") or {}
    models = {name: str(role["model"]) for name, role in given.items() if role.get("model")}
    flow, order = FlowScan(ledger), decision_order(ledger)
    with connect(ledger) as connection:
        scanned = has_decided(connection, SECRETS)
        waiting = states(ledger, connection, metrics, aside)
        while chunk := list(islice(waiting, CHUNK)):
            wanted = {identity for state in chunk for identity in _named(state)}
            read = list(ledger.trajectories(wanted, every=True))
            tasks = ledger.tasks({one.task_id for one in read}, every=True)
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
                task = None if own is None else tasks.get(own.task_id)
                yield Scene(state, found, verdicts, task, models, tags, nlls)


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
