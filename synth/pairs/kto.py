"""KTO labels: single turns called desirable or not, every undesirable one beside a desirable one at
the same kind of state.

KTO's reference point is estimated from mismatched completions of a batch (arXiv 2402.01306):
positives and negatives from different kinds
of states would teach the kind of state. So a negative without a positive of its prompt or stratum
is left out.
"""

from collections.abc import Iterator
from functools import partial

import msgspec

from synth.datasets.release import ReleaseRefusal
from synth.ledger.ledger import Ledger
from synth.ledger.views import connect
from synth.pairs.experiments import CRITICAL_STEP, INJECTION, REPAIR, STEP_VALUE, bar
from synth.pairs.labels import KtoReport, LabelSettings, TurnRow
from synth.pairs.states import PairAct, Scene, scenes
from synth.pairs.turns import (
    policy_name,
    prompt_digest,
    provenance_gap,
    template,
    tool_in_context,
    unlearnable,
)
from synth.schemas.pairs import KtoLabel
from synth.schemas.trajectory import Trajectory

FLIP = "flip_deterministic"
_TENTHS = 10
_METRICS = (CRITICAL_STEP, STEP_VALUE, REPAIR, INJECTION)
Digests = tuple[str, str]
"""Of a prompt and of an act after it."""
KtoRow = TurnRow[KtoLabel]
_TRIALS = """
SELECT task_id, coalesce(model, policy), count(DISTINCT slot_id) FILTER (outcome = 'success') / count(DISTINCT slot_id)
FROM trajectories WHERE synthesizer IN ('rollout', 'import') AND parent_id IS NULL AND outcome IN ('success', 'failure', 'truncated')
GROUP BY ALL
"""
_SOLVED = """
SELECT DISTINCT task_id FROM trajectories
WHERE outcome = 'success' AND parent_id IS NULL AND guidance IS NULL AND NOT gold_informed
UNION SELECT task_id FROM tasks WHERE json_extract_string(difficulty, '$.tests.T8.passed') = 'true'
"""


class Standings(msgspec.Struct, frozen=True):
    """How often base trials pass, by task and policy; `solvable` tasks have passed test T8 (the
    expert solves them from their goal), or were solved from their beginning by somebody who knew
    neither gold nor guidance.
    """

    rates: dict[tuple[str, str], float]
    solvable: frozenset[str]

    @classmethod
    def of(cls, ledger: Ledger) -> "Standings":
        """Of all tasks of the current flow."""
        with connect(ledger) as connection:
            trials = connection.execute(_TRIALS).fetchall()
            solved = connection.execute(_SOLVED).fetchall()
        rates = {(task, policy): rate for task, policy, rate in trials}
        return cls(rates, frozenset(task for (task,) in solved))

    def rate(self, trial: Trajectory) -> float | None:
        """Of the trials of its policy; None where there are none."""
        return self.rates.get((trial.task_id, policy_name(trial)))


class _Entry(msgspec.Struct, frozen=True):
    """What the first reading remembers of an act."""

    desirable: bool
    stratum: str
    place: tuple[str, int]


def kto_labels(
    ledger: Ledger, settings: LabelSettings | None = None, report: KtoReport | None = None
) -> Iterator[KtoRow]:
    """The labels to train on; `report` is whole before the first is given. The ledger is read
    twice, hundred states in memory at a time.
    """
    settings = settings or LabelSettings()
    report = KtoReport() if report is None else report
    known = Standings.of(ledger)
    matched = _matched(ledger, settings, known, report)
    for act, row in _labels(ledger, settings, known, KtoReport()):
        place, by = matched.get(act, (None, ""))
        if place == (row.label.trajectory_id, row.label.turn):
            label = msgspec.structs.replace(row.label, matched_by=by or None)
            yield KtoRow(label, row.trajectory)


def _matched(
    ledger: Ledger, settings: LabelSettings, known: Standings, report: KtoReport
) -> dict[Digests, tuple[tuple[str, int], str]]:
    """Acts that are taken -> where they are recorded, and by what a negative is matched; fills the
    report.
    """
    entries: dict[Digests, _Entry] = {}
    contradicted: set[Digests] = set()
    for act, row in _labels(ledger, settings, known, report):
        label = row.label
        entry = _Entry(label.desirable, label.stratum, (label.trajectory_id, label.turn))
        if act in entries:
            alike = entries[act].desirable is label.desirable
            report.left_out["duplicate" if alike else "contradicted"] += 1
            contradicted |= set() if alike else {act}
        else:
            entries[act] = entry
    for act in contradicted:
        report.left_out["contradicted"] += 1
        del entries[act]
    prompts = {prompt for (prompt, _), entry in entries.items() if entry.desirable}
    strata = {entry.stratum for entry in entries.values() if entry.desirable}
    taken: dict[Digests, tuple[tuple[str, int], str]] = {}
    for (prompt, digest), entry in entries.items():
        by = "prompt" if prompt in prompts else "stratum" if entry.stratum in strata else None
        by = "" if entry.desirable else by
        if by is None:
            report.left_out["no_positive_at_such_a_state"] += 1
            continue
        taken[prompt, digest] = (entry.place, by)
        report.desirable += entry.desirable
        report.undesirable += not entry.desirable
        report.strata[entry.stratum] += 1
        report.matched.update([by] if by else ())
    return taken


def _labels(
    ledger: Ledger, settings: LabelSettings, known: Standings, report: KtoReport
) -> Iterator[tuple[Digests, KtoRow]]:
    for scene in scenes(ledger, _METRICS, report.aside):
        own = scene.own
        if own is None:
            report.left_out["trajectory_lost"] += 1
            continue
        identity, rate = own.trajectory_id, known.rate(own)
        for act in report.aside.all_of(identity, partial(_acts, scene, own, settings, rate)):
            made = partial(_made, act, own, scene, settings, known)
            found = report.aside.tried(identity, made)
            if isinstance(found, tuple):
                yield found
            else:
                report.leaves(found)


def _acts(
    scene: Scene, own: Trajectory, settings: LabelSettings, rate: float | None
) -> Iterator[PairAct]:
    """Acts whose tests say what they are worth: confirmed losers, and acts that pass at least as
    often as the task's trials do.
    """

    def good(q: float | None, n: int, method: str) -> bool:
        enough = n >= settings.fewest or (method == FLIP and n > 0)
        return q is not None and rate is not None and q >= rate and enough

    tests = [*scene.state.of(CRITICAL_STEP), *scene.state.of(REPAIR)]
    lost = [row for row in (*tests, *scene.state.of(INJECTION)) if row.confirmed]
    losses = [row for row in lost if row.q_neg is not None]
    if losses:
        row = max(losses, key=lambda one: one.n_neg)
        yield scene.own_act(row, own, row.q_neg or 0.0, row.n_neg, good=False)
    method = next((row.method for row in tests), "")
    for row in scene.state.of(STEP_VALUE):
        if good(row.value, row.n, method) and not losses and row.act == row.own:
            told = msgspec.structs.replace(row, method=method)
            yield scene.own_act(told, own, row.value or 0.0, row.n, good=True)
    for row in tests:
        better = scene.better(row, own)
        decided = row.confirmed or row.status == "rejected"
        if good(row.q_pos, row.n_pos, row.method) and better is not None and decided:
            yield msgspec.structs.replace(better, good=True)


def _made(
    act: PairAct, own: Trajectory, scene: Scene, settings: LabelSettings, known: Standings
) -> tuple[Digests, KtoRow] | ReleaseRefusal | str:
    """The label, or why there is none."""
    one = act.trajectory
    refusal = scene.refusal(one, (act.authorship,), own, settings)
    reason = refusal or unlearnable(act.recorded)
    if reason is not None:
        return reason
    if act.good:
        gap = provenance_gap(one, act.turn)
        if gap is not None:
            return f"positive_{gap}"
    else:
        if act.row.metric == INJECTION:
            twin = scene.better(act.row, own)
            if twin is None:
                return "trajectory_lost"
            unlikely = bar(twin.trajectory, one, act.turn, scene.surprisals, settings.student)
            if unlikely is not None:
                return f"injection_{unlikely}"
        if known.rate(one) == 0 and one.task_id not in known.solvable:
            return "all_fail_not_proven_solvable"
    kind, turn = template(scene.task, own.env), scene.state.turn
    told = act.told() | {"gold_informed": one.gold_informed or own.gold_informed}
    label = KtoLabel(
        **told | {"task_id": own.task_id},
        desirable=bool(act.good),
        stratum=f"{kind}|{tool_in_context(own, turn)}|{_TENTHS * turn // len(own.turns)}",
        task_rate=known.rate(own),
        template=kind,
    )
    return (prompt_digest(one, act.turn), act.digest), KtoRow(label, one)
