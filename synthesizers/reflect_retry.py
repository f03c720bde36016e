"""Reflect-then-retry: failed trials are diagnosed, and played again from the diagnosed turn with
the lesson whispered (R3L).

Data sets are made of the retry without the whisper: no message holds the guidance, and the turns
before the pivot carry no loss.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from synth.engine.asking import RoleClient
from synth.engine.context import Role, Run, Synthesizer
from synth.ledger.conclude import finalize_labels
from synth.ledger.ledger import StageRef
from synth.ledger.state import evidence_key
from synth.ledger.storable import ended_line
from synth.ledger.typed import read
from synth.models.admission import ConcurrencyLimit
from synth.rollout.episode import EpisodeSpec
from synth.rollout.start import BranchPoint
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.schemas.outcome import Outcome
from synth.schemas.stage import Plan, Shard
from synth.schemas.trajectory import Trajectory
from synth.schemas.user import USER
from synth.synthesizers.episodes import played
from synth.synthesizers.rebuilding import world_versions
from synth.synthesizers.reflection.arms import SYNTHESIZER as ARM
from synth.synthesizers.reflection.arms import ArmResult, EqualBudgetStudy
from synth.synthesizers.reflection.bases import base_trials
from synth.synthesizers.reflection.chain import Chain
from synth.synthesizers.reflection.finished import chains_of, finished, recorded, rows_of
from synth.synthesizers.reflection.likelihood import GAIN, Gain, judged
from synth.synthesizers.reflection.likelihood import in_words as likelihood_in_words
from synth.synthesizers.reflection.measuring import Measuring, how_measured
from synth.synthesizers.reflection.off_policy import OFF_POLICY, SAMPLES, OffPolicy
from synth.synthesizers.reflection.off_policy import in_words as off_policy_in_words
from synth.synthesizers.reflection.playing import Playing
from synth.synthesizers.reflection.reflectors import ReflectorName, by_model, by_rules
from synth.synthesizers.reflection.reported import method_report
from synth.synthesizers.reflection.retry_work import RetryWork
from synth.synthesizers.reflection.settings import ReflectRetrySettings
from synth.synthesizers.rollout import RolloutSettings, places_for, trial_limits

AGAIN = "again"
"""Shards of chains that another key of the stage has settled: their rows are taken over."""
ASKED_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class ReflectRetry:
    """The stage `reflect_retry`."""

    name: str
    config: ReflectRetrySettings
    reflector: ReflectorName
    reflecting: Role | None
    make: RetryWork
    places: ConcurrencyLimit
    scorer: tuple[str, Role] | None = None
    loud: str | None = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """What determines the retries; how they are cut into shards does not."""
        also = {
            "attempts": self.config.attempts,
            "per_task": self.config.per_task,
            "outcomes": self._outcomes(),
        }
        return {**self._of_a_chain(), **also, "measured": self._measured()}

    def _of_a_chain(self) -> Mapping[str, Any]:
        found: dict[str, Any] = {"reflector": self.reflector, **self.make.identity()}
        if self.reflecting is not None:
            policy = self.reflecting.policy
            found["asked"] = {
                "model": policy.model,
                "sampling": policy.sampling,
                "evidence": self.config.evidence,
            }
        if self.config.equal_budget:
            found["equal_budget"] = self.config.prices.model_dump()
        if self.config.memo is not None:
            found["memo"] = self.config.memo.model_dump()
        return found

    def _measured(self) -> Mapping[str, Any]:
        """How kept retries are measured."""
        return how_measured(self.scorer, self._samples)

    @property
    def _samples(self) -> int:
        given = self.config.off_policy_samples
        return given if given is not None else SAMPLES if self.make.role.model is not None else 0

    def _outcomes(self) -> list[str]:
        chosen = {
            Outcome.FAILURE: True,
            Outcome.TRUNCATED: self.config.truncated,
            Outcome.SUCCESS: self.config.inefficient,
        }
        return [outcome.value for outcome, taken in chosen.items() if taken]

    @property
    def gold_informed(self) -> bool:
        """Whether the reflector looks at what the check found wrong, or a memo intervenes, which
        depends on which parts failed again.
        """
        intervenes = self.config.memo is not None and self.config.memo.intervene
        return (
            intervenes
            or self.reflector == "rules"
            or (self.reflector == "model" and self.config.evidence)
        )

    def inputs(self, run: Run) -> str:
        """The base trials, and the versions of the worlds of imported ones."""
        bases = self._bases(run)
        return content_hash([list(bases), world_versions(run, set(bases.values()))])

    def _bases(self, run: Run) -> Mapping[str, str]:
        """Base trials with their tasks."""
        return dict(base_trials(run, self.config.role, self._outcomes(), self.config.per_task))

    def _key(self, base: str) -> str:
        return content_hash([self._of_a_chain(), base])

    def plan(self, run: Run, stage_key: str) -> Plan:
        """Chains that are not settled, and rows of those that another key of the stage has
        settled.
        """
        bases = {self._key(base): base for base in self._bases(run)}
        settled = finished(run.ledger, bases, stage_key, self.config.attempts, self._measured())
        going = recorded(run.ledger, bases.keys() - settled.keys())
        settled_bases = {bases[key] for key in settled}
        again = {
            key: found.stage_key for key, found in settled.items() if found.stage_key != stage_key
        }
        own = {
            record.trajectory_id
            for shard in run.ledger.state.shards
            if shard.stage_key == stage_key
            for record in shard.slots
        }
        adopted = [
            identity
            for found in settled.values()
            for identity in found.about.retries
            if identity not in own
        ]
        taken_up = [
            known.retry for (_, number), known in going.items() if number <= self.config.attempts
        ]
        adopted += [
            identity for identity in taken_up if identity is not None and identity not in own
        ]
        every, size = list(bases.values()), self.config.shard
        # all of them, cut alike in every run: a shard finds the replies in its journal by its name
        cut = [every[at : at + size] for at in range(0, len(every), size)]
        parts = [part for part in cut if not settled_bases.issuperset(part)]
        shards = [Shard(content_hash(part), part) for part in parts]
        shards += (
            [Shard(f"{AGAIN}-{content_hash(sorted(again.items()))}", sorted(again.items()))]
            if again
            else []
        )
        if self.loud is not None and parts:
            run.progress.say(f"{self.name}: {self.loud}")
        at_once = self.places.limit // self.config.shard + 4
        # how many episodes a budget buys is not known before
        units = (
            0 if self.config.equal_budget else (len(bases) - len(settled)) * self.config.attempts
        )
        return Plan(shards, tuple(sorted(adopted)), units, "retries", at_once=at_once)

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Makes a shard's chains and commits those that came to an end."""
        run.ledger.refresh()
        ref = StageRef(self.name, stage_key)
        if shard.name.startswith(AGAIN):
            if (stage_key, shard.name) not in run.ledger.state.named:
                run.ledger.commit(
                    ref, scores=rows_of(run.ledger, dict(shard.items)), name=shard.name
                )
            return
        chains = self._chains(run, stage_key, shard.items)
        await self._playing(run, shard).through(chains)
        measuring = Measuring(
            run, shard.name, self.make, self.places, scorer=self.scorer, samples=self._samples
        )
        await measuring.measure([chain for chain in chains if chain.reason])
        ended = [chain for chain in chains if chain.reason and chain.measured]
        arms: dict[str, dict[str, ArmResult]] | None = {}
        if self.config.equal_budget:
            arms = None if run.stopped else await self._compared(run, stage_key, shard, ended)
        if not ended or arms is None:
            return
        retries = [retry for chain in ended for retry in chain.retries]
        told = run.ledger.commit(
            ref,
            trajectories=[
                attempt for retry in retries if not retry.known for attempt in retry.attempts
            ],
            decisions=[decision for chain in ended for decision in chain.decisions()],
            scores=[
                score
                for chain in ended
                for score in chain.scores(self.config.prices, _plain(arms, chain))
            ],
            replies=[
                *(reply for retry in retries for reply in retry.reflected.replies),
                *(reply for chain in ended for reply in chain.replies),
            ],
        )
        for attempt in told:
            run.progress.say(ended_line(attempt))

    def _chains(self, run: Run, stage_key: str, bases: Sequence[str]) -> list[Chain]:
        """The chains of these base trials that nobody has settled meanwhile."""
        keys = list(map(self._key, bases))
        settled = finished(run.ledger, keys, stage_key, self.config.attempts, self._measured())
        wanted = {base for base in bases if self._key(base) not in settled}
        found = (
            {trajectory.trajectory_id: trajectory for trajectory in run.ledger.trajectories(wanted)}
            if wanted
            else {}
        )
        tasks = run.ledger.tasks({trajectory.task_id for trajectory in found.values()})
        carry = self.config.memo
        return [
            Chain(
                self._key(base),
                found[base],
                tasks.get(found[base].task_id),
                self.gold_informed or found[base].gold_informed,
                carry=carry,
            )
            for base in bases
            if base in found
        ]

    def _playing(self, run: Run, shard: Shard) -> Playing:
        reflect = by_rules(self.reflector)
        if self.reflecting is not None and self.reflector == "model":
            asking = RoleClient(run, shard.name, self.config.reflector_role, self.reflecting)
            reflect = by_model(asking, self.reflecting, evidence=self.config.evidence)
        return Playing(run, shard.name, self.make, self.places, reflect, self.config.attempts)

    async def _compared(
        self, run: Run, stage_key: str, shard: Shard, chains: Sequence[Chain]
    ) -> dict[str, dict[str, ArmResult]] | None:
        """What the other arms come to, their episodes kept apart; None where a ceiling ended it."""
        comparison = EqualBudgetStudy(self.config.prices, self.make.seed)

        def make(
            chain: Chain,
            arm: str,
            draw: int,
            trial: int,
            start: BranchPoint | None,
            guidance: str | None,
        ) -> EpisodeSpec:
            informed = chain.gold_informed and guidance is not None
            if chain.task is None:
                raise ValueError("a chain without its task is no unit of the comparison")
            return self.make.make(
                run,
                chain.task,
                trial=trial,
                draw=draw,
                start=start,
                guidance=guidance,
                gold_informed=informed,
                synthesizer=f"{ARM}_{arm}",
            )

        async def play(works: Sequence[EpisodeSpec]) -> list[Trajectory]:
            state = run.ledger.state
            known = {
                w.slot_id: slot.valid
                for w in works
                if (slot := state.slots.get(w.slot_id)) is not None and slot.valid is not None
            }
            left = [work for work in works if work.slot_id not in known]
            made = await played(run, shard.name, left, self.make.role.model, self.places)
            return [
                *made,
                *(run.ledger.trajectory(record.trajectory_id) for record in known.values()),
            ]

        found = await comparison.run(chains, make, play)
        if found is not None:
            kept = {attempt.trajectory_id for attempt in comparison.played} - _settled(run)
            apart = [attempt for attempt in comparison.played if attempt.trajectory_id in kept]
            if apart:
                run.ledger.commit(StageRef(self.name, evidence_key(stage_key)), trajectories=apart)
        return found

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Attempted, verified, rejected by reason, cost, and the comparison at equal cost.

        Concludes first which kept retries are likelier under their guidance than under that of
        other tasks: the limit is of all of them.
        """
        ledger = run.ledger
        gains = list(read(ledger, Gain, (GAIN,), stage_key=stage_key))
        tags = list(read(ledger, OffPolicy, (OFF_POLICY,), stage_key=stage_key))
        decisions = judged(gains)
        finalize_labels(ledger, StageRef(self.name, stage_key), decisions=decisions)
        notes = [likelihood_in_words(decisions, gains)] if gains and self.config.likelihood else []
        notes += [off_policy_in_words(tags)] if tags else []
        rejected = sum(decision.keep is False for decision in decisions)
        name = (
            self.reflector if self.reflecting is None else f"model {self.reflecting.policy.model}"
        )
        return method_report(
            ledger,
            self.name,
            chains_of(ledger, stage_key),
            reflector=name,
            gold_informed=self.gold_informed,
            seed=self.make.seed,
            likelier=rejected,
            notes=notes,
        )


def _settled(run: Run) -> set[str]:
    return {
        slot.valid.trajectory_id
        for slot in run.ledger.state.slots.values()
        if slot.valid is not None
    }


def _plain(
    arms: Mapping[str, Mapping[str, ArmResult]], chain: Chain
) -> Mapping[str, Mapping[str, float]] | None:
    """The chain's arms, for its row."""
    found = arms.get(chain.base.trajectory_id)
    return None if found is None else msgspec.to_builtins(found)


def bind(
    name: str, config: ReflectRetrySettings, flow: Flow, roles: Mapping[str, Role]
) -> ReflectRetry:
    """The stage for a flow. Raises `ConfigError` for what the flow lacks."""
    if config.role == USER or config.role not in roles:
        raise ConfigError(
            f"{name}: role {config.role!r} plays no agent in this flow; add `models: "
            f"{{{config.role}: ...}}`, or name another"
        )
    asked = roles.get(config.reflector_role)
    if config.reflector == "model" and asked is None:
        raise ConfigError(
            f"{name}: reflector: model asks the role {config.reflector_role!r}; add `models: "
            f"{{{config.reflector_role}: ...}}`"
        )
    chosen: ReflectorName = (
        ("rules" if asked is None else "model") if config.reflector == "auto" else config.reflector
    )
    if chosen == "model" and (asked is None or asked.model is None):
        raise ConfigError(
            f"{name}: the role {config.reflector_role!r} has no model to ask; name one as "
            "`model`, or set reflector: rules_blind"
        )
    loud = None
    if config.reflector == "auto" and chosen == "rules":
        loud = (
            f"no role {config.reflector_role!r} among the flow's models, so rules reflect, by "
            "what the check found wrong: the retries are "
            "gold_informed, and show nothing about whether reflection works"
        )
    role = roles[config.role]
    places = places_for(RolloutSettings(live=config.live), role)
    make = RetryWork(role, config.role, config.limits or trial_limits(flow, config.role), flow.seed)
    scoring = roles.get(config.scorer) if config.likelihood else None
    scorer = None if scoring is None or scoring.model is None else (config.scorer, scoring)
    return ReflectRetry(
        name, config, chosen, asked if chosen == "model" else None, make, places, scorer, loud
    )


SYNTHESIZER = Synthesizer(ReflectRetrySettings, bind)
