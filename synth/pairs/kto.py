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

from synth.datasets.release import LABELLED_TURNS, Lineage, Refusal, may_leave
from synth.ledger.ledger import Ledger
from synth.pairs.experiments import CRITICAL_STEP, INJECTION, REPAIR, STEP_VALUE, Experiment
from synth.pairs.likelihood_bar import bar
from synth.pairs.report import KtoReport
from synth.pairs.rows import KtoRow
from synth.pairs.settings import LabelSettings
from synth.pairs.standing import Standings, standings
from synth.pairs.states import Scene, scenes
from synth.pairs.turns import (
    policy_name,
    prompt_digest,
    provenance_gap,
    template,
    tool_in_context,
    unlearnable,
)
from synth.schemas.pairs import KtoLabel
from synth.schemas.trajectory import Authorship, Trajectory
from synth.text.transcript.acts import act_digest

FLIP = "flip_deterministic"
_TENTHS = 10
_METRICS = (CRITICAL_STEP, STEP_VALUE, REPAIR, INJECTION)
Act = tuple[str, str]
"""(prompt digest, act digest)."""


class Found(msgspec.Struct, frozen=True):
    """A turn with its verdict, the rate and count that it stands on, and who wrote it."""

    trajectory: Trajectory
    turn: int
    desirable: bool
    q: float
    n: int
    row: Experiment
    policy: str
    authorship: Authorship


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
    known = standings(ledger)
    matched = _matched(ledger, settings, known, report)
    for act, row in _labels(ledger, settings, known, KtoReport()):
        by = matched.get(act)
        if by is not None and by[0] == (row.label.trajectory_id, row.label.turn):
            yield KtoRow(
                msgspec.structs.replace(row.label, matched_by=by[1] or None), row.trajectory
            )


def _matched(
    ledger: Ledger, settings: LabelSettings, known: Standings, report: KtoReport
) -> dict[Act, tuple[tuple[str, int], str]]:
    """Acts that are taken -> where they are recorded, and by what a negative is matched; fills the
    report.
    """
    entries: dict[Act, _Entry] = {}
    contradicted: set[Act] = set()
    for act, row in _labels(ledger, settings, known, report):
        label = row.label
        entry = _Entry(label.desirable, label.stratum, (label.trajectory_id, label.turn))
        if act in entries:
            report.left_out[
                "duplicate" if entries[act].desirable is label.desirable else "contradicted"
            ] += 1
            if entries[act].desirable is not label.desirable:
                contradicted.add(act)
        elif act not in contradicted:
            entries[act] = entry
    for act in contradicted:
        report.left_out["contradicted"] += 1
        del entries[act]
    prompts = {prompt for (prompt, _), entry in entries.items() if entry.desirable}
    strata = {entry.stratum for entry in entries.values() if entry.desirable}
    taken: dict[Act, tuple[tuple[str, int], str]] = {}
    for (prompt, digest), entry in entries.items():
        by = (
            ""
            if entry.desirable
            else "prompt"
            if prompt in prompts
            else "stratum"
            if entry.stratum in strata
            else None
        )
        if by is None:
            report.left_out["no_positive_at_such_a_state"] += 1
            continue
        taken[prompt, digest] = (entry.place, by)
        report.desirable += entry.desirable
        report.undesirable += not entry.desirable
        report.strata[entry.stratum] += 1
        if by:
            report.matched[by] += 1
    return taken


def _labels(
    ledger: Ledger, settings: LabelSettings, known: Standings, report: KtoReport
) -> Iterator[tuple[Act, KtoRow]]:
    for scene in scenes(ledger, _METRICS, report.aside):
        own = scene.own
        if own is None:
            report.left_out["trajectory_lost"] += 1
            continue
        acts = report.aside.all_of(own.trajectory_id, partial(_found, scene, own, settings, known))
        for found in acts:
            made = report.aside.tried(
                own.trajectory_id, partial(_made, found, own, scene, settings, known)
            )
            if isinstance(made, tuple):
                yield made
            else:
                report.leaves(made)


def _made(
    found: Found, own: Trajectory, scene: Scene, settings: LabelSettings, known: Standings
) -> tuple[Act, KtoRow] | Refusal | str:
    reason = _refused(found, own, scene, settings, known)
    if reason is not None:
        return reason
    act = (
        prompt_digest(found.trajectory, found.turn),
        act_digest(found.trajectory.turns[found.turn]),
    )
    return act, _row(found, own, scene, known)


def _found(
    scene: Scene, own: Trajectory, settings: LabelSettings, known: Standings
) -> Iterator[Found]:
    """Acts whose tests say what they are worth: confirmed losers, and acts that pass at least as
    often as the task's trials do.
    """
    turn, standing = scene.state.turn, known.of(own.task_id, policy_name(own))
    by_itself = (policy_name(own), own.authorship)
    tests = [*scene.state.of(CRITICAL_STEP), *scene.state.of(REPAIR)]
    losses = [
        row
        for row in (*tests, *scene.state.of(INJECTION))
        if row.confirmed and row.q_neg is not None
    ]
    if losses:
        row = max(losses, key=lambda one: one.n_neg)
        yield Found(own, turn, False, row.q_neg or 0.0, row.n_neg, row, *by_itself)
    rate = None if standing is None else standing.rate
    method = next((row.method for row in tests), "")
    for row in scene.state.of(STEP_VALUE):
        good = (
            row.value is not None
            and rate is not None
            and row.value >= rate
            and _enough(row.n, method, settings)
        )
        if good and not losses and row.act == row.own:
            yield Found(
                own,
                turn,
                True,
                row.value or 0.0,
                row.n,
                msgspec.structs.replace(row, method=method),
                *by_itself,
            )
    for row in tests:
        solved = scene.solved(row)
        good = (
            row.q_pos is not None
            and rate is not None
            and row.q_pos >= rate
            and _enough(row.n_pos, row.method, settings)
        )
        if good and solved is not None and (row.confirmed or row.status == "rejected"):
            yield Found(
                solved, turn, True, row.q_pos or 0.0, row.n_pos, row, *scene.author(row, own)
            )


def _enough(n: int, method: str, settings: LabelSettings) -> bool:
    return n >= settings.fewest or (method == FLIP and n > 0)


def _refused(
    found: Found, own: Trajectory, scene: Scene, settings: LabelSettings, known: Standings
) -> Refusal | str | None:
    one, turn = found.trajectory, found.trajectory.turns[found.turn]
    lineage = Lineage(one, (found.authorship,), continuation=one is not own)
    refusal = may_leave(lineage, scene.verdicts[one.trajectory_id], LABELLED_TURNS, settings)
    if refusal is not None:
        return refusal
    if (reason := unlearnable(turn)) is not None:
        return reason
    if found.desirable:
        gap = provenance_gap(one, found.turn)
        return None if gap is None else f"positive_{gap}"
    if found.row.metric == INJECTION:
        twin = scene.trajectories.get(found.row.clean_twin_id)
        if twin is None or found.turn >= len(twin.turns):
            return "trajectory_lost"
        if (reason := bar(twin, one, found.turn, scene.surprisals, settings.student)) is not None:
            return f"injection_{reason}"
    standing = known.of(one.task_id, policy_name(one))
    if standing is not None and not standing.successes and one.task_id not in known.solvable:
        return "all_fail_not_proven_solvable"
    return None


def _row(found: Found, own: Trajectory, scene: Scene, known: Standings) -> KtoRow:
    one, standing = found.trajectory, known.of(own.task_id, policy_name(own))
    kind = template(scene.task, own.env)
    tenth = _TENTHS * scene.state.turn // len(own.turns)
    label = KtoLabel(
        trajectory_id=one.trajectory_id,
        turn=found.turn,
        desirable=found.desirable,
        stratum=f"{kind}|{tool_in_context(own, scene.state.turn)}|{tenth}",
        q=found.q,
        n=found.n,
        method=found.row.method,
        task_rate=None if standing is None else standing.rate,
        source=found.row.metric,
        policy=found.policy,
        authorship=found.authorship,
        on_policy_for=found.row.on_policy_for,
        task_id=own.task_id,
        template=kind,
        gold_informed=one.gold_informed or own.gold_informed,
        benchmark=one.benchmark,
        split=one.split,
    )
    return KtoRow(label, one)
