"""Step labels for process reward models, by tier of evidence, with Monte-Carlo values beside the
hard labels.
"""

from collections.abc import Iterator
from functools import partial

import msgspec

from synth.datasets.release import LABELLED_TURNS, Lineage, may_leave
from synth.ledger.decided import decided
from synth.ledger.ledger import Ledger
from synth.ledger.views import LedgerConnection, connect
from synth.loss_turns import EVIDENCE
from synth.pairs.experiments import CRITICAL_STEP, INJECTION, REPAIR, STEP_VALUE, Experiment
from synth.pairs.gold_rules import blamed
from synth.pairs.report import StepReport
from synth.pairs.rows import StepRow
from synth.pairs.settings import LabelSettings
from synth.pairs.states import Scene, scenes
from synth.pairs.turns import policy_name
from synth.schemas.pairs import StepLabel, Tier
from synth.schemas.trajectory import Authorship, Trajectory
from synth.text.transcript.acts import act_digest

STATISTICAL = ("decisive_drop",)
"""Metrics of `topology` about single turns: proposals, never hard labels."""


class Act(msgspec.Struct, frozen=True):
    """A turn with what its continuations came to; `label` None where no test decided it."""

    trajectory: Trajectory
    turn: int
    label: bool | None
    q: float
    n: int
    policy: str
    authorship: Authorship
    row: Experiment


def step_labels(
    ledger: Ledger, settings: LabelSettings | None = None, report: StepReport | None = None
) -> Iterator[StepRow]:
    """E1 (counted continuations), E2 (what the check blames), E3 (statistics, only with
    `include_statistical`); `report` fills meanwhile.

    Faults of the world are no labels of the step that received them, and a step that nothing was
    found out about has no label: null is
    not False. E2 and E3 are of trials, retries and imports, not of continuations. A trajectory is
    given with each of its labels.
    """
    settings = settings or LabelSettings()
    report = StepReport() if report is None else report
    for row in _every(ledger, settings, report):
        report.tiers[row.label.tier] += 1
        report.labels[row.label.tier, row.label.label] += 1
        yield row


def _every(ledger: Ledger, settings: LabelSettings, report: StepReport) -> Iterator[StepRow]:
    yield from _interventional(ledger, settings, report)
    with connect(ledger) as connection:
        for trajectory, verdicts in decided(ledger, report.aside):
            if trajectory.synthesizer in EVIDENCE:
                continue  # up to eight of one state: their breaches are one label many times
            refusal = may_leave(Lineage(trajectory), verdicts, LABELLED_TURNS, settings)
            gold = report.aside.all_of(trajectory.trajectory_id, partial(_gold, trajectory, report))
            found = [
                *gold,
                *(_statistical(connection, trajectory) if settings.include_statistical else ()),
            ]
            for label in found:
                if not report.leaves(refusal):
                    yield StepRow(label, trajectory)


def _interventional(
    ledger: Ledger, settings: LabelSettings, report: StepReport
) -> Iterator[StepRow]:
    for scene in scenes(ledger, (CRITICAL_STEP, STEP_VALUE, REPAIR, INJECTION), report.aside):
        own = scene.own
        if own is None:
            report.left_out["trajectory_lost"] += 1
            continue
        seen: set[str] = set()
        for act in report.aside.all_of(own.trajectory_id, partial(_acts, scene, own)):
            digest = act_digest(act.trajectory.turns[act.turn])
            one = act.trajectory
            lineage = Lineage(one, (act.authorship,), continuation=one is not own)
            verdicts = scene.verdicts[one.trajectory_id]
            refusal = may_leave(lineage, verdicts, LABELLED_TURNS, settings)
            if not report.leaves(refusal or ("duplicate" if digest in seen else None)):
                seen.add(digest)
                yield StepRow(_label(act), one)


def _acts(scene: Scene, own: Trajectory) -> Iterator[Act]:
    """The own act by all its continuations, then the others; one that a test decided before one
    that only was continued.
    """
    turn, rows = scene.state.turn, scene.state.rows
    tests = [*scene.state.of(CRITICAL_STEP), *scene.state.of(REPAIR), *scene.state.of(INJECTION)]
    lost = any(row.confirmed for row in tests)
    values = [
        row for row in scene.state.of(STEP_VALUE) if row.act == row.own and row.value is not None
    ]
    counted = [(row.value, row.n, row) for row in values] or [
        (row.q_neg, row.n_neg, row) for row in tests if row.q_neg is not None
    ]
    if counted:
        q, n, row = max(counted, key=lambda found: found[1])
        method = next((test.method for test in tests), row.method)
        told = msgspec.structs.replace(row, method=method)
        yield Act(
            own, turn, False if lost else None, q or 0.0, n, policy_name(own), own.authorship, told
        )
    for row in sorted((row for row in rows if row in tests), key=lambda row: not row.confirmed):
        other = (
            scene.trajectories.get(row.clean_twin_id)
            if row.metric == INJECTION
            else scene.solved(row)
        )
        if other is None or turn >= len(other.turns) or row.q_pos is None:
            continue
        author = (
            (policy_name(other), other.authorship)
            if row.metric == INJECTION
            else scene.author(row, own)
        )
        yield Act(other, turn, True if row.confirmed else None, row.q_pos, row.n_pos, *author, row)


def _label(act: Act) -> StepLabel:
    one = act.trajectory
    return StepLabel(
        trajectory_id=one.trajectory_id,
        turn=act.turn,
        tier=Tier.INTERVENTIONAL,
        source=act.row.metric,
        label=act.label,
        q=act.q,
        n=act.n,
        successes=round(act.q * act.n),
        method=act.row.method,
        on_policy_for=act.row.on_policy_for,
        policy=act.policy,
        authorship=act.authorship,
        task_id=one.task_id,
        gold_informed=one.gold_informed,
        benchmark=one.benchmark,
        split=one.split,
    )


def _gold(trajectory: Trajectory, report: StepReport) -> Iterator[StepLabel]:
    for found in blamed(trajectory):
        if found.turn is not None and found.turn < (trajectory.pivot_turn or 0):
            continue  # of a turn that another trajectory took
        if found.turn is None:
            report.left_out[f"not_located:{found.rule.partition(':')[0]}"] += 1
        else:
            yield _of(trajectory, found.turn, Tier.GOLD_RULE, "check", found.rule, label=False)


def _statistical(connection: LedgerConnection, trajectory: Trajectory) -> Iterator[StepLabel]:
    sql = (
        "SELECT turn, metric, value FROM scores WHERE subject_id = ? AND turn IS NOT NULL AND "
        "metric IN (SELECT unnest(?)) ORDER BY ALL"
    )
    for turn, metric, value in connection.execute(
        sql, [trajectory.trajectory_id, list(STATISTICAL)]
    ).fetchall():
        yield _of(trajectory, turn, Tier.STATISTICAL, "topology", metric, value=value)


def _of(
    trajectory: Trajectory,
    turn: int,
    tier: Tier,
    source: str,
    rule: str,
    *,
    label: bool | None = None,
    value: float | None = None,
) -> StepLabel:
    return StepLabel(
        trajectory_id=trajectory.trajectory_id,
        turn=turn,
        tier=tier,
        source=source,
        label=label,
        rule=rule,
        value=value,
        policy=policy_name(trajectory),
        authorship=trajectory.authorship,
        task_id=trajectory.task_id,
        gold_informed=trajectory.gold_informed,
        benchmark=trajectory.benchmark,
        split=trajectory.split,
    )
