"""KTO labels: single turns called desirable or not, every undesirable one beside a desirable one at
the same kind of state.

KTO's reference point is estimated from mismatched completions of a batch (arXiv 2402.01306):
positives and negatives from different kinds of states would teach the kind of state. So an act is
desirable only where a test preferred it to another one at the same state, and a negative without a
positive of its prompt or stratum is left out.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import msgspec
import polars as pl
from msgspec.structs import replace

from synth.datasets.release import Why
from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from synth.pairs.experiments import CRITICAL_STEP, INJECTION, REPAIR, STEP_VALUE, bar
from synth.pairs.labels import KtoReport, LabelSettings, TurnRow
from synth.pairs.pair_act import PairAct
from synth.pairs.scenes import Scene, made_at_scenes
from synth.pairs.turns import (
    policy_name,
    prompt_digest,
    provenance_gap,
    template,
    tool_in_context,
    unlearnable,
)
from synth.schemas import KtoLabel, Trajectory

FLIP = "flip_deterministic"
_TENTHS = 10
_METRICS = (CRITICAL_STEP, STEP_VALUE, REPAIR, INJECTION)
KtoRow = TurnRow[KtoLabel]
Act = tuple[str, str, KtoRow]
"""The digests of a prompt and of the act after it, and the label."""
_ACT = ("prompt", "act")
_TRIALS = """
SELECT task_id, coalesce(model, policy),
  count(DISTINCT slot_id) FILTER (outcome = 'success') / count(DISTINCT slot_id)
FROM trajectories WHERE synthesizer IN ('rollout', 'import') AND parent_id IS NULL
  AND outcome IN ('success', 'failure', 'truncated')
GROUP BY ALL
"""
_SOLVED = """
SELECT DISTINCT task_id FROM trajectories
WHERE outcome = 'success' AND parent_id IS NULL AND guidance IS NULL AND NOT gold_informed
UNION SELECT task_id FROM tasks WHERE json_extract_string(difficulty, '$.tests.T8.passed') = 'true'
"""


class PassRates(msgspec.Struct, frozen=True):
    """How often base trials pass, by task and policy; `solvable` tasks have passed test T8 (the
    expert solves them from their goal), or were solved from their beginning by somebody who knew
    neither gold nor guidance.
    """

    rates: Mapping[tuple[str, str], float]
    solvable: frozenset[str]

    def of(self, trial: Trajectory) -> float | None:
        """Of the trials of its policy; None where there are none."""
        return self.rates.get((trial.task_id, policy_name(trial)))


def kto_labels(
    ledger: StoredLedger, settings: LabelSettings | None = None, report: KtoReport | None = None
) -> Iterator[KtoRow]:
    """The labels to train on; `report` is whole before the first is given. The ledger is read
    twice, hundred states in memory at a time.
    """
    settings = settings or LabelSettings()
    report = KtoReport() if report is None else report

    with connect(ledger) as connection:
        trials = connection.execute(_TRIALS).fetchall()
        solved = connection.execute(_SOLVED).fetchall()

    rates = {(task, policy): rate for task, policy, rate in trials}
    known = PassRates(rates, frozenset(task for (task,) in solved))
    # the first reading decides, so that the second can give rows one at a time
    matched = _matched(_labels(ledger, settings, known, report), report)

    # counted already: the second reading has a report of its own
    for place, (*_, row) in enumerate(_labels(ledger, settings, known, KtoReport())):
        if (by := matched.get(place)) is not None:
            yield KtoRow(replace(row.label, matched_by=by or None), row.trajectory)


def _matched(labels: Iterator[Act], report: KtoReport) -> dict[int, str]:
    """The labels that are taken, by their places, and by what a negative is matched ("": a
    positive); fills the report.
    """
    # a few hundred bytes of each label
    told = [(*act, row.label.desirable, row.label.stratum) for *act, row in labels]
    if not told:
        return {}

    acts = pl.DataFrame(told, schema=(*_ACT, "desirable", "stratum"), orient="row")
    acts = acts.with_row_index("place").with_columns(left_out=_repeated())
    kept = acts.filter(pl.col("left_out").is_null()).with_columns(by=_beside())
    taken = kept.drop_nulls("by")

    # whatever is left out is counted under the reason that holds first
    report.left_out.update(acts["left_out"].drop_nulls())
    report.left_out.update(["no_positive_at_such_a_state"] * kept["by"].null_count())
    report.desirable += taken.filter("desirable").height
    report.undesirable += taken.height - report.desirable
    report.strata.update(taken["stratum"])
    report.matched.update(filter(None, taken["by"]))

    return dict(taken.select("place", "by").iter_rows())


def _repeated() -> pl.Expr:
    """Why an act is left out that was found more than once: where all say the same of it, all but
    the first.
    """
    good = pl.col("desirable")
    again = (pl.int_range(pl.len()) > 0).over(_ACT)
    unlike = (good != good.first()).over(_ACT)
    contradicted = (good.n_unique() > 1).over(_ACT)

    return (
        pl.when(again & ~unlike)
        .then(pl.lit("duplicate"))
        .when(contradicted)
        .then(pl.lit("contradicted"))
    )


def _beside() -> pl.Expr:
    """What a negative shares with a positive; "" of positives."""
    good = pl.col("desirable")
    return (
        pl.when(good)
        .then(pl.lit(""))
        .when(good.any().over("prompt"))
        .then(pl.lit("prompt"))
        .when(good.any().over("stratum"))
        .then(pl.lit("stratum"))
    )


def _labels(
    ledger: StoredLedger, settings: LabelSettings, known: PassRates, report: KtoReport
) -> Iterator[Act]:
    """Every label that the tests allow, each with the digests of its prompt and act."""
    make = partial(_made, settings=settings, known=known)
    return made_at_scenes(ledger, _METRICS, report, _acts, make)


def _acts(scene: Scene) -> Iterator[PairAct]:
    """Acts that a test at this very state set against another one there: the winner and the loser
    of a confirmed test; what a deterministic policy does itself where it passes and another act
    does not.

    A rate is never compared with that of the task: such a label would be one of states.
    """
    tests = scene.of(CRITICAL_STEP, REPAIR)
    # a weak or rejected test says nothing against the own act, nor for the other one
    lost = [row for row in (*tests, *scene.of(INJECTION)) if row.confirmed]
    flips = [row for row in tests if row.method == FLIP and (row.q_pos, row.q_neg) == (0.0, 1.0)]

    if lost:
        yield scene.own_act(max(lost, key=lambda one: one.n_neg), good=False)
    elif flips:
        yield scene.own_act(flips[0], good=True)

    for row in tests:
        better = scene.better(row) if row.confirmed else None
        if better is not None:
            yield better


def _made(act: PairAct, scene: Scene, settings: LabelSettings, known: PassRates) -> Act | Why:
    """The label, or why there is none."""
    one, own, turn = act.trajectory, scene.own, scene.turn
    # the weightiest reason first: whether it may leave, whether it can be learnt
    refusal = scene.refusal(one, (act.authorship,), settings)
    reason = refusal or unlearnable(act.recorded)
    if reason is not None:
        return reason

    reason = _unproven(act, scene, settings, known)
    if reason is not None:
        return reason

    kind = template(scene.task, own.env)
    # the state is the trial's, whichever run the act was recorded in
    told = act.told() | {
        "gold_informed": one.gold_informed or own.gold_informed,
        "task_id": own.task_id,
        "desirable": bool(act.good),
        "stratum": f"{kind}|{tool_in_context(own, turn)}|{_TENTHS * turn // len(own.turns)}",
        "task_rate": known.of(own),
        "template": kind,
    }

    return prompt_digest(one, turn), act.digest, KtoRow(KtoLabel(**told), one)


def _unproven(act: PairAct, scene: Scene, settings: LabelSettings, known: PassRates) -> str | None:
    """Why an act cannot be called desirable, or undesirable, whatever its counts."""
    one = act.trajectory
    if act.good:
        gap = provenance_gap(one, act.turn)
        return None if gap is None else f"positive_{gap}"

    if act.row.metric == INJECTION:
        twin = scene.better(act.row)
        if twin is None:
            return "trajectory_lost"

        unlikely = bar(twin.trajectory, one, act.turn, scene.surprisals, settings.student)
        if unlikely is not None:
            return f"injection_{unlikely}"

    # where nobody ever passes, an act that failed may have been as good as any
    hopeless = known.of(one) == 0 and one.task_id not in known.solvable
    return "all_fail_not_proven_solvable" if hopeless else None
