"""The storefront as an environment: one conversation at the support desk."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from synth.envs.storefront.check.check import evaluate
from synth.envs.storefront.customer.script import read_script
from synth.envs.storefront.expert.affordances import afforded
from synth.envs.storefront.expert.belief import MISCONCEPTIONS, Belief, misconceptions, strategy
from synth.envs.storefront.expert.planner import next_turn, silent
from synth.envs.storefront.expert.reader import read_goal, standing
from synth.envs.storefront.reverse.exploring import explorable, first_words, random_user
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.desk import answers
from synth.envs.storefront.tools.schemas import SILENT_TOOLS, TOOLS, system_prompt
from synth.envs.storefront.tools.shop import Elapsed, Shop
from synth.envs.storefront.tools.transcript import Exchange, exchanged, legible
from synth.envs.storefront.world.catalogue import Row
from synth.envs.storefront.world.config import StorefrontConfig, validated
from synth.envs.storefront.world.state import State
from synth.envs.storefront.world.world import world_of
from synth.schemas import (
    AgentTurn,
    CheckResult,
    DamagedError,
    Env,
    EnvSpec,
    Facts,
    Observation,
    Opening,
    Response,
    Snapshot,
    Source,
    SynthError,
    Task,
    Trajectory,
)

SPEC = EnvSpec(
    name="storefront",
    version="6",
    licence="Apache-2.0",
    capabilities=frozenset({"affordances", "facts", "snapshot", "expert", "recheck", "tasks"}),
    memory_bytes=80 * 1024,
    facts={path: zone for zone, paths in texts("facts").items() for path in paths},
    profiles=tuple(MISCONCEPTIONS),
)
COMPRESSION_LEVEL = 6


class Parked(msgspec.Struct):
    """All that differs from a freshly opened episode of the task; `changed` are rows by table and
    key.
    """

    task: Task | None
    changed: list[tuple[str, str, Row]]
    elapsed: Elapsed
    exchanges: list[Exchange]


_PARKED = msgspec.msgpack.Decoder(Parked)


class StorefrontEnv:
    """One live episode: overlay, clock, customer and transcript over a shared base world. Its
    methods never wait.
    """

    def __init__(self, config: StorefrontConfig) -> None:
        self.spec = SPEC
        self._config = config
        self._exchanges: list[Exchange] = []
        self._belief: Belief | None = None
        self._open(None, Elapsed())

    async def reset(self, task: Task | None) -> Opening:
        """Starts a task's episode, or an exploration without a task. Raises `ConfigError` for a
        task of another shape.
        """
        self._open(task, Elapsed())

        config = self._shop.config
        return Opening(
            system_prompt(self._shop.rules, config.policy, silent=not config.words),
            TOOLS if config.words else SILENT_TOOLS,
            (Observation(self._opening, Source.USER),),
            self._shop.state.key(),
        )

    async def step(self, turn: AgentTurn) -> Response:
        """Answers a turn; after the end every turn is answered by an error and changes nothing."""
        is_over = self._shop.elapsed.memory.ended
        # what cannot be stored is left out before anything acts on it
        taken = legible(turn)
        observations = answers(self._shop, turn, taken)

        if not is_over:
            self._exchanges.append(Exchange(taken, observations))

        done = self._shop.elapsed.memory.ended

        return Response(observations, self._shop.state.key(), done=done)

    async def check(self) -> CheckResult:
        """The gold check on the state as it is now; an episode without a check does not pass."""
        # events that are still to come belong to the end, however fast the agent was
        changed = self._shop.at_the_end().changed_facts()

        return self._checked(self._task, changed, self._exchanges)

    async def recheck(self, task: Task, trajectory: Trajectory) -> CheckResult:
        """The same check from stored facts and transcript alone. Raises `SynthError` where the
        trajectory has no facts.
        """
        if trajectory.check_result is None:
            raise SynthError(
                f"trajectory {trajectory.trajectory_id} has no check result, so its final facts "
                "are not known; replay it instead"
            )

        return self._checked(task, trajectory.check_result.facts, exchanged(trajectory.turns))

    async def close(self) -> None:
        """Drops the transcript."""
        self._exchanges = []
        self._belief = None

    async def facts(self) -> Facts:
        """The logical state as `table/key/column`."""
        return self._shop.state.facts()

    async def snapshot(self) -> Snapshot:
        """The episode put aside, compressed: what differs from the base world, and the
        transcript.
        """
        changed = [(table, key, row) for (table, key), row in self._shop.state.changed.items()]
        kept = Parked(self._task, changed, self._shop.elapsed, self._exchanges)
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

        self._open(kept.task, kept.elapsed)

        for table, key, row in kept.changed:
            self._shop.state.put(table, key, row)

        self._exchanges = kept.exchanges

    async def affordances(self) -> Sequence[AgentTurn]:
        """What could be done now with what has been observed; without a task, what an explorer
        would do next.
        """
        offer = explorable if self._task is None else afforded
        found = offer(self._believed(), self._shop.rules)

        return found if self._shop.config.words else tuple(filter(None, map(silent, found)))

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        """The next act of a planner that knows what was observed; `profile` bends it. Raises
        `ConfigError` for an unknown profile.
        """
        held = misconceptions(profile, seed)
        belief = self._believed()
        # the goal's words and what was heard since: the script is the customer's own
        requests = () if self._task is None else read_goal(self._opening).requests
        rules = self._shop.rules

        if "ignores_change" not in held:
            requests = standing(requests, belief.heard)

        if "over_refuses" in held:
            # who refuses too much takes the windows to be half as long
            half = {tier: days // 2 for tier, days in rules.window_days.items()}
            rules = replace(rules, window_days=half)

        turn = next_turn(belief, requests, rules, strategy(seed), held)

        return turn if self._shop.config.words else silent(turn) or turn

    def _config_of(self, task: Task | None) -> StorefrontConfig:
        """The settings of the world as a task overrides them."""
        if task is None:
            return self._config

        # what was not set is left to the task
        given = self._config.model_dump(exclude_unset=True)

        return validated({**given, **task.env_config}, "task.env_config")

    def _open(self, task: Task | None, elapsed: Elapsed) -> None:
        """Opens the episode of a task, or of an exploration, as far as it has gone."""
        config = self._config_of(task)
        base = world_of(config)
        self._task = task
        self._script = random_user(base) if task is None else read_script(task.script)
        self._opening = first_words(self._script) if task is None else task.goal
        self._shop = Shop(State(base), self._script, config, elapsed)
        self._exchanges = []
        self._belief = None

    def _believed(self) -> Belief:
        """What was observed up to now; exchanges are absorbed once."""
        if self._belief is None:
            known = (
                self._script.said_at_once()
                if self._task is None
                else read_goal(self._opening).slots
            )
            self._belief = Belief([self._opening], dict(known))

        # a belief is kept between calls, for a long episode would be read again at every turn
        for exchange in self._exchanges[self._belief.exchanges :]:
            self._belief.absorb(exchange)

        return self._belief

    def _checked(
        self, task: Task | None, changed: Facts, exchanges: Sequence[Exchange]
    ) -> CheckResult:
        """The verdict on an episode of a task; without a task there is none to pass."""
        base = world_of(self._config_of(task))

        if task is None:
            return evaluate(None, base, changed, exchanges)

        return evaluate(
            task.check,
            base,
            changed,
            exchanges,
            opening=task.goal,
            script=read_script(task.script),
            outcome_only=self._config.outcome_only,
        )


def open_storefront(settings: Mapping[str, Any]) -> Env:
    """A fresh storefront. Raises `ConfigError` for settings that it does not know."""
    return StorefrontEnv(validated(settings))
