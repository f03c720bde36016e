"""Measures the kept retries of a shard: how much likelier their guidance made them than guidance of
other tasks, and whether the unguided policy would ever begin as they do (rigor.md, provenance).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any

import msgspec
from msgspec.structs import replace

from synth.boundary import FaultError, guard_async
from synth.engine.context import Role, Run
from synth.engine.study.alternatives import Ask, Drawn
from synth.engine.study.shard import ASKED_AT_ONCE, ShardContext, UnitResult
from synth.engine.study.step_effect import DecisionState
from synth.ledger.ledger import Decision, Score
from synth.ledger.typed import Read
from synth.schemas import AgentTurn, ConfigError, Fault, ScoringModel, Trajectory, content_hash
from synth.synthesizers.reflection.retry_chain import RetryChain
from synth.text.leaks.likelihood import (
    LEAST_SHUFFLED,
    largest_gain,
    leaks_by_likelihood,
    threshold,
    turn_gains_of_each,
)
from synth.text.transcript.acts import act_digest

GAIN = "guidance_gain"
"""Metric: max g_t over the effectful turns of a retry under its own guidance; `shuffled` in its
detail, under guidance of other tasks.
"""
FEWEST_SHUFFLED = 4
"""The guidances of other tasks under which each retry is scored, more where a shard has few
retries.
"""
OFF_POLICY = "off_policy_pivot"
"""Metric: 1 where none of the unguided policy's samples at the pivot is the retry's act there, 0
where one is, None where not known.
"""
FILTER = "likelihood_leak"
PURPOSE = "off_policy"
SAMPLES = 8


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence of a gain: the chain, the model that scored, the largest gain under each
    guidance of another task (`shuffled`), and the reason where there is none.
    """

    key: str = ""
    model: str | None = None
    shuffled: tuple[float, ...] = ()
    scorings: int = 0
    reason: str | None = None


class OffPolicy(msgspec.Struct, frozen=True):
    """The evidence of a tag: `method` deterministic, sampled (`samples` times) or none, and the
    reason where it is unknown.
    """

    key: str
    samples: int
    method: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Measures:
    """Scores with one model (`scorer`: its role's name, the role), and samples the unguided policy
    so often.
    """

    scorer: tuple[str, Role] | None
    samples: int

    @property
    def how(self) -> Mapping[str, Any]:
        """The settings of the measures, which a chain records."""
        scorer = None if self.scorer is None else self.scorer[1].policy.model
        return {"scorer": scorer, "off_policy_samples": self.samples}

    def scoring(self, run: Run) -> ScoringModel | None:
        """The model that gives probabilities; None where the flow names none, or its engine gives
        none.
        """

        if self.scorer is None or self.scorer[1].open_scoring is None:
            return None

        try:
            return run.scoring(self.scorer[0], self.scorer[1].open_scoring)
        except ConfigError as error:
            run.say_once(f"likelihood leak: {error}")
            return None

    async def measure(self, shard: ShardContext, chains: Sequence[RetryChain]) -> None:
        """Scores and tags the kept retries; a chain that a ceiling kept from it stays
        unmeasured.
        """

        kept = {chain.base.trajectory_id: chain for chain in chains if chain.kept is not None}
        for chain in chains:
            chain.measured = {} if chain.kept is not None else self.how

        retries = [chain.last for chain in kept.values()]
        scorer = self.scoring(shard.run) if kept else None

        async def measured(chain: RetryChain, result: UnitResult) -> None:
            if chain.task is None or not shard.run.may_start():
                return

            key = chain.key
            retry = chain.last
            value, gain = await self._gain(shard.run, scorer, retry, retries)
            gain = replace(gain, key=key, reason=gain.reason if value is None else None)
            state = DecisionState(retry, chain.task, retry.pivot_turn or 0)
            method, drawn = await self._unguided(shard, state, chain.retries[-1].of, result)

            if drawn.lost != "not_started":
                score = Score(retry.trajectory_id, GAIN, value, retry.pivot_turn, gain)
                chain.measures = [score, _tag(state, method, drawn, key)]
                chain.measured = self.how

        await shard.each(kept, measured, at_once=ASKED_AT_ONCE)

    async def _gain(
        self, run: Run, scorer: ScoringModel | None, retry: Trajectory, others: Sequence[Trajectory]
    ) -> tuple[float | None, Gain]:
        """Scores a retry without guidance, under its own, and under that of retries of other tasks;
        the `reason` holds where the gain is None.
        """

        model = self.how["scorer"]
        if scorer is None or retry.guidance is None:
            return None, Gain(model=model, reason="no_scoring_model")

        texts = [retry.guidance, *_shuffled(retry, others)]

        try:
            score = partial(turn_gains_of_each, scorer, retry, texts)
            found = await guard_async(Fault.JUDGE, "scoring", score, None)
        except FaultError as error:
            run.faulted(error, "scoring")
            return None, Gain(model=model, reason=f"fault:{error.fault}")

        run.role_breakers["scoring"].answered()
        # the first text is the own guidance, see `texts`
        own, *shuffled = (None if gains is None else largest_gain(retry, gains) for gains in found)
        known = tuple(gain for gain in shuffled if gain is not None)
        why = "not_scored" if found[0] is None else "no_effectful_turn"

        return own, Gain(model=model, shuffled=known, scorings=len(texts) + 1, reason=why)

    async def _unguided(
        self, shard: ShardContext, state: DecisionState, parent: Trajectory, result: UnitResult
    ) -> tuple[str, Drawn]:
        """Samples the unguided policy at the pivot of a retry of `parent`; (method, acts). A
        deterministic policy need not be asked: its own trial shows what it does there.
        """

        player = shard.player
        policy = player.role.policy

        if policy.deterministic:
            own = (parent.policy, parent.model) == (policy.name, policy.model)
            if parent.guidance is not None or not own or state.turn >= len(parent.turns):
                return "deterministic", Drawn((), lost="not_its_own_trial")

            return "deterministic", Drawn([DecisionState(parent, state.task, state.turn).own])

        if not self.samples:
            return "none", Drawn((), lost="not_measured")

        ask = Ask(shard, state, result)
        enough = partial(_has_own, state)

        return "sampled", await ask.drawn(player, self.samples, enough, purpose=PURPOSE)


def judged(rows: Sequence[Read[Gain]]) -> list[Decision]:
    """Decides on each retry: rejects gains above the 95th percentile of all shuffled gains of the
    stage; undefined where a gain is unknown.
    """

    limit = threshold([gain for row in rows for gain in row.about.shuffled])
    words = {True: "likelier_under_guidance", False: "clean"}
    found = []

    for row in rows:
        leaks = leaks_by_likelihood(row.value, limit)
        undefined = row.about.reason or "fewer_than_20_shuffled"
        reason = undefined if leaks is None else words[leaks]
        keep = None if leaks is None else not leaks
        about = {"limit": limit}
        found.append(Decision(row.subject_id, FILTER, keep, reason, row.value, about))

    return found


def _shuffled(retry: Trajectory, others: Sequence[Trajectory]) -> list[str]:
    """Guidances of other tasks in a drawn order, so many that the retries of the shard have twenty
    together.
    """

    own = {None, "", retry.guidance}
    texts = {other.guidance for other in others if other.task_id != retry.task_id} - own
    order = sorted(map(str, texts), key=lambda text: content_hash([retry.trajectory_id, text]))
    return order[: max(FEWEST_SHUFFLED, ceil(LEAST_SHUFFLED / max(1, len(others))))]


def _has_own(state: DecisionState, acts: Sequence[AgentTurn]) -> bool:
    """Whether one of the acts is the retry's own."""
    return act_digest(state.own) in map(act_digest, acts)


def _tag(state: DecisionState, method: str, drawn: Drawn, key: str) -> Score:
    """The row that tags a retry as off-policy or not."""
    same = _has_own(state, drawn.acts)
    unknown = None if same else drawn.lost
    value = None if unknown is not None else float(not same)
    about = OffPolicy(key, drawn.asked, method, unknown)
    return Score(state.parent.trajectory_id, OFF_POLICY, value, state.turn, about)
