"""Every pair that a ledger's accepted tests allow, before caps and balance: same prompt, one turn a
side, policies named.
"""

from collections.abc import Iterator
from functools import partial

import msgspec

from synth.datasets.release import LABELLED_TURNS, Lineage, Refusal, first, may_leave
from synth.ledger.ledger import Ledger
from synth.pairs.experiments import CRITICAL_STEP, INJECTION, REFLECTION, REPAIR, Experiment
from synth.pairs.likelihood_bar import bar
from synth.pairs.report import PairReport
from synth.pairs.rows import PairRow
from synth.pairs.settings import PairSettings
from synth.pairs.states import Scene, scenes
from synth.pairs.turns import (
    foreign_prefix,
    length,
    policy_name,
    prompt_digest,
    provenance_gap,
    same_prompt,
    template,
    unlearnable,
)
from synth.schemas.canonical import content_hash
from synth.schemas.pairs import PairFamily, PreferencePair, StepRef
from synth.schemas.task import Origin
from synth.schemas.trajectory import Authorship, Trajectory
from synth.text.transcript.acts import act_digest

INJECTOR = "injector"
_METRICS = (CRITICAL_STEP, REFLECTION, REPAIR, INJECTION)


class Side(msgspec.Struct, frozen=True):
    """A turn of a recorded trajectory, and who wrote it."""

    trajectory: Trajectory
    turn: int
    policy: str
    authorship: Authorship

    @property
    def ref(self) -> StepRef:
        return StepRef(self.trajectory.trajectory_id, self.turn)


class Drawn(msgspec.Struct, frozen=True):
    """What is to become a pair; `prompt` holds the prefix, `row` the evidence."""

    family: PairFamily
    prompt: Trajectory
    chosen: Side
    rejected: Side
    row: Experiment


def candidates(ledger: Ledger, settings: PairSettings, report: PairReport) -> Iterator[PairRow]:
    """All pairs with evidence, counted in `report.candidates`; what is no pair is counted too."""
    for scene in scenes(ledger, _METRICS, report.aside):
        identity = scene.state.trajectory_id
        for found in report.aside.all_of(identity, partial(_drawn, scene)):
            made = (
                found
                if isinstance(found, str)
                else report.aside.tried(identity, partial(_made, found, scene, settings))
            )
            if isinstance(made, PairRow):
                report.candidates[made.pair.family.value] += 1
                yield made
            else:
                report.leaves(made)


def _made(found: Drawn, scene: Scene, settings: PairSettings) -> PairRow | Refusal | str:
    return _refused(found, scene, settings) or _row(found, scene, settings)


def _drawn(scene: Scene) -> Iterator[Drawn | str]:
    """What the state's rows allow, or why a row allows nothing."""
    own, turn = scene.own, scene.state.turn
    if own is None:
        yield "trajectory_lost"
        return
    tests = scene.state.of(CRITICAL_STEP)
    for row in tests:
        yield _better(PairFamily.STEP, scene, own, row) if row.confirmed else row.status
    for row in scene.state.of(REPAIR):
        yield (
            _better(PairFamily.REPAIR, scene, own, row) if row.confirmed else f"repair_{row.status}"
        )
    for row in scene.state.of(REFLECTION):
        if row.value == 1 and row.retry is not None:
            yield _pivotal(scene, own, row.retry, tests)
    for row in scene.state.of(INJECTION):
        if not row.confirmed:
            yield f"injection_{row.status}"
            continue
        twin = scene.trajectories.get(row.clean_twin_id)
        if twin is None or turn >= len(twin.turns):
            yield "trajectory_lost"
            continue
        natural = row.strategy == "natural"
        author = (
            own.authorship
            if natural
            else Authorship.MODEL
            if row.strategy == "role"
            else Authorship.SCRIPTED
        )
        rejected = Side(
            own, turn, policy_name(own) if natural else f"{INJECTOR}:{row.strategy}", author
        )
        yield Drawn(
            PairFamily.INJECTION,
            twin,
            Side(twin, turn, policy_name(twin), twin.authorship),
            rejected,
            row,
        )


def _own_side(own: Trajectory, turn: int) -> Side:
    return Side(own, turn, policy_name(own), own.authorship)


def _better(family: PairFamily, scene: Scene, own: Trajectory, row: Experiment) -> Drawn | str:
    solved, turn = scene.solved(row), scene.state.turn
    if solved is None:
        return "trajectory_lost"
    return Drawn(
        family, own, Side(solved, turn, *scene.author(row, own)), _own_side(own, turn), row
    )


def _pivotal(scene: Scene, own: Trajectory, retry_id: str, tests: list[Experiment]) -> Drawn | str:
    retry, turn = scene.trajectories.get(retry_id), scene.state.turn
    if retry is None or turn >= len(retry.turns):
        return "trajectory_lost"
    digest = act_digest(retry.turns[turn])
    row = next(
        (test for test in tests if test.confirmed and test.alternative_digest == digest), None
    )
    if row is None:
        return "pivot_without_evidence"
    chosen = Side(retry, turn, f"{policy_name(retry)}+guidance", retry.authorship)
    return Drawn(PairFamily.PIVOT, own, chosen, _own_side(own, turn), row)


def _refused(found: Drawn, scene: Scene, settings: PairSettings) -> Refusal | str | None:
    """Why it is no pair, the weightiest reason first."""
    chosen, rejected = found.chosen, found.rejected
    sides = (chosen.authorship, rejected.authorship)
    behind = (found.prompt, chosen.trajectory, rejected.trajectory)
    refusal = first(
        may_leave(
            Lineage(one, sides, continuation=one is not found.prompt),
            scene.verdicts[one.trajectory_id],
            LABELLED_TURNS,
            settings,
        )
        for one in behind
    )
    if refusal is not None:
        return refusal
    good, bad = chosen.trajectory.turns[chosen.turn], rejected.trajectory.turns[rejected.turn]
    if (reason := unlearnable(good) or unlearnable(bad)) is not None:
        return reason
    if act_digest(good) == act_digest(bad):
        return "same_act"
    if found.row.evidence() is None:
        return "no_counts"
    if found.family is PairFamily.INJECTION:
        reason = bar(
            chosen.trajectory, rejected.trajectory, chosen.turn, scene.surprisals, settings.student
        )
        if reason is not None:
            return f"injection_{reason}"
    others = (side for side in (chosen, rejected) if side.trajectory is not found.prompt)
    if not all(
        same_prompt(found.prompt, chosen.turn, side.trajectory, side.turn) for side in others
    ):
        return "prefix_differs"
    gap = provenance_gap(chosen.trajectory, chosen.turn)
    return None if gap is None else f"chosen_{gap}"


def _row(found: Drawn, scene: Scene, settings: PairSettings) -> PairRow:
    chosen, rejected, prompt, row = found.chosen, found.rejected, found.prompt, found.row
    good, bad = chosen.trajectory.turns[chosen.turn], rejected.trajectory.turns[rejected.turn]
    evidence, reason = (
        row.evidence(),
        _off_policy(prompt, scene.state.turn, row, settings.student) or _unsampled(found, scene),
    )
    assert evidence is not None
    digest = prompt_digest(prompt, chosen.turn)
    pair = PreferencePair(
        pair_id=content_hash([digest, act_digest(good), act_digest(bad)]),
        family=found.family,
        prefix=StepRef(prompt.trajectory_id, chosen.turn),
        chosen=chosen.ref,
        rejected=rejected.ref,
        evidence=evidence,
        prefix_policy=policy_name(prompt),
        chosen_policy=chosen.policy,
        rejected_policy=rejected.policy,
        on_policy_for=row.on_policy_for,
        chosen_authorship=chosen.authorship,
        rejected_authorship=rejected.authorship,
        task_id=prompt.task_id,
        world_seed=_world_seed(scene),
        template=template(scene.task, prompt.env),
        off_policy=reason is not None,
        off_policy_reason=reason,
        gold_informed=any(
            one.gold_informed for one in (prompt, chosen.trajectory, rejected.trajectory)
        ),
        benchmark=prompt.benchmark,
        split=prompt.split,
        chosen_length=length(good),
        rejected_length=length(bad),
    )
    return PairRow(pair, prompt, good, bad)


def _world_seed(scene: Scene) -> int | None:
    """The seed of the world that the task is set in, where its settings give one, else its own;
    imports have none.
    """
    if scene.task is None or scene.task.origin is Origin.IMPORT:
        return None
    given = scene.task.env_config.get("world_seed")
    return given if isinstance(given, int) else scene.task.seed


def _unsampled(found: Drawn, scene: Scene) -> str | None:
    """Of a retry's act: whether the unguided policy was never seen to do it, in the retry's own
    samples or as the tested alternative.
    """
    if found.family is not PairFamily.PIVOT:
        return None
    tag, own = scene.tags.get(found.chosen.trajectory.trajectory_id), scene.own
    sampled = tag == 0 or (
        tag is None and own is not None and found.row.alternative_from == own.role
    )
    return None if sampled else "unsampled_act"


def _off_policy(prompt: Trajectory, turn: int, row: Experiment, student: str | None) -> str | None:
    """Why the prefix was not sampled by the policy to be trained, or None."""
    foreign = foreign_prefix(prompt, turn)
    if foreign is not None:
        return foreign
    nameless = (
        prompt.model is None
        and student is None
        and prompt.synthesizer != "import"
        and row.on_policy_for.startswith("{")
    )
    if not nameless and policy_name(prompt) != (student or row.on_policy_for):
        return "other_policy"
    known = row.weights_id is not None and prompt.weights_id is not None
    return "other_weights" if known and row.weights_id != prompt.weights_id else None
