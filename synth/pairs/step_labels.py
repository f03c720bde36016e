"""Step labels for process reward models, by tier of evidence, with Monte-Carlo values beside the
hard labels.
"""

import re
from collections.abc import Iterator
from functools import partial

import msgspec
from msgspec.structs import replace

from synth.datasets.release import LABELLED_TURNS, Lineage, may_leave
from synth.ledger.decisions import with_decisions
from synth.ledger.ledger import Ledger
from synth.ledger.views import LedgerConnection, connect
from synth.loss_turns import EVIDENCE
from synth.pairs.experiments import CRITICAL_STEP, INJECTION, REPAIR, STEP_VALUE
from synth.pairs.labels import LabelSettings, StepReport, TurnRow
from synth.pairs.states import PairAct, Scene, scenes
from synth.pairs.turns import policy_name
from synth.schemas.pairs import PrmLabel, Tier
from synth.schemas.trajectory import SampledBy, Trajectory, Turn
from synth.text.provenance.effect import effectful_by_name

PROCESS, STATE = "process", "state"
POLICY_BREACH, PROTECTED_WRITE = "policy_breach", "protected_write"
_BREACH = re.compile(r"^(\S+) in turn (\d+): ")
_PROTECTED = re.compile(r"^changed although protected: ([^/]+)/([^/]+)/(.+)$")


class BlamedStep(msgspec.Struct, frozen=True):
    """A turn and the rule that it broke; `turn` None where the evidence does not single one out."""

    turn: int | None
    rule: str


def blamed(trajectory: Trajectory) -> Iterator[BlamedStep]:
    """The turns that the parts of the check name: `RULE in turn N: ...` of a broken process, and
    the only write that can have changed a
    protected row. A turn that the policy did not take is never blamed.
    """
    parts = trajectory.check_result.parts if trajectory.check_result is not None else ()
    seen: set[BlamedStep] = set()
    for part in parts:
        if part.passed:
            continue
        for line in part.evidence:
            found = _read(trajectory, line)
            if found is not None and found not in seen:
                seen.add(found)
                yield found


def _read(trajectory: Trajectory, line: str) -> BlamedStep | None:
    breach = _BREACH.match(line)
    if breach is not None:
        turn, rule = int(breach.group(2)), f"{POLICY_BREACH}:{breach.group(1)}"
        own = turn < len(trajectory.turns) and _own(trajectory.turns[turn])
        return BlamedStep(turn if own else None, rule)
    protected = _PROTECTED.match(line)
    if protected is None:
        return None
    return BlamedStep(
        _writer(trajectory, protected.group(2)), f"{PROTECTED_WRITE}:{protected.group(1)}"
    )


def _writer(trajectory: Trajectory, key: str) -> int | None:
    """The one own turn that changed the state by an effectful call that was not refused; of
    several, the one that names the row.
    """
    writes = [turn for turn in trajectory.turns if _own(turn) and _wrote(trajectory, turn)]
    naming = [
        turn for turn in writes if any(f'"{key}"' in call.arguments for call in turn.tool_calls)
    ]
    found = naming or writes
    return found[0].index if len(found) == 1 else None


def _own(turn: Turn) -> bool:
    return turn.sampled_by is SampledBy.POLICY and turn.injected is None


def _wrote(trajectory: Trajectory, turn: Turn) -> bool:
    before = (
        trajectory.turns[turn.index - 1].state_key if turn.index else trajectory.opening_state_key
    )
    changed = turn.state_key is None or turn.state_key != before
    refused = bool(turn.observations) and all(seen.error for seen in turn.observations)
    return changed and not refused and any(effectful_by_name(call.name) for call in turn.tool_calls)


_TESTS = (CRITICAL_STEP, REPAIR, INJECTION)
STATISTICAL = ("decisive_drop",)
"""Metrics of `topology` about single turns: proposals, never hard labels."""


StepRow = TurnRow[PrmLabel]


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
        for trajectory, verdicts in with_decisions(ledger, report.aside):
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
    for scene in scenes(ledger, (*_TESTS, STEP_VALUE), report.aside):
        own = scene.own
        if own is None:
            report.left_out["trajectory_lost"] += 1
            continue
        seen: set[str] = set()
        for act in report.aside.all_of(own.trajectory_id, partial(_acts, scene, own)):
            refusal = scene.refusal(act.trajectory, (act.authorship,), own, settings)
            if not report.leaves(refusal or ("duplicate" if act.digest in seen else None)):
                seen.add(act.digest)
                passed = round(act.q * act.n)
                label = PrmLabel(
                    **act.told(), tier=Tier.INTERVENTIONAL, label=act.good, successes=passed
                )
                yield StepRow(label, act.trajectory)


def _acts(scene: Scene, own: Trajectory) -> Iterator[PairAct]:
    """The own act by all its continuations, then the others; one that a test decided before one
    that only was continued.
    """
    tests = [row for metric in _TESTS for row in scene.state.of(metric)]
    counted = [
        (row.value, row.n, row)
        for row in scene.state.of(STEP_VALUE)
        if row.act == row.own and row.value is not None
    ] or [(row.q_neg, row.n_neg, row) for row in tests if row.q_neg is not None]
    if counted:
        q, n, row = max(counted, key=lambda found: found[1])
        method = next((test.method for test in tests), row.method)
        lost = False if any(test.confirmed for test in tests) else None
        yield scene.own_act(replace(row, method=method), own, q or 0.0, n, lost)
    among = (row for row in scene.state.rows if row in tests and row.q_pos is not None)
    for row in sorted(among, key=lambda row: not row.confirmed):
        better = scene.better(row, own)
        if better is not None:
            yield better


def _gold(trajectory: Trajectory, report: StepReport) -> Iterator[PrmLabel]:
    for found in blamed(trajectory):
        if found.turn is not None and found.turn < (trajectory.pivot_turn or 0):
            continue  # of a turn that another trajectory took
        if found.turn is None:
            report.left_out[f"not_located:{found.rule.partition(':')[0]}"] += 1
        else:
            yield _of(trajectory, found.turn, Tier.GOLD_RULE, "check", found.rule, label=False)


def _statistical(connection: LedgerConnection, trajectory: Trajectory) -> Iterator[PrmLabel]:
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
) -> PrmLabel:
    return PrmLabel(
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
