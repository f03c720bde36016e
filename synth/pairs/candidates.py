"""Every pair that a ledger's accepted tests allow, before caps and balance: same prompt, one turn a
side, policies named.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import msgspec

from synth.datasets.release import ReleaseRefusal, first
from synth.ledger.ledger import Ledger
from synth.pairs.experiments import CRITICAL_STEP, INJECTION, REFLECTION, REPAIR, bar
from synth.pairs.labels import PairReport, PairRow, PairSettings
from synth.pairs.states import PairAct, Scene, scenes
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
from synth.schemas.pairs import PairFamily, PreferencePair, RowEvidence, StepRef
from synth.schemas.task import Origin
from synth.schemas.trajectory import Authorship, Trajectory
from synth.text.transcript.acts import act_digest

INJECTOR = "injector"
_FAMILIES: Mapping[str, tuple[PairFamily, str]] = {
    CRITICAL_STEP: (PairFamily.STEP, ""),
    REPAIR: (PairFamily.REPAIR, "repair_"),
    REFLECTION: (PairFamily.PIVOT, ""),
    INJECTION: (PairFamily.INJECTION, "injection_"),
}
"""What the tests of a metric give, and what stands before the status of one that gives nothing."""


class DrawnPair(msgspec.Struct, frozen=True):
    """What is to become a pair; `prompt` holds the prefix, the row of `chosen` the evidence."""

    family: PairFamily
    prompt: Trajectory
    chosen: PairAct
    rejected: PairAct


def candidates(ledger: Ledger, settings: PairSettings, report: PairReport) -> Iterator[PairRow]:
    """All pairs with evidence, counted in `report.candidates`; what is no pair is counted too."""
    for scene in scenes(ledger, tuple(_FAMILIES), report.aside):
        identity = scene.state.trajectory_id
        for found in report.aside.all_of(identity, partial(_drawn, scene)):
            made: PairRow | ReleaseRefusal | str | None = None
            if isinstance(found, DrawnPair):
                made = report.aside.tried(identity, partial(_made, found, scene, settings))
            if isinstance(made, PairRow):
                report.candidates[made.pair.family.value] += 1
                yield made
            else:
                report.leaves(found if isinstance(found, str) else made)


def _drawn(scene: Scene) -> Iterator[DrawnPair | str]:
    """What the state's rows allow, or why a row allows nothing."""
    own = scene.own
    if own is None:
        yield "trajectory_lost"
        return
    for metric, (family, prefix) in _FAMILIES.items():
        for row in scene.state.of(metric):
            if metric == REFLECTION:
                if row.value == 1 and row.retry is not None:
                    yield _pivotal(scene, own, row.retry)
                continue
            if not row.confirmed:
                yield f"{prefix}{row.status}"
                continue
            chosen, rejected, prompt = scene.better(row, own), scene.own_act(row, own), own
            if chosen is None:
                yield "trajectory_lost"
                continue
            if metric == INJECTION:
                prompt = chosen.trajectory
                if row.strategy != "natural":
                    by_model = row.strategy == "role"
                    rejected = msgspec.structs.replace(
                        rejected,
                        policy=f"{INJECTOR}:{row.strategy}",
                        authorship=Authorship.MODEL if by_model else Authorship.SCRIPTED,
                    )
            yield DrawnPair(family, prompt, chosen, rejected)


def _pivotal(scene: Scene, own: Trajectory, retry_id: str) -> DrawnPair | str:
    retry, turn = scene.trajectories.get(retry_id), scene.state.turn
    if retry is None or turn >= len(retry.turns):
        return "trajectory_lost"
    digest = act_digest(retry.turns[turn])
    for row in scene.state.of(CRITICAL_STEP):
        if row.confirmed and row.alternative_digest == digest:
            by = f"{policy_name(retry)}+guidance"
            chosen = PairAct(retry, turn, by, retry.authorship, row)
            return DrawnPair(PairFamily.PIVOT, own, chosen, scene.own_act(row, own))
    return "pivot_without_evidence"


def _made(found: DrawnPair, scene: Scene, settings: PairSettings) -> PairRow | ReleaseRefusal | str:
    """The pair, or why it is none, the weightiest reason first."""
    chosen, rejected, evidence = found.chosen, found.rejected, found.chosen.row.evidence()
    sides = (chosen.authorship, rejected.authorship)
    behind = (found.prompt, chosen.trajectory, rejected.trajectory)
    refusal = first(scene.refusal(one, sides, found.prompt, settings) for one in behind)
    reason = refusal or unlearnable(chosen.recorded) or unlearnable(rejected.recorded)
    if reason is not None:
        return reason
    if act_digest(chosen.recorded) == act_digest(rejected.recorded):
        return "same_act"
    if evidence is None:
        return "no_counts"
    if found.family is PairFamily.INJECTION:
        unlikely = bar(
            chosen.trajectory, rejected.trajectory, chosen.turn, scene.surprisals, settings.student
        )
        if unlikely is not None:
            return f"injection_{unlikely}"
    others = (side for side in (chosen, rejected) if side.trajectory is not found.prompt)
    if not all(
        same_prompt(found.prompt, chosen.turn, side.trajectory, side.turn) for side in others
    ):
        return "prefix_differs"
    gap = provenance_gap(chosen.trajectory, chosen.turn)
    return f"chosen_{gap}" if gap else _row(found, scene, settings, evidence)


def _row(found: DrawnPair, scene: Scene, settings: PairSettings, evidence: RowEvidence) -> PairRow:
    chosen, rejected, prompt = found.chosen, found.rejected, found.prompt
    good, bad = chosen.recorded, rejected.recorded
    reason = _off_policy(found, settings.student) or _unsampled(found, scene)
    digest = prompt_digest(prompt, chosen.turn)
    behind = (prompt, chosen.trajectory, rejected.trajectory)
    pair = PreferencePair(
        pair_id=content_hash([digest, act_digest(good), act_digest(bad)]),
        family=found.family,
        prefix=StepRef(prompt.trajectory_id, chosen.turn),
        chosen=StepRef(chosen.trajectory.trajectory_id, chosen.turn),
        rejected=StepRef(rejected.trajectory.trajectory_id, rejected.turn),
        evidence=evidence,
        prefix_policy=policy_name(prompt),
        chosen_policy=chosen.policy,
        rejected_policy=rejected.policy,
        on_policy_for=chosen.row.on_policy_for,
        chosen_authorship=chosen.authorship,
        rejected_authorship=rejected.authorship,
        task_id=prompt.task_id,
        world_seed=_world_seed(scene),
        template=template(scene.task, prompt.env),
        off_policy=reason is not None,
        off_policy_reason=reason,
        gold_informed=any(one.gold_informed for one in behind),
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


def _unsampled(found: DrawnPair, scene: Scene) -> str | None:
    """Of a retry's act: whether the unguided policy was never seen to do it, in the retry's own
    samples or as the tested alternative.
    """
    if found.family is not PairFamily.PIVOT:
        return None
    tag = scene.tags.get(found.chosen.trajectory.trajectory_id)
    by_itself = found.chosen.row.alternative_from == found.prompt.role
    return None if tag == 0 or (tag is None and by_itself) else "unsampled_act"


def _off_policy(found: DrawnPair, student: str | None) -> str | None:
    """Why the prefix was not sampled by the policy to be trained, or None."""
    prompt, row = found.prompt, found.chosen.row
    foreign = foreign_prefix(prompt, found.chosen.turn)
    if foreign is not None:
        return foreign
    told = prompt.model or student or prompt.synthesizer == "import"
    nameless = not told and row.on_policy_for.startswith("{")
    if not nameless and policy_name(prompt) != (student or row.on_policy_for):
        return "other_policy"
    known = row.weights_id is not None and prompt.weights_id is not None
    return "other_weights" if known and row.weights_id != prompt.weights_id else None
