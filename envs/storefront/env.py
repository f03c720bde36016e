"""The storefront as an environment: one conversation at the support desk."""

import zlib
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import msgspec

from synth.envs.storefront.check.check import evaluate
from synth.envs.storefront.customer.customer import Customer, CustomerMemory
from synth.envs.storefront.customer.script import read_script
from synth.envs.storefront.expert.affordances import afforded
from synth.envs.storefront.expert.belief import Belief
from synth.envs.storefront.expert.plan import Plan
from synth.envs.storefront.expert.planner import next_turn
from synth.envs.storefront.expert.profiles import MISCONCEPTIONS, misconceptions, strategy
from synth.envs.storefront.reverse.affordances import explorable, first_words, passer_by
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.desk import Desk
from synth.envs.storefront.tools.policy_text import system_prompt
from synth.envs.storefront.tools.schemas import TOOLS
from synth.envs.storefront.tools.transcript import Exchange, legible, recorded
from synth.envs.storefront.tools.turn import ENDED, answers, tool_answer
from synth.envs.storefront.world.catalogue import Row
from synth.envs.storefront.world.clock import Clock
from synth.envs.storefront.world.config import StorefrontConfig, validated
from synth.envs.storefront.world.search_index import SearchIndex
from synth.envs.storefront.world.state import State
from synth.envs.storefront.world.world import BaseWorld, world_of
from synth.schemas.check import CheckResult, Facts
from synth.schemas.environment import AgentTurn, Env, EnvSpec, Opening, Response, Snapshot
from synth.schemas.errors import DamagedError, SynthError
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, Source, Trajectory

SPEC = EnvSpec(
    name="storefront",
    version="5",
    licence="Apache-2.0",
    capabilities=frozenset({"affordances", "facts", "snapshot", "expert", "recheck", "tasks"}),
    memory_bytes=80 * 1024,
    facts={path: zone for zone, paths in texts("facts").items() for path in paths},
    profiles=tuple(MISCONCEPTIONS),
)


class Parked(msgspec.Struct):
    """All that differs from a freshly opened episode of the task; `changed` are rows by table and
    key.
    """

    task: Task | None
    ticks: int
    changed: list[tuple[str, str, Row]]
    memory: CustomerMemory
    exchanges: list[Exchange]
    index: SearchIndex
    happened: list[int]
    stumbled: list[str]


_PARKED = msgspec.msgpack.Decoder(Parked)
COMPRESSION_LEVEL = 6


class StorefrontEnv:
    """One live episode: overlay, clock, customer and transcript over a shared base world. Its
    methods never wait.
    """

    def __init__(self, config: StorefrontConfig) -> None:
        self.spec = SPEC
        self._config = config
        self._task: Task | None = None
        self._exchanges: list[Exchange] = []
        self._belief: Belief | None = None
        self._sit_down(None)

    async def reset(self, task: Task | None) -> Opening:
        """Starts a task's episode, or an exploration without a task. Raises `ConfigError` for a
        task of another shape.
        """
        self._sit_down(task)
        return Opening(
            system_prompt(self._base.rules, self._base.today, self._desk.config.policy),
            TOOLS,
            (Observation(self._opening, Source.USER),),
            self._desk.state.key(),
        )

    async def step(self, turn: AgentTurn) -> Response:
        """Answers a turn; after the end every turn is answered by an error and changes nothing."""
        desk = self._desk
        if desk.customer.memory.ended:
            ended = tuple(tool_answer(call, ENDED, True) for call in turn.tool_calls)
            said = ended or (Observation(ENDED, Source.ENVIRONMENT, error=True),)
            return Response(said, desk.state.key(), done=True)
        desk.tick()
        taken = legible(turn)
        observations = answers(desk, turn, taken)
        self._exchanges.append(Exchange(taken, observations))
        return Response(observations, desk.state.key(), done=desk.customer.memory.ended)

    async def check(self) -> CheckResult:
        """The gold check on the state as it is now; an episode without a check does not pass."""
        return _checked(
            self._task,
            self._base,
            self._desk.at_the_end().changed_facts(),
            self._exchanges,
            self._config,
        )

    async def recheck(self, task: Task, trajectory: Trajectory) -> CheckResult:
        """The same check from stored facts and transcript alone. Raises `SynthError` where the
        trajectory has no facts.
        """
        if trajectory.check_result is None:
            raise SynthError(
                f"trajectory {trajectory.trajectory_id} has no check result, so its final facts "
                "are not known; replay it instead"
            )
        return _checked(
            task,
            world_of(self._config_of(task)),
            trajectory.check_result.facts,
            recorded(trajectory),
            self._config,
        )

    async def close(self) -> None:
        """Drops the transcript."""
        self._exchanges = []
        self._belief = None

    async def facts(self) -> Facts:
        """The logical state as `table/key/column`."""
        return self._desk.state.facts()

    async def snapshot(self) -> Snapshot:
        """The episode put aside, compressed: what differs from the base world, and the
        transcript.
        """
        desk = self._desk
        kept = Parked(
            self._task,
            desk.clock.ticks,
            [(table, key, row) for (table, key), row in desk.state.changed.items()],
            desk.customer.memory,
            self._exchanges,
            desk.index,
            desk.happened,
            desk.stumbled,
        )
        blob = zlib.compress(msgspec.msgpack.encode(kept), COMPRESSION_LEVEL)
        return Snapshot(SPEC.name, SPEC.version, blob)

    async def restore(self, snapshot: Snapshot) -> None:
        """Goes on from a snapshot. Raises `SynthError` for one of another world or version,
        `DamagedError` for a broken one.
        """
        if (snapshot.env, snapshot.version) != (SPEC.name, SPEC.version):
            raise SynthError(
                f"snapshot of {snapshot.env} {snapshot.version} cannot be restored in {SPEC.name} "
                f"{SPEC.version}"
            )
        try:
            kept = _PARKED.decode(zlib.decompress(snapshot.blob))
        except (zlib.error, msgspec.DecodeError) as error:
            raise DamagedError(f"a parked storefront episode cannot be read: {error}") from error
        self._sit_down(kept.task)
        desk = self._desk
        for table, key, row in kept.changed:
            desk.state.put(table, key, row)
        desk.clock.ticks, desk.customer.memory = kept.ticks, kept.memory
        desk.index, desk.happened, desk.stumbled = kept.index, kept.happened, kept.stumbled
        self._exchanges = kept.exchanges

    async def affordances(self) -> Sequence[AgentTurn]:
        """What could be done now with what has been observed; without a task, what an explorer
        would do next.
        """
        if self._task is None:
            return explorable(self._believed(), self._base.rules, self._base.today)
        return afforded(self._believed())

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        """The next act of a planner that knows what was observed; `profile` bends it. Raises
        `ConfigError` for an unknown profile.
        """
        held, way = misconceptions(profile, seed), strategy(seed)
        belief = self._believed()
        requests = (
            self._script.requests
            if "ignores_change" in held
            else self._script.standing(belief.heard)
        )
        plan = Plan(belief, requests, self._base.rules, self._base.today, way, held)
        return next_turn(plan)

    def _config_of(self, task: Task | None) -> StorefrontConfig:
        if task is None:
            return self._config
        return validated(
            {**self._config.model_dump(exclude_unset=True), **task.env_config}, "task.env_config"
        )

    def _sit_down(self, task: Task | None) -> None:
        script = read_script(task.script) if task is not None else None
        config = self._config_of(task)
        self._base = world_of(config)
        self._script = script if script is not None else passer_by(self._base)
        self._opening = task.goal if task is not None else first_words(self._script)
        self._task = task
        self._desk = Desk(
            State(self._base),
            Clock(date.fromisoformat(self._base.today)),
            Customer(self._script, CustomerMemory()),
            config,
        )
        self._exchanges = []
        self._belief = None

    def _believed(self) -> Belief:
        if self._belief is None:
            self._belief = Belief([self._opening], self._script.said_at_once())
        for exchange in self._exchanges[self._belief.exchanges :]:
            self._belief.absorb(exchange)
        return self._belief


def open_storefront(settings: Mapping[str, Any]) -> Env:
    """A fresh storefront. Raises `ConfigError` for settings that it does not know."""
    return StorefrontEnv(validated(settings))


def _checked(
    task: Task | None,
    base: BaseWorld,
    changed: Facts,
    exchanges: Sequence[Exchange],
    config: StorefrontConfig,
) -> CheckResult:
    if task is None:
        return evaluate(None, base, changed, exchanges)
    script = read_script(task.script)
    return evaluate(
        *(task.check, base, changed, exchanges),
        opening=task.goal,
        script=script,
        outcome_only=config.outcome_only,
    )
