"""Reflect-then-retry: failed trials are diagnosed, and played again from the diagnosed turn with the lesson whispered (R3L).

Data sets are made of the retry without the whisper: no message holds the guidance, and the turns before the pivot carry no loss.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from schemas.canonical import content_hash
from schemas.errors import ConfigError
from schemas.flow import Flow
from schemas.outcome import Outcome
from schemas.stage import Plan, Shard
from schemas.trajectory import Trajectory
from schemas.user import USER
from synth.ledger.ledger import StageRef
from synth.ledger.state import kept_apart
from synth.ledger.storable import ended_line
from synth.ledger.views import connect
from synth.models.admission import Admission
from synth.rollout.episode import Work
from synth.rollout.start import Start
from synth.run.asking import Asking
from synth.run.context import Role, Run, Synthesizer
from synth.side_by_side import side_by_side
from synthesizers.episodes import played
from synthesizers.reflection.arms import SYNTHESIZER as ARM
from synthesizers.reflection.arms import ArmResult, Comparison, by_slots
from synthesizers.reflection.chain import Chain, Retry
from synthesizers.reflection.finished import chains_of, finished, rows_of
from synthesizers.reflection.reflectors import Reflect, Reflected, ReflectorName, by_model, by_rules
from synthesizers.reflection.reported import method_report
from synthesizers.reflection.retry_work import RetryWork
from synthesizers.reflection.settings import ReflectRetrySettings
from synthesizers.reflection.transcript import first_own_turn
from synthesizers.rollout import RolloutSettings, places_for, trial_limits

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
    places: Admission
    loud: str | None = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """What determines the retries; how they are cut into shards does not."""
        return {**self._of_a_chain(), "per_task": self.config.per_task, "outcomes": self._outcomes()}

    def _of_a_chain(self) -> Mapping[str, Any]:
        found: dict[str, Any] = {"reflector": self.reflector, "attempts": self.config.attempts, **self.make.identity()}
        if self.reflecting is not None:
            policy = self.reflecting.policy
            found["asked"] = {"model": policy.model, "sampling": policy.sampling, "evidence": self.config.evidence}
        if self.config.equal_budget:
            found["equal_budget"] = self.config.prices.model_dump()
        return found

    def _outcomes(self) -> list[str]:
        chosen = {Outcome.FAILURE: True, Outcome.TRUNCATED: self.config.truncated, Outcome.SUCCESS: self.config.inefficient}
        return [outcome.value for outcome, taken in chosen.items() if taken]

    @property
    def gold_informed(self) -> bool:
        """Whether the reflector looks at what the check found wrong."""
        return self.reflector == "rules" or (self.reflector == "model" and self.config.evidence)

    def inputs(self, run: Run) -> str:
        """The base trials."""
        return content_hash(self._bases(run))

    def _bases(self, run: Run) -> list[str]:
        """Trials of the rollout with an outcome that is retried, those of a task in the order of their numbers."""
        sql = "SELECT task_id, trajectory_id FROM trajectories WHERE synthesizer = 'rollout' AND role = ? AND outcome IN (SELECT unnest(?))"
        with connect(run.ledger) as connection:
            rows = connection.execute(f"{sql} ORDER BY task_id, trial, trajectory_id", [self.config.role, self._outcomes()]).fetchall()
        by_task: dict[str, list[str]] = defaultdict(list)
        for task_id, identity in rows:
            by_task[task_id].append(identity)
        return [identity for found in by_task.values() for identity in found[: self.config.per_task]]

    def _key(self, base: str) -> str:
        return content_hash([self._of_a_chain(), base])

    def plan(self, run: Run, stage_key: str) -> Plan:
        """Chains that are not settled, and rows of those that another key of the stage has settled."""
        bases = {self._key(base): base for base in self._bases(run)}
        settled = finished(run.ledger, bases, stage_key)
        settled_bases = {bases[key] for key in settled}
        again = {key: found.stage_key for key, found in settled.items() if found.stage_key != stage_key}
        own = {record.trajectory_id for shard in run.ledger.state.shards if shard.stage_key == stage_key for record in shard.slots}
        adopted = [identity for found in settled.values() for identity in found.detail["retries"] if identity not in own]
        every, size = list(bases.values()), self.config.shard
        # all of them, cut alike in every run: a shard finds the replies in its journal by its name
        cut = [every[at : at + size] for at in range(0, len(every), size)]
        parts = [part for part in cut if not settled_bases.issuperset(part)]
        shards = [Shard(content_hash(part), part) for part in parts]
        shards += [Shard(f"{AGAIN}-{content_hash(sorted(again.items()))}", sorted(again.items()))] if again else []
        if self.loud is not None and parts:
            run.progress.say(f"{self.name}: {self.loud}")
        at_once = self.places.limit // self.config.shard + 4
        # how many episodes a budget buys is not known before
        units = 0 if self.config.equal_budget else (len(bases) - len(settled)) * self.config.attempts
        return Plan(shards, tuple(adopted), units, "retries", at_once=at_once)

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Makes a shard's chains and commits those that came to an end."""
        run.ledger.refresh()
        ref = StageRef(self.name, stage_key)
        if shard.name.startswith(AGAIN):
            if (stage_key, shard.name) not in run.ledger.state.named:
                run.ledger.commit(ref, scores=rows_of(run.ledger, dict(shard.items)), name=shard.name)
            return
        chains = self._chains(run, stage_key, shard.items)
        await self._through(run, shard, chains)
        ended = [chain for chain in chains if chain.reason]
        arms: dict[str, dict[str, ArmResult]] | None = {}
        if self.config.equal_budget:
            arms = None if run.stopped else await self._compared(run, stage_key, shard, ended)
        if not ended or arms is None:
            return
        retries = [retry for chain in ended for retry in chain.retries]
        told = run.ledger.commit(
            ref,
            trajectories=[attempt for retry in retries for attempt in retry.attempts],
            decisions=[decision for chain in ended for decision in chain.decisions()],
            scores=[score for chain in ended for score in chain.scores(self.config.prices, _also(arms, chain))],
            replies=[reply for retry in retries for reply in retry.reflected.replies],
        )
        for attempt in told:
            run.progress.say(ended_line(attempt))

    def _chains(self, run: Run, stage_key: str, bases: Sequence[str]) -> list[Chain]:
        """The chains of these base trials that nobody has settled meanwhile."""
        settled = finished(run.ledger, map(self._key, bases), stage_key)
        wanted = {base for base in bases if self._key(base) not in settled}
        found = {trajectory.trajectory_id: trajectory for trajectory in run.ledger.trajectories(wanted)} if wanted else {}
        tasks = run.ledger.tasks({trajectory.task_id for trajectory in found.values()})
        return [
            Chain(self._key(base), found[base], tasks[found[base].task_id], self.gold_informed or found[base].gold_informed)
            for base in bases
            if base in found
        ]

    async def _through(self, run: Run, shard: Shard, chains: Sequence[Chain]) -> None:
        """Reflects and retries until each chain has an end, or a ceiling is reached."""
        reflect = self._reflect(run, shard)
        for number in range(1, self.config.attempts + 1):
            going = [chain for chain in chains if not chain.reason]
            if not going or not run.may_start():
                return
            retries = await self._reflected(run, reflect, going)
            works = [(chain, self._retry(run, chain, retry, number)) for chain, retry in retries]
            attempts = await played(run, shard.name, [work for _, work in works], self.make.role.model, self.places)
            by_slot = by_slots(attempts)
            for chain, work in works:
                await asyncio.sleep(0)
                if work.slot_id in by_slot:
                    chain.played(by_slot[work.slot_id], more=number < self.config.attempts)

    def _reflect(self, run: Run, shard: Shard) -> Reflect:
        if self.reflecting is None or self.reflector != "model":
            return by_rules(self.reflector)
        asking = Asking(run, shard.name, self.config.reflector_role, self.reflecting)
        return by_model(asking, self.reflecting, evidence=self.config.evidence)

    async def _reflected(self, run: Run, reflect: Reflect, chains: Sequence[Chain]) -> list[tuple[Chain, Retry]]:
        """The retries that follow from reflections on the chains' last attempts, in the order of the chains."""
        found: dict[str, tuple[Chain, Retry]] = {}
        waiting = iter(chains)

        async def worker() -> None:
            for chain in waiting:
                nothing = first_own_turn(chain.last) is None
                told = Reflected(reason="no_own_turn") if nothing else await reflect(chain.last, chain.lessons)
                retry = chain.reflected(told)
                await asyncio.sleep(0)
                if retry is not None:
                    found[chain.key] = (chain, retry)
                elif chain.reason:
                    run.progress.step(1)

        await side_by_side(min(ASKED_AT_ONCE, len(chains)), worker)
        return [found[chain.key] for chain in chains if chain.key in found]

    def _retry(self, run: Run, chain: Chain, retry: Retry, number: int) -> Work:
        assert retry.pivot is not None
        start = Start(retry.of, retry.pivot)
        return self.make.make(
            run, chain.task, trial=chain.base.trial, draw=number, start=start, guidance=retry.guidance, gold_informed=chain.gold_informed
        )

    async def _compared(self, run: Run, stage_key: str, shard: Shard, chains: Sequence[Chain]) -> dict[str, dict[str, ArmResult]] | None:
        """What the other arms come to, their episodes kept apart; None where a ceiling ended it."""
        comparison = Comparison(self.config.prices, self.make.seed)

        def make(chain: Chain, arm: str, draw: int, trial: int, start: Start | None, guidance: str | None) -> Work:
            informed = chain.gold_informed and guidance is not None
            return self.make.make(
                run, chain.task, trial=trial, draw=draw, start=start, guidance=guidance, gold_informed=informed, synthesizer=f"{ARM}_{arm}"
            )

        async def play(works: Sequence[Work]) -> list[Trajectory]:
            state = run.ledger.state
            known = {w.slot_id: slot.valid for w in works if (slot := state.slots.get(w.slot_id)) is not None and slot.valid is not None}
            left = [work for work in works if work.slot_id not in known]
            made = await played(run, shard.name, left, self.make.role.model, self.places)
            return [*made, *(run.ledger.trajectory(record.trajectory_id) for record in known.values())]

        found = await comparison.run(chains, make, play)
        if found is not None:
            kept = {attempt.trajectory_id for attempt in comparison.played} - _settled(run)
            apart = [attempt for attempt in comparison.played if attempt.trajectory_id in kept]
            if apart:
                run.ledger.commit(StageRef(self.name, kept_apart(stage_key)), trajectories=apart)
        return found

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Attempted, verified, rejected by reason, cost, and the comparison at equal cost."""
        chains = chains_of(run.ledger, stage_key)
        name = self.reflector if self.reflecting is None else f"model {self.reflecting.policy.model}"
        return method_report(run.ledger, self.name, chains, reflector=name, gold_informed=self.gold_informed, seed=self.make.seed)


def _settled(run: Run) -> set[str]:
    return {slot.valid.trajectory_id for slot in run.ledger.state.slots.values() if slot.valid is not None}


def _also(arms: Mapping[str, Mapping[str, ArmResult]], chain: Chain) -> dict[str, Any]:
    """The chain's arms, for the detail of its row."""
    found = arms.get(chain.base.trajectory_id)
    return {} if found is None else {"arms": msgspec.to_builtins(found)}


def bind(name: str, config: ReflectRetrySettings, flow: Flow, roles: Mapping[str, Role]) -> ReflectRetry:
    """The stage for a flow. Raises `ConfigError` for what the flow lacks."""
    if flow.env is None:
        raise ConfigError(f"{name} needs a world: add `env: {{name: ..., tasks: ...}}` to the flow")
    if config.role == USER or config.role not in roles:
        raise ConfigError(
            f"{name}: role {config.role!r} plays no agent in this flow; add `models: {{{config.role}: ...}}`, or name another"
        )
    asked = roles.get(config.reflector_role)
    if config.reflector == "model" and asked is None:
        raise ConfigError(
            f"{name}: reflector: model asks the role {config.reflector_role!r}; add `models: {{{config.reflector_role}: ...}}`"
        )
    chosen: ReflectorName = ("rules" if asked is None else "model") if config.reflector == "auto" else config.reflector
    if chosen == "model" and (asked is None or asked.model is None):
        raise ConfigError(
            f"{name}: the role {config.reflector_role!r} has no model to ask; name one as `model`, or set reflector: rules_blind"
        )
    loud = None
    if config.reflector == "auto" and chosen == "rules":
        loud = (
            f"no role {config.reflector_role!r} among the flow's models, so rules reflect, by what the check found wrong: the retries are "
            "gold_informed, and show nothing about whether reflection works"
        )
    role = roles[config.role]
    places = places_for(RolloutSettings(live=config.live), role)
    make = RetryWork(role, config.role, config.limits or trial_limits(flow, config.role), flow.seed)
    return ReflectRetry(name, config, chosen, asked if chosen == "model" else None, make, places, loud)


SYNTHESIZER = Synthesizer(ReflectRetrySettings, bind)
