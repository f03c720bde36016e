"""What is measured of the kept retries of a shard: how much likelier their guidance made them,
beside guidance of other tasks, which is judged over the whole stage; and whether the unguided
policy would ever do what they do first (rigor.md, provenance).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any

import msgspec

from synth.boundary import FaultError, guard_async
from synth.engine.asking import RoleClient
from synth.engine.context import Role
from synth.engine.study.alternatives import drawn_acts, played_there
from synth.engine.study.continuations import Continuations
from synth.engine.study.player import DecisionState
from synth.ledger.ledger import Score
from synth.ledger.tables.role_reply import RoleReply
from synth.schemas.canonical import content_hash
from synth.schemas.environment import AgentTurn
from synth.schemas.errors import ConfigError
from synth.schemas.model import ScoringModel
from synth.schemas.outcome import Fault
from synth.schemas.trajectory import Trajectory
from synth.side_by_side import run_workers
from synth.synthesizers.reflection.chain import Chain
from synth.synthesizers.reflection.playing import ASKED_AT_ONCE, ShardPlayer
from synth.text.leaks.likelihood import (
    LEAST_SHUFFLED,
    largest_gain,
    turn_gains_of_each,
)
from synth.text.transcript.acts import act_digest

GAIN = "guidance_gain"
"""Metric: max g_t over the effectful turns of a retry under its own guidance; `shuffled` in its
detail, under guidance of other tasks.
"""
FEWEST_SHUFFLED = 4
"""Guidances of other tasks under which each retry is scored, more where a shard has few retries."""
OFF_POLICY = "off_policy_pivot"
"""Metric: 1 where none of the unguided policy's samples at the pivot is the retry's act there, 0
where one is, None where not known.
"""
PURPOSE = "off_policy"
SAMPLES = 8


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """What stands behind a gain: the chain, the model that scored, the largest gain under guidance
    of each of some other tasks (`shuffled`), and why there is none.
    """

    key: str = ""
    model: str | None = None
    shuffled: tuple[float, ...] = ()
    scorings: int = 0
    reason: str | None = None


class OffPolicy(msgspec.Struct, frozen=True):
    """How a tag was found: `method` deterministic, sampled (`samples` times) or none, and why it is
    not known.
    """

    key: str
    samples: int
    method: str
    reason: str | None


class SampledThere(msgspec.Struct, frozen=True):
    """Acts of the unguided policy at a pivot, and why there are not more; `asked`: samples."""

    method: str
    acts: Sequence[AgentTurn] = ()
    asked: int = 0
    lost: str | None = None
    replies: tuple[RoleReply, ...] = ()


@dataclass(frozen=True, slots=True)
class Measures:
    """By which scoring model (its role's name, the role), and how many samples of the unguided
    policy.
    """

    scorer: tuple[str, Role] | None
    samples: int

    @property
    def how(self) -> Mapping[str, Any]:
        """By what a chain says how it was measured."""
        scorer = None if self.scorer is None else self.scorer[1].policy.model
        return {"scorer": scorer, "off_policy_samples": self.samples}


class Measuring:
    """Measures the kept retries of one shard; of the unguided policy it takes samples until one
    does the same.
    """

    def __init__(self, player: ShardPlayer, measures: Measures) -> None:
        self._player, self._measures = player, measures
        run, shard, who = player.run, player.shard, player.who
        sampled = measures.samples and not who.role.policy.deterministic
        model = who.role.model
        self._asking = (
            RoleClient(run, shard, str(who.name), who.role) if sampled and model else None
        )
        self._played = Continuations(run, shard) if sampled and not model else None

    async def measure(self, chains: Sequence[Chain]) -> None:
        """Scores and tags the kept retries; a chain that a ceiling kept from it stays
        unmeasured.
        """
        kept = [chain for chain in chains if chain.kept is not None]
        for chain in chains:
            chain.measured = {} if chain.kept is not None else self._measures.how
        scorer = self._scoring() if kept else None
        retries = [chain.kept for chain in kept if chain.kept is not None]
        waiting = iter(kept)

        async def worker() -> None:
            for chain in waiting:
                if chain.kept is None or chain.task is None or not self._player.run.may_start():
                    return
                gain = await self._gain(scorer, chain.kept, retries, chain.key)
                state = DecisionState(chain.kept, chain.task, chain.kept.pivot_turn or 0)
                found = await self._unguided(state, chain.retries[-1].of)
                if found.lost != "not_started":
                    chain.measures = [gain, _tag(state, found, chain.key)]
                    chain.measured = self._measures.how
                    chain.replies += found.replies

        await run_workers(min(ASKED_AT_ONCE, max(1, len(kept))), worker)

    def _scoring(self) -> ScoringModel | None:
        """The model that gives probabilities; None where the flow names none, or one whose engine
        gives none.
        """
        scorer, run = self._measures.scorer, self._player.run
        if scorer is None or scorer[1].open_scoring is None:
            return None
        try:
            return run.scoring(scorer[0], scorer[1].open_scoring)
        except ConfigError as error:
            line = f"likelihood leak: {error}"
            if line not in run.told_faults:
                run.told_faults.add(line)
                run.progress.say(line)
            return None

    async def _gain(
        self,
        scorer: ScoringModel | None,
        retry: Trajectory,
        others: Sequence[Trajectory],
        key: str,
    ) -> Score:
        """Scores a retry without guidance, under its own, and under that of retries of other tasks;
        why it is undefined stands in `reason`.
        """
        run, about = self._player.run, Gain(key=key, model=self._measures.how["scorer"])

        def told(value: float | None, reason: str | None, **found: Any) -> Score:
            why = reason if value is None else None
            detail = msgspec.structs.replace(about, reason=why, **found)
            return Score(retry.trajectory_id, GAIN, value, retry.pivot_turn, detail)

        if scorer is None or retry.guidance is None:
            return told(None, "no_scoring_model")
        texts = [retry.guidance, *_shuffled(retry, others)]
        try:
            score = partial(turn_gains_of_each, scorer, retry, texts)
            found = await guard_async(Fault.JUDGE, "scoring", score, None)
        except FaultError as error:
            run.faulted(error, "scoring")
            return told(None, f"fault:{error.fault}")
        run.role_breakers["scoring"].answered()
        own, *shuffled = (None if gains is None else largest_gain(retry, gains) for gains in found)
        known = tuple(gain for gain in shuffled if gain is not None)
        why = "not_scored" if found[0] is None else "no_effectful_turn"
        return told(own, why, shuffled=known, scorings=len(texts) + 1)

    async def _unguided(self, state: DecisionState, parent: Trajectory) -> SampledThere:
        """What the unguided policy does at the pivot of a retry of `parent`. A deterministic one is
        asked nothing: what it did there unguided stands in its own trial.
        """
        who, samples = self._player.who, self._measures.samples
        policy = who.role.policy
        if policy.deterministic:
            own = (parent.policy, parent.model) == (policy.name, policy.model)
            if parent.guidance is not None or not own or state.turn >= len(parent.turns):
                return SampledThere("deterministic", lost="not_its_own_trial")
            act = DecisionState(parent, state.task, state.turn).own
            return SampledThere("deterministic", [act])
        if self._asking is not None:
            enough = partial(_has_own, state)
            drawn = await drawn_acts(
                self._asking, state, who.seed, samples, enough, purpose=PURPOSE
            )
            return SampledThere("sampled", drawn.acts, drawn.asked, drawn.lost, drawn.replies)
        if self._played is None:
            return SampledThere("none", lost="not_measured")
        found = await played_there(self._played, who, state, samples)
        acts = [other.turn for other in found.alternatives]
        return SampledThere("sampled", acts, samples, found.lost)


def _shuffled(retry: Trajectory, others: Sequence[Trajectory]) -> list[str]:
    """Guidance of other tasks that says something else, in a drawn order; together with that of the
    other retries at least twenty texts.
    """
    texts = {
        other.guidance
        for other in others
        if other.task_id != retry.task_id and other.guidance != retry.guidance
    }
    order = sorted(filter(None, texts), key=lambda text: content_hash([retry.trajectory_id, text]))
    return order[: max(FEWEST_SHUFFLED, ceil(LEAST_SHUFFLED / max(1, len(others))))]


def _has_own(state: DecisionState, acts: Sequence[AgentTurn]) -> bool:
    """Whether one of the acts is what the retry did at the state."""
    own = act_digest(state.own)
    return any(act_digest(act) == own for act in acts)


def _tag(state: DecisionState, found: SampledThere, key: str) -> Score:
    """The tag of a retry."""
    same = _has_own(state, found.acts)
    value = 0.0 if same else 1.0 if found.lost is None else None
    about = OffPolicy(key, found.asked, found.method, None if same else found.lost)
    return Score(state.parent.trajectory_id, OFF_POLICY, value, state.turn, about)
