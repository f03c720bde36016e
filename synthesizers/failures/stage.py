"""The stage `failure_injection`: rounds of attempts, one after the other: the mix of each follows
from what the former yielded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from synth.engine.asking import RoleClient
from synth.engine.context import Role, Run, Synthesizer
from synth.ledger.conclude import finalize_labels
from synth.ledger.ledger import StageRef
from synth.ledger.state import IMPORT, evidence_key
from synth.ledger.storable import ended_line
from synth.models.admission import ConcurrencyLimit
from synth.rollout.limits import Limits
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.schemas.outcome import Outcome
from synth.schemas.stage import Plan, Shard
from synth.schemas.trajectory import Authorship
from synth.schemas.user import USER
from synth.synthesizers.continuations import Continuations
from synth.synthesizers.failures.bench import InjectionContext
from synth.synthesizers.failures.control import judged_in, labels
from synth.synthesizers.failures.labels import OF_INJECTED_RUNS
from synth.synthesizers.failures.notes import made_elsewhere, noted, settled, yields_of
from synth.synthesizers.failures.planning import Offer, PlannedTask
from synth.synthesizers.failures.playing import play_round
from synth.synthesizers.failures.report import method_report
from synth.synthesizers.failures.settings import InjectionSettings
from synth.synthesizers.failures.silent import SILENT
from synth.synthesizers.rollout import RolloutSettings, places_for, role_identity, trial_limits

NATURAL_SOURCES = frozenset({"rollout", IMPORT})
"""Synthesizers of trials that nobody has meddled with: twins and failures to repair are taken from
these.
"""

BY_INJECTOR = frozenset({"role", "prompt"})
"""Strategies that need the role `injector`."""

MOST_ATTEMPTS = 640
"""Of a round, unless its settings say more: what one holds in memory, and what a kill costs."""


@dataclass(frozen=True, slots=True)
class FailureInjection:
    """The stage, bound."""

    name: str
    config: InjectionSettings
    role: Role
    injector: Role | None
    corrector: Role | None
    limits: Limits
    seed: int
    places: ConcurrencyLimit

    @property
    def settings(self) -> Mapping[str, Any]:
        """What determines the labels."""
        config = self.config.model_dump(mode="json", exclude={"live", "limits"})
        asked = {"injector": self.injector, "corrector": self.corrector}
        return {
            **config,
            "limits": self.limits.model_dump(),
            "seed": self.seed,
            **{
                name: None if found is None else [found.policy.model, found.policy.sampling]
                for name, found in asked.items()
            },
            **role_identity(self.role),
        }

    def inputs(self, run: Run) -> str:
        """The trials that the flow has collected so far."""
        return content_hash([[task.task_id, task.twins, task.failed] for task in self._tasks(run)])

    def _tasks(self, run: Run) -> list[PlannedTask]:
        """The tasks in a drawn order, each with as many of its trials as can be needed."""
        clean: dict[str, list[str]] = {}
        failed: dict[str, list[str]] = {}
        for row in run.ledger.records():
            if row["synthesizer"] in NATURAL_SOURCES and row["outcome"] in (
                Outcome.SUCCESS,
                Outcome.FAILURE,
            ):
                kind = clean if row["outcome"] == Outcome.SUCCESS else failed
                kind.setdefault(row["task_id"], []).append(row["trajectory_id"])
        order = sorted({*clean, *failed}, key=lambda task_id: content_hash([self.seed, task_id]))
        config = self.config
        found = [
            PlannedTask(
                task_id,
                tuple(_drawn(clean.get(task_id, ()), config.per_task, self.seed)),
                tuple(_drawn(failed.get(task_id, ()), config.repairs, self.seed)),
            )
            for task_id in order
        ]
        return [task for task in found if task.twins or task.failed]

    def _rounds(self, run: Run) -> list[Shard]:
        """The tasks cut so that the first round makes about as many attempts as the settings say,
        and each later one twice as many.
        """
        per_task, tasks = max(1, self.config.per_task + self.config.repairs), iter(self._tasks(run))
        rounds: list[Shard] = []
        attempts = self.config.round
        while part := list(islice(tasks, max(1, attempts // per_task))):
            items = [msgspec.structs.replace(task, round=len(rounds)) for task in part]
            rounds.append(
                Shard(
                    content_hash([[task.task_id, task.twins, task.failed] for task in items]), items
                )
            )
            attempts = min(2 * attempts, max(MOST_ATTEMPTS, self.config.round))
        return rounds

    def plan(self, run: Run, stage_key: str) -> Plan:
        """The rounds that are not done, one at a time."""
        rounds = self._rounds(run)
        left = [part for part in rounds if (stage_key, part.name) not in run.ledger.state.named]
        units = sum(
            min(self.config.per_task, len(task.twins) * self.config.per_twin)
            for part in left
            for task in part.items
        )
        units += sum(len(task.failed) for part in left for task in part.items)
        return Plan(
            left,
            made_elsewhere(run.ledger, stage_key, OF_INJECTED_RUNS),
            units,
            "attempts",
            at_once=1,
        )

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Makes the attempts of one round that are still to be made, and commits what they came
        to.
        """
        if (stage_key, shard.name) in run.ledger.refresh().named:
            return
        config, role = self.config, self.role
        bench = InjectionContext(
            run=run,
            shard=shard.name,
            round=shard.items[0].round,
            settings=config,
            role=role,
            limits=self.limits,
            places=self.places,
            seed=self.seed,
            shared=Continuations(run, shard.name),
            asking=RoleClient(run, shard.name, config.role, role) if _chats(role) else None,
            injector=RoleClient(run, shard.name, config.injector, self.injector)
            if self.injector is not None
            else None,
            corrector=RoleClient(run, shard.name, config.corrector, self.corrector)
            if self.corrector is not None
            else None,
        )
        known = noted(run.ledger, stage_key)
        former = settled(note for note in known if note.round < shard.items[0].round)
        own = settled(note for note in known if note.round == shard.items[0].round)
        await play_round(bench, shard.items, self._offer(), yields_of(former), own)
        made, apart = bench.made, StageRef(self.name, evidence_key(stage_key))
        ended = run.ledger.commit(apart, trajectories=made.apart) if made.apart else []
        ended += run.ledger.commit(
            StageRef(self.name, stage_key),
            trajectories=made.seen,
            scores=made.scores,
            replies=made.paid_for(stopped=run.stopped is not None),
            name="" if made.again or run.stopped is not None else shard.name,
        )
        for attempt in ended:
            run.progress.say(ended_line(attempt))
        line = run.ledger.state.stages[self.name]
        run.ledger.begin_stage(
            msgspec.structs.replace(
                line, adopted=made_elsewhere(run.ledger, stage_key, OF_INJECTED_RUNS)
            )
        )

    def _offer(self) -> Offer:
        """What policy and roles allow."""
        policy, declined = self.role.policy, dict[str, str]()
        if self.config.evidence == "replay":
            declined |= dict.fromkeys(("natural", "environment", "prompt"), "evidence_is_replay")
        if policy.authorship is Authorship.SCRIPTED:
            declined.setdefault("environment", "policy_reads_no_observations")
        if self.role.model is None and policy.deterministic:
            declined.setdefault("natural", "policy_is_deterministic")
        if self.role.model is not None and not _chats(self.role):
            declined.setdefault("natural", "policy_is_no_chat_model")
        if not _chats(self.role):
            declined.setdefault("prompt", "policy_is_no_chat_model")
        able = self.injector is not None
        weights: dict[str, float] = {
            name: weight
            for name, weight in self.config.strategies.items()
            if able or name not in BY_INJECTOR
        }
        return Offer(weights, declined)

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Attempts, confirmed labels, why the rest gave none, the mix, what it has cost.

        Concludes the labels first, those of former runs anew: what they are worth depends on the
        control of the whole stage. None are made
        by a run that a ceiling stopped.
        """
        if run.stopped is None or run.ledger.state.concluded(stage_key) is not None:
            finalize_labels(
                run.ledger,
                StageRef(self.name, stage_key),
                scores=labels(judged_in(run.ledger, stage_key)),
            )
        clean = (
            {task.task_id for task in self._tasks(run) if task.twins}
            if self.config.per_task
            else set(run.ledger.task_ids())
        )
        return method_report(
            run.ledger,
            stage_key,
            self.config,
            without_twin=len(run.ledger.task_ids().keys() - clean),
        )


def _drawn(identities: Sequence[str], count: int, seed: int) -> list[str]:
    """So many of them, in a drawn order."""
    return sorted(identities, key=lambda identity: content_hash([seed, identity]))[:count]


def _chats(role: Role) -> bool:
    return role.model is not None and role.policy.name == "chat"


def bind(
    name: str, config: InjectionSettings, flow: Flow, roles: Mapping[str, Role]
) -> FailureInjection:
    """The stage for a flow. Raises `ConfigError` for what the flow lacks."""
    if config.role == USER:
        raise ConfigError(
            f"role: {USER!r} plays the user of the world, not its agent; give the agent a role of "
            "its own, such as explorer"
        )
    if config.evidence == "live" and config.role not in roles:
        raise ConfigError(
            f"failure_injection needs the role {config.role!r}, whose policy goes on after a "
            "mistake: "
            f"add `models: {{{config.role}: ...}}` to the flow, or say `evidence: replay` where "
            "there is no policy"
        )
    if config.evidence == "replay" and config.repairs:
        raise ConfigError(
            "repairs: they are tested by live continuations, and `evidence: replay` has none; "
            "leave one of them out"
        )
    injector = roles.get(config.injector)
    if injector is not None and injector.model is None:
        raise ConfigError(
            f"injector: the role {config.injector!r} writes mistakes in words, so it needs a "
            "`model`; leave the role out for rules"
        )
    corrector = roles.get(config.corrector)
    if corrector is not None and corrector.model is None:
        raise ConfigError(
            f"corrector: the role {config.corrector!r} writes corrections in words, so it needs a "
            "`model`"
        )
    if injector is None and BY_INJECTOR.issuperset(config.strategies):
        raise ConfigError(
            f"strategies: {', '.join(config.strategies)} needs the role {config.injector!r}: "
            f"add `models: {{{config.injector}: {{model: ...}}}}` to the flow"
        )
    role = SILENT if config.evidence == "replay" else roles[config.role]
    places = places_for(RolloutSettings(live=config.live), role)
    limits = config.limits or trial_limits(flow, config.role)
    return FailureInjection(name, config, role, injector, corrector, limits, flow.seed, places)


SYNTHESIZER = Synthesizer(InjectionSettings, bind)
