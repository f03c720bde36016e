"""Reflect-then-retry: failed trials are diagnosed, and played again from the diagnosed turn with
the lesson whispered (R3L).

Data sets are made of the retry without the whisper: no message holds the guidance, and the turns
before the pivot carry no loss.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from synth.engine.asking import RoleClient
from synth.engine.context import Role, Run, Synthesizer
from synth.engine.numbers import counted_noun, short_count
from synth.engine.study.method import method_report
from synth.engine.study.player import Player, places_for, trial_limits
from synth.engine.study.rebuilding import world_versions
from synth.ledger.conclude import finalize_labels
from synth.ledger.ledger import Ledger, Score, StageRef
from synth.ledger.log.state import evidence_key
from synth.ledger.tables.row_validation import ended_line
from synth.ledger.typed import read
from synth.ledger.views import connect
from synth.rollout.limits import Limits
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.schemas.outcome import Outcome
from synth.schemas.stage import Plan, Shard
from synth.schemas.trajectory import Trajectory
from synth.schemas.user import USER
from synth.stats.pdi import CarriedMemo
from synth.synthesizers.reflection.chain import Chain
from synth.synthesizers.reflection.equal_budget import played_at_equal_cost
from synth.synthesizers.reflection.guidance import EVIDENCE, PDI
from synth.synthesizers.reflection.measuring import (
    GAIN,
    OFF_POLICY,
    SAMPLES,
    Gain,
    Measures,
    Measuring,
    OffPolicy,
)
from synth.synthesizers.reflection.playing import SYNTHESIZER_NAME, Playing, ShardPlayer
from synth.synthesizers.reflection.recorded import (
    CHAIN,
    REFLECTION,
    VERIFIED,
    ChainEnd,
    base_trials,
    chains_of,
    finished,
    recorded,
)
from synth.synthesizers.reflection.reflectors import ReflectorName, by_model, by_rules
from synth.synthesizers.reflection.reporting import (
    RetryUnit,
    compared,
    equal_budget_in_words,
    judged,
    likelihood_in_words,
    off_policy_in_words,
)
from synth.synthesizers.reflection.token_cost import CHARACTERS_PER_TOKEN, Prices

AGAIN = "again"
"""Shards of chains that another key of the stage has settled: their rows are taken over."""
OF_A_CHAIN = (CHAIN, REFLECTION, PDI, EVIDENCE, GAIN, OFF_POLICY)


class ReflectRetrySettings(BaseModel):
    """Who diagnoses, what is retried, how often, within which limits.

    `reflector`: `model` asks the role `reflector_role`; `rules` reads what the check found wrong
    (its rows are `gold_informed`);
    `rules_blind` guesses from what the agent saw; `auto` is `model` where the flow has the role,
    else `rules`. `evidence`: a model is shown
    the check's findings too, which makes its rows gold-informed.
    `attempts`: so many retries in a chain, each from a turn of the one before and with the lessons
    of all before. Failures are retried,
    with `truncated` also what ran into a limit (it counts as not solved), with `inefficient` also
    successes that the reflector calls so.
    `limits`: left out, those under which the role's trials were played, so that both are judged
    alike.
    `likelihood`: kept retries are scored with and without guidance by the role `scorer`, where the
    flow has it; it needs an engine that
    gives probabilities. `off_policy_samples`: of the unguided policy at each kept retry's pivot, 0
    for none; left out, 8 of a model and
    none of a script.
    `attempts: {n: 4, memo: true}`: a memo of all attempts is whispered, not the lessons alone, and
    the online proxy of PDI measured.
    `equal_budget`: what each retry has cost is spent on four other arms too, whose episodes go into
    no data set.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    reflector: Literal["auto", "model", "rules", "rules_blind"] = "auto"
    reflector_role: str = "reflector"
    evidence: bool = False
    role: str = "explorer"
    attempts: int = Field(default=1, ge=1, le=20)
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

    @model_validator(mode="before")
    @classmethod
    def _attempts_with_a_memo(cls, value: Any) -> Any:
        """`attempts: {n: 4, memo: true}`, or the memo's settings in place of true."""
        if not isinstance(value, Mapping) or not isinstance(value.get("attempts"), Mapping):
            return value
        given = dict(value["attempts"])
        unknown = sorted(map(str, given.keys() - {"n", "memo"}))
        if unknown or "n" not in given:
            raise ValueError(
                f"attempts: {f'{unknown[0]} is not a setting' if unknown else 'n is missing'}; "
                "give {n: 4, memo: true}"
            )
        memo = given.get("memo")
        also = {} if memo in (None, False) else {"memo": {} if memo is True else memo}
        return {**value, "attempts": given["n"], **also}

    @model_validator(mode="after")
    def _one_retry_to_compare(self) -> "ReflectRetrySettings":
        if self.equal_budget and self.attempts > 1:
            raise ValueError(
                "equal_budget compares one retry with what else its cost would buy; leave "
                "attempts at 1"
            )
        return self


@dataclass(frozen=True, slots=True)
class ReflectRetry:
    """The stage `reflect_retry`."""

    name: str
    config: ReflectRetrySettings
    reflector: ReflectorName
    reflecting: Role | None
    player: Player
    measures: Measures
    loud: str | None = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """What determines the retries; how they are cut into shards does not."""
        return {
            **self._of_a_chain(),
            "attempts": self.config.attempts,
            "per_task": self.config.per_task,
            "outcomes": self._outcomes(),
            "measured": self.measures.how,
        }

    def _of_a_chain(self) -> Mapping[str, Any]:
        config, found = self.config, dict[str, Any]()
        if self.reflecting is not None:
            policy = self.reflecting.policy
            found["asked"] = {
                "model": policy.model,
                "sampling": policy.sampling,
                "evidence": config.evidence,
            }
        if config.equal_budget:
            found["equal_budget"] = config.prices.model_dump()
        if config.memo is not None:
            found["memo"] = config.memo.model_dump()
        return {"reflector": self.reflector, **self.player.identity(), **found}

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
        config = self.config
        intervenes = config.memo is not None and config.memo.intervene
        return (
            intervenes
            or self.reflector == "rules"
            or (self.reflector == "model" and config.evidence)
        )

    def inputs(self, run: Run) -> str:
        """The base trials, and the versions of the worlds of imported ones."""
        bases = self._bases(run)
        return content_hash([list(bases), world_versions(run, set(bases.values()))])

    def _bases(self, run: Run) -> dict[str, str]:
        """Base trials with their tasks."""
        config = self.config
        return base_trials(run.ledger, config.role, self._outcomes(), config.per_task)

    def _keys(self, bases: Sequence[str]) -> dict[str, str]:
        """Base trials by the keys of their chains."""
        about = self._of_a_chain()
        return {content_hash([about, base]): base for base in bases}

    def plan(self, run: Run, stage_key: str) -> Plan:
        """Chains that are not settled, and rows of those that another key of the stage has
        settled.
        """
        ledger, config = run.ledger, self.config
        bases = self._keys(list(self._bases(run)))
        settled = finished(ledger, bases, stage_key, config.attempts, self.measures.how)
        going = recorded(ledger, bases.keys() - settled.keys())
        own = ledger.state.trajectories_of(stage_key)
        retries = [identity for found in settled.values() for identity in found.about.retries]
        retries += [
            known.retry
            for (_, number), known in going.items()
            if number <= config.attempts and known.retry is not None
        ]
        adopted = sorted(identity for identity in retries if identity not in own)
        # all of them, cut alike in every run: a shard finds the replies in its journal by its name
        every, size = list(bases.items()), config.shard
        cut = [every[at : at + size] for at in range(0, len(every), size)]
        shards = [
            Shard(content_hash([base for _, base in part]), [base for _, base in part])
            for part in cut
            if any(key not in settled for key, _ in part)
        ]
        if self.loud is not None and shards:
            run.progress.say(f"{self.name}: {self.loud}")
        again = sorted(
            (key, found.stage_key) for key, found in settled.items() if found.stage_key != stage_key
        )
        if again:
            shards.append(Shard(f"{AGAIN}-{content_hash(again)}", again))
        # how many episodes a budget buys is not known before
        left = 0 if config.equal_budget else len(bases) - len(settled)
        at_once = self.player.places.limit // size + 4
        return Plan(shards, tuple(adopted), left * config.attempts, "retries", at_once=at_once)

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Makes a shard's chains and commits those that came to an end."""
        ledger, ref = run.ledger, StageRef(self.name, stage_key)
        named = ledger.refresh().named
        if shard.name.startswith(AGAIN):
            if (stage_key, shard.name) not in named:
                rows = _rows_of(ledger, dict(shard.items))
                ledger.commit(ref, scores=rows, name=shard.name)
            return
        player = ShardPlayer(run, shard.name, self.player)
        reflect = by_rules(self.reflector)
        if self.reflecting is not None:
            asking = RoleClient(run, shard.name, self.config.reflector_role, self.reflecting)
            reflect = by_model(asking, self.reflecting, evidence=self.config.evidence)
        chains = self._chains(run, stage_key, shard.items)
        await Playing(player, reflect, self.config.attempts).through(chains)
        await Measuring(player, self.measures).measure([chain for chain in chains if chain.reason])
        ended = [chain for chain in chains if chain.reason and chain.measured]
        if self.config.equal_budget:
            prices = self.config.prices
            apart = None if run.stopped else await played_at_equal_cost(ended, player, prices)
            if apart is None:
                return
            if apart:
                ledger.commit(StageRef(self.name, evidence_key(stage_key)), trajectories=apart)
        for attempt in self._commit(ledger, ref, ended) if ended else ():
            run.progress.say(ended_line(attempt))

    def _commit(self, ledger: Ledger, ref: StageRef, ended: Sequence[Chain]) -> list[Trajectory]:
        retries = [retry for chain in ended for retry in chain.retries]
        asked = [reply for retry in retries for reply in retry.reflected.replies]
        return ledger.commit(
            ref,
            trajectories=[
                attempt for retry in retries if not retry.known for attempt in retry.attempts
            ],
            decisions=[decision for retry in retries for decision in retry.decisions()],
            scores=[score for chain in ended for score in chain.scores(self.config.prices)],
            replies=[*asked, *(reply for chain in ended for reply in chain.replies)],
        )

    def _chains(self, run: Run, stage_key: str, bases: Sequence[str]) -> list[Chain]:
        """The chains of these base trials that nobody has settled meanwhile."""
        config, keys = self.config, self._keys(bases)
        settled = finished(run.ledger, keys, stage_key, config.attempts, self.measures.how)
        left = {key: base for key, base in keys.items() if key not in settled}
        trials = run.ledger.trajectories(set(left.values())) if left else ()
        found = {trial.trajectory_id: trial for trial in trials}
        tasks = run.ledger.tasks({trial.task_id for trial in found.values()})
        return [
            Chain(
                key,
                found[base],
                tasks.get(found[base].task_id),
                self.gold_informed or found[base].gold_informed,
                config.memo,
            )
            for key, base in left.items()
            if base in found
        ]

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """How many trials were attempted, how many retries stood up, and why the others did not;
        what it has cost, and the comparison at equal cost.

        Concludes first which kept retries are likelier under their guidance than under that of
        other tasks: the limit is of all of them.
        """
        ledger, chains = run.ledger, chains_of(run.ledger, stage_key)
        gains = list(read(ledger, Gain, (GAIN,), stage_key=stage_key))
        tags = list(read(ledger, OffPolicy, (OFF_POLICY,), stage_key=stage_key))
        decisions = judged(gains)
        finalize_labels(ledger, StageRef(self.name, stage_key), decisions=decisions)
        likelier = sum(decision.keep is False for decision in decisions)
        reasons = Counter(chain.reason for chain in chains)
        verified = reasons.pop(VERIFIED, 0) - likelier
        asked, gold = self.reflecting, self.gold_informed
        reflector = self.reflector if asked is None else f"model {asked.policy.model}"
        tagged = " (gold_informed: it looks at what the check found wrong)" if gold else ""
        also = [f"reflector {reflector}{tagged}", _spent(ledger, self.name, chains)]
        also += [likelihood_in_words(decisions, gains)] if gains and self.config.likelihood else []
        also += [off_policy_in_words(tags)] if tags else []
        more: dict[str, Any] = {"reflector": reflector, "gold_informed": gold}
        if units := _units(ledger, chains):
            found = compared(units, gold_informed=gold, reflector=reflector, seed=self.player.seed)
            more["equal_budget"] = found
            also += equal_budget_in_words(found)
        rejected = reasons + Counter({"leak:likelihood": likelier})
        priced = sum(chain.price for chain in chains)
        return method_report(
            "trials", len(chains), verified, rejected, also=also, priced_tokens=priced, **more
        )


def _rows_of(ledger: Ledger, keys: Mapping[str, str]) -> list[Score]:
    """The score rows of chains, given as key -> stage key, as they stand there."""
    return [
        Score(row.subject_id, row.metric, row.value, row.turn, row.about)
        for under in sorted(set(keys.values()))
        for row in read(
            ledger,
            dict[str, Any],
            OF_A_CHAIN,
            stage_key=under,
            having=("key", [key for key, one in keys.items() if one == under]),
        )
    ]


def _units(ledger: Ledger, chains: Sequence[ChainEnd]) -> list[RetryUnit]:
    """The failed trials whose arms were played."""
    sql = (
        "SELECT DISTINCT task_id FROM trajectories WHERE synthesizer = 'rollout' AND "
        "outcome = 'success'"
    )
    with connect(ledger) as connection:
        solved = {task_id for (task_id,) in connection.execute(sql).fetchall()}
    return [
        RetryUnit(chain.task, chain.task in solved, chain.arms)
        for chain in sorted(chains, key=lambda chain: chain.chain)
        if chain.arms
    ]


def _spent(ledger: Ledger, stage: str, chains: Sequence[ChainEnd]) -> str:
    """What was paid for, or an estimate where nothing was: scripts and rules use no tokens."""
    sql = (
        "SELECT sum(model_calls), sum(prompt_tokens + completion_tokens), sum(cost_usd) "
        "FROM spending WHERE stage = ?"
    )
    with connect(ledger) as connection:
        ((calls, tokens, dollars),) = connection.execute(sql, [stage]).fetchall()
    if calls:
        money = "" if dollars is None else f", ${dollars:,.4g}"
        return f"cost {short_count(tokens)} tokens in {counted_noun(calls, 'call')}{money}"
    estimate = short_count(round(sum(chain.price for chain in chains)))
    return (
        f"cost nothing: no model was asked (with one about {estimate} priced tokens, at "
        f"{CHARACTERS_PER_TOKEN} characters a token)"
    )


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
    limits = config.limits or trial_limits(flow, config.role)
    places = places_for(config.live, role)
    scoring = roles.get(config.scorer) if config.likelihood else None
    scorer = None if scoring is None or scoring.model is None else (config.scorer, scoring)
    samples = config.off_policy_samples
    if samples is None:
        samples = SAMPLES if role.model is not None else 0
    return ReflectRetry(
        name,
        config,
        chosen,
        asked if chosen == "model" else None,
        Player(config.role, role, limits, places, flow.seed, SYNTHESIZER_NAME),
        Measures(scorer, samples),
        loud,
    )


SYNTHESIZER = Synthesizer(ReflectRetrySettings, bind)
