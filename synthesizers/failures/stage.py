"""The stage `failure_injection`: rounds of attempts, one after the other: the mix of each follows
from what the former yielded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import msgspec

from synth.engine.context import Role, Run
from synth.engine.study.bench import Bench
from synth.engine.study.method import synthesizer
from synth.engine.study.player import Player, agent_in
from synth.ledger.ledger import Score
from synth.ledger.log.state import IMPORT
from synth.schemas.canonical import content_hash
from synth.schemas.environment import AgentTurn
from synth.schemas.errors import ConfigError
from synth.schemas.outcome import Outcome
from synth.schemas.policy import Act, Episode, Policy, PolicySpec, View
from synth.schemas.stage import Plan, Shard
from synth.schemas.trajectory import Authorship
from synth.synthesizers.failures.bench import InjectionContext
from synth.synthesizers.failures.planning import Offer, PlannedTask
from synth.synthesizers.failures.playing import play_round
from synth.synthesizers.failures.records import (
    OF_INJECTED_RUNS,
    judged_in,
    labels,
    made_elsewhere,
    noted,
    settled,
    yields_of,
)
from synth.synthesizers.failures.report import injection_report
from synth.synthesizers.failures.settings import InjectionSettings


class _Silent:
    async def act(self, view: View) -> Act:
        """Nothing: the recorded turns are over."""
        return Act(turn=AgentTurn(""))


def _open_silent(episode: Episode) -> Policy:
    return _Silent()


SILENT = Role(
    PolicySpec(
        name="silent",
        authorship=Authorship.SCRIPTED,
        identity={"policy": "silent"},
        open=_open_silent,
        deterministic=True,
    ),
    None,
)
"""Who goes on where only recorded turns are done again: an episode that they do not end is ended by
the stuck rule.
"""


NATURAL_SOURCES = frozenset({"rollout", IMPORT})
"""Synthesizers of trials that nobody has meddled with: twins and failures to repair are taken from
these.
"""

BY_INJECTOR = frozenset({"role", "prompt"})
"""Strategies that need the role `injector`."""

MOST_ATTEMPTS = 640
"""Of a round, unless its settings say more: what one holds in memory, and what a kill costs."""


@synthesizer("failure_injection")
class FailureInjection(InjectionSettings):
    """Mistakes put into clean trials, and corrections into failed ones, each tested live."""

    unit = "attempts"

    def cast(self) -> Player:
        """Who goes on after a mistake; nobody where only recorded turns are done again."""
        if self.evidence == "replay":
            return replace(self.playing(self.role, SILENT), name=None)
        try:
            return self.playing(self.role, agent_in(self.method, self.role, self.bound.roles))
        except ConfigError as error:
            raise ConfigError(
                f"{error}, or say `evidence: replay` where there is no policy"
            ) from error

    def bind(self) -> None:
        """The roles that write."""
        if self.evidence == "replay" and self.repairs:
            raise ConfigError(
                "repairs: they are tested by live continuations, and `evidence: replay` has none; "
                "leave one of them out"
            )
        self.injecting = self._writer("injector", "mistakes", "; leave the role out for rules")
        self.correcting = self._writer("corrector", "corrections")
        if self.injecting is None and BY_INJECTOR.issuperset(self.strategies):
            raise ConfigError(
                f"strategies: {', '.join(self.strategies)} needs the role {self.injector!r}: "
                f"add `models: {{{self.injector}: {{model: ...}}}}` to the flow"
            )

    def _writer(self, setting: str, what: str, instead: str = "") -> Role | None:
        name = getattr(self, setting)
        found = self.bound.roles.get(name)
        if found is not None and found.model is None:
            raise ConfigError(
                f"{setting}: the role {name!r} writes {what} in words, so it needs a "
                f"`model`{instead}"
            )
        return found

    def identity(self) -> Mapping[str, Any]:
        """Who writes."""
        asked = {"injector": self.injecting, "corrector": self.correcting}
        return {
            name: None if found is None else [found.policy.model, found.policy.sampling]
            for name, found in asked.items()
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
        seed = self.player.seed
        order = sorted({*clean, *failed}, key=lambda task_id: content_hash([seed, task_id]))
        found = [
            PlannedTask(
                task_id,
                tuple(_drawn(clean.get(task_id, ()), self.per_task, seed)),
                tuple(_drawn(failed.get(task_id, ()), self.repairs, seed)),
            )
            for task_id in order
        ]
        return [task for task in found if task.twins or task.failed]

    def _rounds(self, run: Run) -> list[Shard]:
        """The tasks cut so that the first round makes about as many attempts as the settings say,
        and each later one twice as many.
        """
        per_task, tasks = max(1, self.per_task + self.repairs), iter(self._tasks(run))
        rounds: list[Shard] = []
        attempts = self.round
        while part := list(islice(tasks, max(1, attempts // per_task))):
            items = [msgspec.structs.replace(task, round=len(rounds)) for task in part]
            rounds.append(
                Shard(
                    content_hash([[task.task_id, task.twins, task.failed] for task in items]), items
                )
            )
            attempts = min(2 * attempts, max(MOST_ATTEMPTS, self.round))
        return rounds

    def planned(self, run: Run, stage_key: str) -> Plan:
        """The rounds that are not done, one at a time."""
        rounds = self._rounds(run)
        left = [part for part in rounds if (stage_key, part.name) not in run.ledger.state.named]
        units = sum(
            min(self.per_task, len(task.twins) * self.per_twin)
            for part in left
            for task in part.items
        )
        units += sum(len(task.failed) for part in left for task in part.items)
        return Plan(
            left,
            self.adopted(run, stage_key),
            units,
            self.unit,
            at_once=1,
        )

    def adopted(self, run: Run, stage_key: str) -> tuple[str, ...]:
        """Runs that are labelled here, and were played under other settings."""
        return made_elsewhere(run.ledger, stage_key, OF_INJECTED_RUNS)

    async def play(self, bench: Bench, items: Sequence[PlannedTask]) -> None:
        """Makes the attempts of one round that are still to be made."""

        number, role = items[0].round, self.player.role
        roles = {
            "policy": (self.role, role if _chats(role) else None),
            "injector": (self.injector, self.injecting),
            "corrector": (self.corrector, self.correcting),
        }
        asked = {
            part: bench.client(name, found)
            for part, (name, found) in roles.items()
            if found is not None
        }
        context = InjectionContext(bench, number, self, asked)
        known = noted(bench.run.ledger, bench.stage_key)
        former = settled(note for note in known if note.round < number)
        own = settled(note for note in known if note.round == number)
        await play_round(context, items, self._offer(), yields_of(former), own)

    def _offer(self) -> Offer:
        """What policy and roles allow."""
        role, declined = self.player.role, dict[str, str]()
        policy = role.policy
        if self.evidence == "replay":
            declined |= dict.fromkeys(("natural", "environment", "prompt"), "evidence_is_replay")
        if policy.authorship is Authorship.SCRIPTED:
            declined.setdefault("environment", "policy_reads_no_observations")
        if role.model is None and policy.deterministic:
            declined.setdefault("natural", "policy_is_deterministic")
        if role.model is not None and not _chats(role):
            declined.setdefault("natural", "policy_is_no_chat_model")
        if not _chats(role):
            declined.setdefault("prompt", "policy_is_no_chat_model")
        able = self.injecting is not None
        weights: dict[str, float] = {
            name: weight
            for name, weight in self.strategies.items()
            if able or name not in BY_INJECTOR
        }
        return Offer(weights, declined)

    def finalize(self, run: Run, stage_key: str) -> Sequence[Score]:
        """What the tests of the whole stage give."""
        return labels(judged_in(run.ledger, stage_key))

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Attempts, confirmed labels, why the rest gave none, the mix, what it has cost."""
        clean = (
            {task.task_id for task in self._tasks(run) if task.twins}
            if self.per_task
            else set(run.ledger.task_ids())
        )
        without = len(run.ledger.task_ids().keys() - clean)
        return injection_report(run.ledger, stage_key, self, without_twin=without)


def _drawn(identities: Sequence[str], count: int, seed: int) -> list[str]:
    """So many of them, in a drawn order."""
    return sorted(identities, key=lambda identity: content_hash([seed, identity]))[:count]


def _chats(role: Role) -> bool:
    return role.model is not None and role.policy.name == "chat"
