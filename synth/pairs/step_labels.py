"""Step labels for process reward models, by tier of evidence, with Monte-Carlo values beside the
hard labels.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec
import polars as pl

from synth.datasets.release import LABELLED_TURNS, Lineage, Why, may_leave
from synth.ledger.decisions import with_decisions
from synth.ledger.ledger import StoredLedger
from synth.loss_turns import EVIDENCE
from synth.pairs.experiments import CRITICAL_STEP, INJECTION, REPAIR, STEP_VALUE
from synth.pairs.labels import LabelSettings, StepReport, TurnRow
from synth.pairs.pair_act import PairAct
from synth.pairs.scenes import Scene, scenes
from synth.pairs.turns import of_turn
from synth.schemas import PrmLabel, SampledBy, Tier, Trajectory, Turn
from synth.text.provenance.effect import effectful_by_name

POLICY_BREACH, PROTECTED_WRITE = "policy_breach", "protected_write"
_BREACH = re.compile(r"^(\S+) in turn (\d+): ")
_PROTECTED = re.compile(r"^changed although protected: ([^/]+)/([^/]+)/(.+)$")


class BlamedStep(msgspec.Struct, frozen=True):
    """A turn and the rule that it broke; `turn` None where the evidence does not single one out."""

    turn: int | None
    rule: str


def blamed(trajectory: Trajectory) -> Iterator[BlamedStep]:
    """The turns that the parts of the check name: `RULE in turn N: ...` of a broken process, and
    the only write that can have changed a protected row. A turn that the policy did not take is
    never blamed.
    """
    # several parts may name one turn for one rule
    parts = trajectory.check_result.parts if trajectory.check_result is not None else ()
    lines = [line for part in parts if part.passed is False for line in part.evidence]

    for found in dict.fromkeys(_read(trajectory, line) for line in lines):
        if found is not None:
            yield found


def _read(trajectory: Trajectory, line: str) -> BlamedStep | None:
    """What one line of evidence blames, None where it is written in neither way."""
    # a broken process is told with its turn, a protected row with its name alone
    if breach := _BREACH.match(line):
        rule, turn = breach[1], int(breach[2])
        own = turn < len(trajectory.turns) and _own(trajectory.turns[turn])

        return BlamedStep(turn if own else None, f"{POLICY_BREACH}:{rule}")

    if protected := _PROTECTED.match(line):
        table, key = protected[1], protected[2]

        return BlamedStep(_writer(trajectory, key), f"{PROTECTED_WRITE}:{table}")

    return None


def _writer(trajectory: Trajectory, key: str) -> int | None:
    """The one own turn that changed the state by an effectful call that was not refused; of
    several, the one that names the row.
    """
    writes = own_writes(trajectory)
    # of several writes the one that names the row is blamed
    naming = [
        turn for turn in writes if any(f'"{key}"' in call.arguments for call in turn.tool_calls)
    ]
    found = naming or writes
    return found[0].index if len(found) == 1 else None


def own_writes(trajectory: Trajectory) -> list[Turn]:
    """The turns in which the policy itself changed something."""
    # a refused call changed nothing, and a call of someone else is not the policy's to answer for
    return [turn for turn in trajectory.turns if _own(turn) and _wrote(trajectory, turn)]


def _own(turn: Turn) -> bool:
    """Whether the policy took the turn: neither injected nor played for it."""
    return turn.sampled_by is SampledBy.POLICY and turn.injected is None


def _wrote(trajectory: Trajectory, turn: Turn) -> bool:
    """Whether a turn changed the state by a call that is made to change it."""
    before = (
        trajectory.turns[turn.index - 1].state_key if turn.index else trajectory.opening_state_key
    )
    # a world without state keys leaves it open, and then the call counts as one that wrote
    changed = turn.state_key is None or turn.state_key != before
    refused = bool(turn.observations) and all(seen.error for seen in turn.observations)
    return changed and not refused and any(effectful_by_name(call.name) for call in turn.tool_calls)


_TESTS = (CRITICAL_STEP, REPAIR, INJECTION)
STATISTICAL = ("decisive_drop",)
"""Metrics of `topology` about single turns: proposals, never hard labels."""
StepRow = TurnRow[PrmLabel]


def step_labels(
    ledger: StoredLedger, settings: LabelSettings | None = None, report: StepReport | None = None
) -> Iterator[StepRow]:
    """E1 (counted continuations), E2 (what the check blames), E3 (statistics, only with
    `include_statistical`); `report` fills meanwhile.

    Faults of the world are no labels of the step that received them, and a step that nothing was
    found out about has no label: null is not False. E2 and E3 are of trials, retries and imports,
    not of continuations. A trajectory is given with each of its labels.
    """
    settings = settings or LabelSettings()
    report = StepReport() if report is None else report

    # tested steps first: of two labels on one step readers see the stronger one before
    for found in (_interventional, _observed):
        for row in found(ledger, settings, report):
            report.tiers[row.label.tier] += 1
            report.labels[row.label.tier, row.label.label] += 1
            yield row


def _interventional(
    ledger: StoredLedger, settings: LabelSettings, report: StepReport
) -> Iterator[StepRow]:
    """E1: acts at tested states, each once, with the counts of their continuations."""
    for scene in scenes(ledger, (*_TESTS, STEP_VALUE), report):
        own, seen = scene.own, set[str]()

        for act in report.aside.all_of(own.trajectory_id, partial(_acts, scene)):
            refusal = scene.refusal(act.trajectory, (act.authorship,), settings)
            why: Why | None = refusal or ("duplicate" if act.digest in seen else None)

            # what is refused takes no place: the same act of another run may still leave
            if not report.leaves(why):
                seen.add(act.digest)
                told = act.told() | {"label": act.good, "successes": act.successes}
                yield StepRow(PrmLabel(**told, tier=Tier.INTERVENTIONAL), act.trajectory)


def _acts(scene: Scene) -> Iterator[PairAct]:
    """The own act, then the others; one that a test decided before one that only was continued.
    Where nothing was decided and no rate is known there is nothing to say.
    """
    tests = scene.of(*_TESTS)
    lost = [row for row in tests if row.confirmed]
    about = [*lost, *tests, *scene.of(STEP_VALUE)]
    acts = [scene.own_act(about[0], good=False if lost else None)] if about else []

    # of two rows about one act the confirmed one is met first, and the other is its duplicate
    among = (row for row in tests if row.q_pos is not None)
    # whatever its continuations came to: values of those that passed alone would be too high
    others = [
        scene.better(row, passed=False) for row in sorted(among, key=lambda row: not row.confirmed)
    ]
    acts += [act for act in others if act is not None]

    yield from (act for act in acts if act.q is not None or act.good is not None)


def _observed(
    ledger: StoredLedger, settings: LabelSettings, report: StepReport
) -> Iterator[StepRow]:
    """Labels of trajectories as they stand: by the check, and by statistics where these are asked
    for.
    """
    # one reading for all trajectories: they are few, and each holds a handful
    drops = _statistics(ledger) if settings.include_statistical else {}

    for trajectory, verdicts in with_decisions(ledger, report.aside):
        if trajectory.synthesizer in EVIDENCE:
            continue  # up to eight of one state: their breaches are one label many times

        identity = trajectory.trajectory_id
        # who wrote the trajectory wrote the turn that the check blames
        refusal = may_leave(Lineage(trajectory), verdicts, LABELLED_TURNS, settings)
        gold = report.aside.all_of(identity, partial(_gold, trajectory, report))

        for turn, told in [*gold, *drops.get(identity, ())]:
            # counted once for each label that stays here
            if not report.leaves(refusal):
                label = PrmLabel(**of_turn(trajectory, turn), **told)
                yield StepRow(label, trajectory)


Told = tuple[int, dict[str, Any]]
"""A turn, and what a label says of it."""


def _gold(trajectory: Trajectory, report: StepReport) -> Iterator[Told]:
    """E2: what the check blames; what it does not locate is counted."""
    for found in blamed(trajectory):
        if found.turn is None:
            report.left_out[f"not_located:{found.rule.partition(':')[0]}"] += 1
        elif found.turn >= (trajectory.pivot_turn or 0):  # those before, another trajectory took
            told = {"tier": Tier.GOLD_RULE, "source": "check", "rule": found.rule, "label": False}
            yield found.turn, told


def _statistics(ledger: StoredLedger) -> dict[str, list[Told]]:
    """By trajectory."""
    # rows of the current flow, without the JSON that people read
    measured = (
        ledger.frame("measures")
        .filter(pl.col("metric").is_in(STATISTICAL), pl.col("turn").is_not_null())
        .select("subject_id", "turn", "metric", "value")
        .collect()
        .sort(pl.all(), nulls_last=True)
    )

    # grouped here: a trajectory's labels are given beside it
    found: dict[str, list[Told]] = {}

    for subject, turn, rule, value in measured.iter_rows():
        told = {"tier": Tier.STATISTICAL, "source": "topology", "rule": rule, "value": value}
        found.setdefault(subject, []).append((turn, told))

    return found
