"""Reflect-then-retry (R3L): diagnoses failed trials, and plays them again from the diagnosed turn
with the lesson as hidden guidance.

Data sets are made of the retry without it: no message holds the guidance, and the turns before the
pivot carry no loss.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from synth.engine.study.method import Method, synthesizer
from synth.engine.study.rebuilding import world_versions
from synth.engine.study.shard import OF_ALL, ShardContext
from synth.engine.study.stage_context import StageContext
from synth.ledger.ledger import Decision
from synth.ledger.log.state import IMPORT
from synth.rollout.limits import Limits
from synth.schemas import USER, ConfigError, Outcome, content_hash
from synth.stats.pdi import CarriedMemo
from synth.synthesizers.reflection.chain_rows import CHAIN, REFLECTION, record
from synth.synthesizers.reflection.equal_budget import played_at_equal_cost
from synth.synthesizers.reflection.guidance import EVIDENCE, PDI, RetryAttempts, attempts_of
from synth.synthesizers.reflection.measuring import (
    GAIN,
    OFF_POLICY,
    SAMPLES,
    Gain,
    Measures,
    judged,
)
from synth.synthesizers.reflection.playing import begun_chains, play_through, rows_of, stored_chains
from synth.synthesizers.reflection.reflection import Reflect, Reflector, ReflectorName
from synth.synthesizers.reflection.report import retry_report
from synth.synthesizers.reflection.rules import by_rules
from synth.synthesizers.reflection.token_cost import Prices

OF_A_CHAIN = (CHAIN, REFLECTION, PDI, EVIDENCE, GAIN, OFF_POLICY)
"""Metrics of the rows about a chain."""


@synthesizer("reflect_retry", version=2)
class ReflectRetry(Method):
    """Diagnoses trials and retries them.

    `reflector`: `model` asks the role `reflector_role`; `rules` reads what the check found wrong
    (its rows are `gold_informed`); `rules_blind` guesses from what the agent saw; `auto` is `model`
    where the flow has the role, else `rules`.
    `evidence`: a model is shown the check's findings too, which makes its rows gold-informed.
    `role`: whose trials are retried, and who retries them.
    `attempts`: so many retries in a chain, each from a turn of the one before and with the lessons
    of all before; `{n: 4, memo: true}` carries a memo of all attempts instead, and measures the
    online proxy of PDI.
    `per_task`: at most so many trials of a task; left out, all.
    `truncated`: trials that ran into a limit are retried too, and count as not solved.
    `inefficient`: successes that the reflector calls so are retried too.
    `likelihood`: the role `scorer`, where the flow has it, scores kept retries with and without
    guidance; it needs an engine that gives probabilities.
    `off_policy_samples`: of the unguided policy at each kept retry's pivot, 0 for none; left out, 8
    of a model and none of a script.
    `equal_budget`: the cost of each retry, at these `prices`, is spent on four other arms too,
    whose episodes go into no data set.
    `limits`: left out, those under which the role's trials were played, so that both are judged
    alike.
    `shard` trials are committed together; `live` episodes are under way at a time.
    """

    unit = "retries"
    at_once = None
    concludes_early = True

    reflector: Literal["auto", "model", "rules", "rules_blind"] = "auto"
    reflector_role: str = "reflector"
    evidence: bool = False
    role: str = "explorer"
    attempts: Annotated[RetryAttempts, BeforeValidator(attempts_of)] = RetryAttempts()
    memo: CarriedMemo | None = None
    per_task: int | None = Field(default=None, ge=1)
    truncated: bool = True
    inefficient: bool = False
    likelihood: bool = True
    scorer: str = "student"
    off_policy_samples: int | None = Field(default=None, ge=0, le=1000)
    equal_budget: bool = False
    prices: Prices = Prices()
    limits: Limits | None = None
    shard: int = Field(default=200, ge=1, le=1000)
    live: int | None = Field(default=None, ge=1)

    def agents(self) -> Sequence[str]:
        """The role that retries. Raises `ConfigError` for a role that plays no agent."""
        if self.role == USER or self.role not in self.bound.roles:
            raise ConfigError(
                f"{self.bound.name}: role {self.role!r} plays no agent in this flow; add `models: "
                f"{{{self.role}: ...}}`, or name another"
            )
        return (self.role,)

    def bind(self) -> None:
        """Looks up the reflector and the scorer, and decides what is measured."""
        if self.equal_budget and self.attempts.n > 1:
            raise ConfigError(
                "equal_budget compares one retry with what else its cost would buy; leave "
                "attempts at 1"
            )

        # two spellings of one setting
        self.memory = self.attempts.memo or self.memo
        roles = self.bound.roles
        asked = roles.get(self.reflector_role)
        scoring = roles.get(self.scorer)
        auto: ReflectorName = "rules" if asked is None else "model"
        self.chosen: ReflectorName = auto if self.reflector == "auto" else self.reflector
        self.reflecting = asked if self.chosen == "model" else None
        if self.chosen == "model" and asked is None:
            raise ConfigError(
                f"{self.bound.name}: reflector: model asks the role {self.reflector_role!r}; add "
                f"`models: {{{self.reflector_role}: ...}}`"
            )
        if self.reflecting is not None and self.reflecting.model is None:
            raise ConfigError(
                f"{self.bound.name}: the role {self.reflector_role!r} has no model to ask; name "
                "one as `model`, or set reflector: rules_blind"
            )

        able = self.likelihood and scoring is not None and scoring.model is not None
        samples = self.off_policy_samples
        if samples is None:
            samples = 0 if self.player.role.model is None else SAMPLES
        self.measures = Measures(
            (self.scorer, scoring) if able and scoring is not None else None, samples
        )
        intervenes = self.memory is not None and self.memory.intervene
        looks = {"rules": True, "model": self.evidence, "rules_blind": False}[self.chosen]
        self.gold_informed = intervenes or looks
        """Whether the reflector looks at what the check found wrong, or a memo intervenes, which
        depends on which parts failed again.
        """

    def _of_a_chain(self) -> Mapping[str, Any]:
        """The settings that determine a chain."""
        found: dict[str, Any] = {
            "reflector": self.chosen,
            **self.player.identity(),
        }
        if self.reflecting is not None:
            policy = self.reflecting.policy
            asked = {"model": policy.model, "sampling": policy.sampling}
            found["asked"] = {**asked, "evidence": self.evidence}

        if self.equal_budget:
            found["equal_budget"] = self.prices.model_dump()
        if self.memory is not None:
            found["memo"] = self.memory.model_dump()

        return found

    def key_settings(self) -> Mapping[str, Any]:
        """The settings that determine the retries; how they are cut into shards does not."""
        return {
            **self._of_a_chain(),
            "attempts": self.attempts.n,
            "per_task": self.per_task,
            "outcomes": self._outcomes(),
            "measured": self.measures.how,
        }

    def _outcomes(self) -> list[str]:
        """The outcomes of trials that are retried."""
        chosen = {
            Outcome.FAILURE: True,
            Outcome.TRUNCATED: self.truncated,
            Outcome.SUCCESS: self.inefficient,
        }
        return [outcome.value for outcome, taken in chosen.items() if taken]

    def inputs(self, stage: StageContext) -> Any:
        """The base trials, and the versions of the environments of imported ones."""
        bases = self._bases(stage)
        return [
            list(bases),
            world_versions(stage.run, set(bases.values())),
        ]

    def _bases(self, stage: StageContext) -> dict[str, str]:
        """(trial -> task): the trials of the role, and imported ones; those of a task in the order
        of their numbers.
        """

        sql = """SELECT trajectory_id, task_id FROM trajectories
            WHERE ((synthesizer = 'rollout' AND role = ?) OR synthesizer = ?)
            AND outcome IN (SELECT unnest(?))
            QUALIFY row_number() OVER (PARTITION BY task_id ORDER BY trial, trajectory_id) <= ?
            ORDER BY task_id, trial, trajectory_id"""
        # larger than any number of trials: SQL has no comparison with "no limit"
        most = 2**62 if self.per_task is None else self.per_task

        return dict(stage.select(sql, self.role, IMPORT, self._outcomes(), most))

    def units(self, stage: StageContext) -> Sequence[str]:
        """The base trials."""
        return list(self._bases(stage))

    def left(self, stage: StageContext, units: Sequence[str]) -> Sequence[str]:
        """The trials whose chains are not settled under this key; chains that another key of the
        stage has settled are remembered, to be copied.
        """

        about = self._of_a_chain()
        self._keys = {base: content_hash([about, base]) for base in units}
        self._stored = stored_chains(
            stage,
            self._keys.values(),
            self.attempts.n,
            self.measures.how,
        )
        settled = self._stored.settled
        left = [
            unit
            for unit in units
            # a chain of another key is copied under this one, so it is left to be done too
            if unit not in settled or settled[unit].stage_key != stage.stage_key
        ]

        if left and self.reflector == "auto" and self.chosen == "rules":
            stage.run.say_once(
                f"{stage.name}: no role {self.reflector_role!r} among the flow's models, so rules "
                "reflect, by what the check found wrong: the retries are gold_informed, and show "
                "nothing about whether reflection works"
            )

        return left

    def progress_of(self, unit: str) -> int:
        """Progress counts retries; how many episodes a budget buys is not known before."""
        return 0 if self.equal_budget or unit in self._stored.settled else self.attempts.n

    def shown(self, stage: StageContext) -> Iterable[str]:
        """The retries that are stored already."""
        return self._stored.retries

    async def play(self, shard: ShardContext, units: Sequence[str]) -> None:
        """Makes the chains of some trials, and writes those that ended."""
        settled = self._stored.settled
        for unit in units:
            if unit in settled:
                shard.of(unit).scores += rows_of(shard.run.ledger, settled[unit], OF_A_CHAIN)

        left = {unit: self._keys[unit] for unit in units if unit not in settled}
        chains = await begun_chains(shard, left, self.unfit, self.memory)

        for chain in chains:
            chain.gold_informed |= self.gold_informed

        reflect: Reflect = by_rules(self.chosen)
        if self.reflecting is not None:
            reflect = Reflector(self.reflector_role, self.reflecting, self.evidence)

        await play_through(shard, chains, reflect, self.attempts.n)
        await self.measures.measure(shard, [chain for chain in chains if chain.reason])
        ended = [chain for chain in chains if chain.reason and chain.measured]
        if self.equal_budget:
            stopped = shard.run.stopped is not None
            apart = None if stopped else await played_at_equal_cost(shard, ended, self.prices)
            ended = [] if apart is None else ended
            shard.of(OF_ALL).apart += apart or ()

        for chain in chains:
            result = shard.of(chain.base.trajectory_id)
            result.open = chain not in ended or not chain.settled
            if chain in ended:
                record(chain, result, self.prices)

    def finalize(self, stage: StageContext) -> Sequence[Decision]:
        """Decides which kept retries are likelier under their guidance than under that of other
        tasks; the threshold is that of all retries together.
        """
        return judged(stage.rows(Gain, GAIN))

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """The trials, the retries that hold, reasons of the others, the cost, and the comparison at
        equal cost.
        """

        asked = self.reflecting
        reflector = self.chosen if asked is None else f"model {asked.policy.model}"

        return retry_report(
            stage,
            reflector,
            gold_informed=self.gold_informed,
            likelihood=self.likelihood,
            seed=self.player.seed,
        )
