"""Recorded states at which acts were tested, beside the trajectories that their rows name; a
hundred states in memory at a time.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TypeVar

import msgspec

from synth.datasets.release import LABELLED_TURNS, LeftOut, Lineage, ReleaseRefusal, Why, may_leave
from synth.ledger.decisions import decision_order, has_decided, with_verdicts
from synth.ledger.flow_scan import SECRETS, FlowScan
from synth.ledger.ledger import StoredLedger
from synth.ledger.views import LedgerConnection, connect
from synth.pairs.experiments import (
    INJECTION,
    REPAIR,
    STEP_VALUE,
    Experiment,
    Surprisals,
    experiments,
    surprisals,
)
from synth.pairs.pair_act import PairAct, counted
from synth.pairs.turns import policy_name
from synth.schemas import Authorship, Outcome, Release, Task, Trajectory, Verdict
from synth.set_aside import SetAside
from synth.text.transcript.acts import act_digest

F = TypeVar("F")
R = TypeVar("R")
EXPERT = "expert"
CHUNK = 100
"""States in memory at once."""
_PASSED = """SELECT trajectory_id FROM trajectories_all
    WHERE outcome = 'success' AND trajectory_id IN (SELECT unnest(?))"""
_TAGS = """SELECT subject_id, value FROM scores WHERE metric = 'off_policy_pivot'
    AND value IS NOT NULL AND subject_id IN (SELECT unnest(?))"""


class Scene(msgspec.Struct, frozen=True):
    """A turn of a trajectory (`own`) with the rows about acts there, the trajectories that these
    name, whatever flow played them, their verdicts by filter, and the task.

    `models`: the flow's models by role. `tags`: retry -> 1 where the unguided policy never did in
    its samples what the retry does at its pivot, 0 where it did, nothing where that is not known.
    `surprisals`: what students make of what injections name.
    """

    # the state, and what was found out about acts there
    own: Trajectory
    turn: int
    rows: Sequence[Experiment]
    # of all states of the chunk
    trajectories: Mapping[str, Trajectory]
    verdicts: Mapping[str, Mapping[str, Verdict]]
    # of the state's trajectory, None where the ledger has lost it
    task: Task | None
    models: Mapping[str, str]
    tags: Mapping[str, float]
    surprisals: Surprisals

    def of(self, *metrics: str) -> list[Experiment]:
        """The rows of these metrics, one metric after the other."""
        return [row for metric in metrics for row in self.rows if row.metric == metric]

    def own_act(self, row: Experiment, good: bool | None = None) -> PairAct:
        """What the trajectory of the state itself did there."""
        own = self.own
        valued = self.value_of(row.own or act_digest(own.turns[self.turn]))
        act = PairAct(own, self.turn, policy_name(own), own.authorship, row, good=good)
        return counted(act, valued, row.q_neg, row.n_neg)

    def value_of(self, digest: str) -> Experiment | None:
        """The row about the continuations of an act at this state; None where there is none."""
        rows = (row for row in self.of(STEP_VALUE) if row.act == digest)
        return max(rows, key=lambda row: row.n, default=None)

    def better(self, row: Experiment, *, passed: bool = True) -> PairAct | None:
        """A row's other act: the clean twin's of an injection, else that of the first of its
        counted continuations that passed (or of the first one), with the policy that proposed it;
        corrections come from the world's expert. None where it is lost.
        """
        # of an injection the clean run is the better one, whatever it came to
        injected, own = row.metric == INJECTION, self.own
        named = (row.clean_twin_id,) if injected else row.pos_ids

        for one in map(self.with_turn, named):
            if one is not None and (injected or not passed or one.outcome is Outcome.SUCCESS):
                break
        else:
            return None

        # a role that the flow names stands for its model
        source = row.alternative_from
        who = policy_name(own) if source == own.role else self.models.get(source, source)
        by = (who, Authorship(row.alternative_authorship))

        if injected:
            by = (policy_name(one), one.authorship)
        elif row.metric == REPAIR:
            by = (EXPERT, Authorship.SCRIPTED)

        act = PairAct(one, self.turn, *by, row, good=True if row.confirmed else None)
        return counted(act, self.value_of(row.alternative_digest), row.q_pos, row.n_pos)

    def refusal(
        self, one: Trajectory, authors: tuple[Authorship, ...], release: Release
    ) -> ReleaseRefusal | None:
        """Why the release rule keeps here what descends from a trajectory of the scene."""
        # of a copy of another trajectory one turn is learnt, and the same turn twice is found here
        lineage = Lineage(one, authors, continuation=True)
        return may_leave(lineage, self.verdicts[one.trajectory_id], LABELLED_TURNS, release)

    def with_turn(self, identity: str) -> Trajectory | None:
        """A trajectory that has the state's turn; None where it is lost or shorter."""
        return _with_turn(self.trajectories, identity, self.turn)


def scenes(ledger: StoredLedger, metrics: Sequence[str], report: LeftOut) -> Iterator[Scene]:
    """Every state with such rows whose trajectory is there; trajectories as they may leave the
    machine, secrets taken out, and those that cannot be left out.
    """
    # imports have no flow, and a role may be played without a model
    given = (ledger.state.flow or {}).get("models") or {}
    models = {name: str(role["model"]) for name, role in given.items() if role.get("model")}

    with connect(ledger) as connection:
        waiting = experiments(ledger, connection, metrics, report.aside)

        while chunk := _with_one_success(connection, list(islice(waiting, CHUNK))):
            read = list(ledger.trajectories(_named(chunk), every=True))
            tasks = ledger.tasks({one.task_id for one in read}, every=True)
            released = [*_released(ledger, connection, read, tasks, report.aside)]
            found = {one.trajectory_id: one for one, _ in released}
            verdicts = {one.trajectory_id: decided for one, decided in released}
            # what stands beside the trajectories, of this chunk alone
            tags = dict(connection.execute(_TAGS, [list(found)]).fetchall())
            # students have weighed many trajectories; those of injections are asked for
            injected = [rows for rows in chunk if any(row.metric == INJECTION for row in rows)]
            nlls = surprisals(connection, sorted(_named(injected)))

            for rows in chunk:
                turn = rows[0].turn
                own = _with_turn(found, rows[0].subject_id, turn)

                if own is None:
                    report.leaves("trajectory_lost")
                else:
                    task = tasks.get(own.task_id)
                    yield Scene(own, turn, rows, found, verdicts, task, models, tags, nlls)


def _with_one_success(
    connection: LedgerConnection, chunk: Sequence[Sequence[Experiment]]
) -> list[list[Experiment]]:
    """The rows with the first of their continuations that passed alone, or their first: more of
    them are not read, and most of what a ledger holds may be continuations.
    """
    every = sorted({one for rows in chunk for row in rows for one in row.pos_ids})
    passed = {one for (one,) in connection.execute(_PASSED, [every]).fetchall()}

    def first(row: Experiment) -> Experiment:
        found = next((one for one in row.pos_ids if one in passed), None)
        return msgspec.structs.replace(row, pos_ids=row.pos_ids[:1] if found is None else (found,))

    return [[first(row) for row in rows] for rows in chunk]


def made_at_scenes(
    ledger: StoredLedger,
    metrics: Sequence[str],
    report: LeftOut,
    find: Callable[[Scene], Iterable[F]],
    make: Callable[[F, Scene], R | Why],
) -> Iterator[R]:
    """What is made of all that is found at each state; the reasons why nothing is are counted."""
    for scene in scenes(ledger, metrics, report):
        identity = scene.own.trajectory_id

        for found in report.aside.all_of(identity, partial(find, scene)):
            made = report.made(identity, partial(make, found, scene))
            if made is not None:
                yield made


def _released(
    ledger: StoredLedger,
    connection: LedgerConnection,
    read: Sequence[Trajectory],
    tasks: Mapping[str, Task],
    aside: SetAside,
) -> Iterator[tuple[Trajectory, Mapping[str, Verdict]]]:
    """Trajectories with what filters have decided of them; what no filter saw is looked through as
    the flow's filter for secrets would.
    """
    # without such a filter in the flow nothing is looked for, here as elsewhere
    flow = FlowScan(ledger) if has_decided(connection, SECRETS) else None

    for one, decided in with_verdicts(connection, read, decision_order(ledger), aside):
        if flow is not None and SECRETS not in decided:
            scan = partial(flow.verdict, one, tasks.get(one.task_id))
            judged = aside.tried(one.trajectory_id, scan)
            if judged is None:
                continue

            one, decided[SECRETS] = judged

        yield one, decided


def _with_turn(found: Mapping[str, Trajectory], identity: str, turn: int) -> Trajectory | None:
    """A trajectory that has a turn, None where it is not there or ends before."""
    one = found.get(identity)
    return one if one is not None and turn < len(one.turns) else None


def _named(chunk: Sequence[Sequence[Experiment]]) -> set[str]:
    """All trajectories that rows tell of: their own, continuations, retries, clean twins."""
    return {
        identity
        for rows in chunk
        for row in rows
        for identity in (row.subject_id, *row.pos_ids, row.retry, row.clean_twin_id)
        if identity
    }
