"""Every pair that a ledger's accepted tests allow, before caps and balance: same prompt, one turn a
side, policies named.
"""

from collections.abc import Iterator, Mapping
from functools import partial

import msgspec
from msgspec.structs import replace

from synth.datasets.release import Why, first
from synth.ledger.ledger import StoredLedger
from synth.loss_turns import characters
from synth.pairs.experiments import CRITICAL_STEP, INJECTION, REFLECTION, REPAIR, bar
from synth.pairs.labels import PairReport, PairRow, PairSettings
from synth.pairs.pair_act import PairAct
from synth.pairs.scenes import Scene, made_at_scenes
from synth.pairs.turns import (
    foreign_prefix,
    policy_name,
    prompt_digest,
    prompt_messages,
    provenance_gap,
    template,
    unlearnable,
)
from synth.schemas import (
    GUIDED,
    Authorship,
    Origin,
    PairFamily,
    PairLabel,
    RowEvidence,
    StepRef,
    Trajectory,
    content_hash,
)
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

    @property
    def behind(self) -> tuple[Trajectory, ...]:
        """The trajectories that it is made of."""
        return self.prompt, self.chosen.trajectory, self.rejected.trajectory


def candidates(
    ledger: StoredLedger, settings: PairSettings, report: PairReport
) -> Iterator[PairRow]:
    """All pairs with evidence, counted in `report.candidates`; what is no pair is counted too."""
    make = partial(_made, settings=settings)
    rows: Iterator[PairRow] = made_at_scenes(ledger, tuple(_FAMILIES), report, _drawn, make)

    for row in rows:
        report.candidates[row.pair.family.value] += 1
        yield row


def _drawn(scene: Scene) -> Iterator[DrawnPair | str]:
    """What the state's rows allow, or why a row allows nothing."""
    for row in scene.of(*_FAMILIES):
        (family, prefix), rejected = _FAMILIES[row.metric], scene.own_act(row)

        if row.metric == REFLECTION:
            if row.value == 1 and row.retry is not None:
                yield _pivotal(scene, row.retry)
        elif not row.confirmed:
            yield f"{prefix}{row.status}"
        elif row.alternative_from.endswith(GUIDED):
            continue  # the retry itself tells who looked at what; see `_pivotal`
        elif (chosen := scene.better(row)) is None:
            yield "trajectory_lost"
        elif row.metric == INJECTION:
            # only a natural mistake was sampled from the policy itself
            if row.strategy != "natural":
                by = Authorship.MODEL if row.strategy == "role" else Authorship.SCRIPTED
                injector = f"{INJECTOR}:{row.strategy}"
                rejected = replace(rejected, policy=injector, authorship=by)

            yield DrawnPair(family, chosen.trajectory, chosen, rejected)
        else:
            yield DrawnPair(family, scene.own, chosen, rejected)


def _pivotal(scene: Scene, retry_id: str) -> DrawnPair | str:
    """What a retry did at its pivot against what the failed trial did there.

    Only a test of that very act says that it is better: that the retry passed does not.
    """
    retry = scene.with_turn(retry_id)
    if retry is None:
        return "trajectory_lost"

    # the alternative that was tested must be the act that the retry did
    digest = act_digest(retry.turns[scene.turn])

    for row in scene.of(CRITICAL_STEP):
        if row.confirmed and row.alternative_digest == digest:
            # the retry was whispered to, so its act is not the plain policy's; the test is
            by = f"{policy_name(retry)}{GUIDED}"
            chosen = PairAct(retry, scene.turn, by, retry.authorship, row)

            return DrawnPair(PairFamily.PIVOT, scene.own, chosen, scene.own_act(row))

    return "pivot_without_evidence"


def _made(found: DrawnPair | str, scene: Scene, settings: PairSettings) -> PairRow | Why:
    """The pair, or why it is none, the weightiest reason first."""
    if isinstance(found, str):
        return found

    chosen, rejected, evidence = found.chosen, found.rejected, found.chosen.row.evidence()
    sides = (chosen.authorship, rejected.authorship)

    # a pair descends from three trajectories, any of which may have to stay
    refusal = first(scene.refusal(one, sides, settings) for one in found.behind)
    reason = refusal or unlearnable(chosen.recorded) or unlearnable(rejected.recorded)
    if reason is not None:
        return reason
    # two spellings of one act are no preference
    if chosen.digest == rejected.digest:
        return "same_act"
    if evidence is None:
        return "no_counts"

    if found.family is PairFamily.INJECTION:
        pair = (chosen.trajectory, rejected.trajectory)
        unlikely = bar(*pair, chosen.turn, scene.surprisals, settings.student)
        if unlikely is not None:
            return f"injection_{unlikely}"

    # the trainer is told that both answers follow the same bytes, so that is looked at, not assumed
    seen = prompt_messages(found.prompt, chosen.turn)

    for one in found.behind:
        if one is not found.prompt and (
            one.tools != found.prompt.tools or prompt_messages(one, chosen.turn) != seen
        ):
            return "prefix_differs"

    gap = provenance_gap(chosen.trajectory, chosen.turn)

    return f"chosen_{gap}" if gap else _row(found, scene, settings, evidence)


def _row(found: DrawnPair, scene: Scene, settings: PairSettings, evidence: RowEvidence) -> PairRow:
    """The pair as it is written; its id is that of the prompt and of both acts, whatever ids calls
    have.
    """
    chosen, rejected, prompt = found.chosen, found.rejected, found.prompt
    reason = _off_policy(found, settings.student)
    acts = [prompt_digest(prompt, chosen.turn), chosen.digest, rejected.digest]
    pair = PairLabel(
        pair_id=content_hash(acts),
        family=found.family,
        # the three places in the ledger, and what the test of the chosen act counted
        prefix=StepRef(prompt.trajectory_id, chosen.turn),
        chosen=StepRef(chosen.trajectory.trajectory_id, chosen.turn),
        rejected=StepRef(rejected.trajectory.trajectory_id, rejected.turn),
        evidence=evidence,
        # who sampled what, and for whom the evidence holds
        prefix_policy=policy_name(prompt),
        chosen_policy=chosen.policy,
        rejected_policy=rejected.policy,
        on_policy_for=chosen.row.on_policy_for,
        chosen_authorship=chosen.authorship,
        rejected_authorship=rejected.authorship,
        # what caps and splits go by
        task_id=prompt.task_id,
        world_seed=_world_seed(scene),
        template=template(scene.task, prompt.env),
        # why the row may belong into a data set of its own
        off_policy=reason is not None,
        off_policy_reason=reason,
        chosen_unsampled=_unsampled(found, scene),
        # what the trajectories pass on to whatever is made of them
        gold_informed=any(one.gold_informed for one in found.behind),
        benchmark=prompt.benchmark,
        split=prompt.split,
        # characters, which alone may give the chosen side away
        chosen_length=characters(chosen.recorded),
        rejected_length=characters(rejected.recorded),
    )

    return PairRow(pair, prompt, chosen.recorded, rejected.recorded)


def _world_seed(scene: Scene) -> int | None:
    """The seed of the world that the task is set in, where its settings give one, else its own;
    imports have none.
    """
    # the seed of an imported task is one that we made up
    if scene.task is None or scene.task.origin is Origin.IMPORT:
        return None

    given = scene.task.env_config.get("world_seed")
    return given if isinstance(given, int) else scene.task.seed


def _unsampled(found: DrawnPair, scene: Scene) -> bool:
    """Whether the unguided policy was never seen to do the chosen act: as the tested alternative
    or, of a retry's act, in the samples that were drawn for it.
    """
    tag = None
    if found.family is PairFamily.PIVOT:
        tag = scene.tags.get(found.chosen.trajectory.trajectory_id)

    by_itself = found.chosen.policy == policy_name(found.prompt)
    by_itself |= found.chosen.row.alternative_from == found.prompt.role

    return tag != 0 if tag is not None else not by_itself


_UNTOLD = "imported"
"""The policy of imports whose source does not say who played; runs of synth bring theirs along."""


def _off_policy(found: DrawnPair, student: str | None) -> str | None:
    """Why the prefix was not sampled by the policy to be trained, or None."""
    prompt, row = found.prompt, found.chosen.row
    foreign = foreign_prefix(prompt, found.chosen.turn)
    if foreign is not None:
        return foreign

    # a policy without a model is named by its settings, as JSON: two such names tell nothing
    told = prompt.model or student or prompt.policy == _UNTOLD
    nameless = not told and row.on_policy_for.startswith("{")
    if not nameless and policy_name(prompt) != (student or row.on_policy_for):
        return "other_policy"

    known = row.weights_id is not None and prompt.weights_id is not None

    return "other_weights" if known and row.weights_id != prompt.weights_id else None
