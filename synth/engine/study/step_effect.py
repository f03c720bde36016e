"""Measures the effect of one act at a recorded state against another one, by live continuations on
both sides.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from synth.branching import recorded_opening
from synth.engine.context import Role, Run
from synth.engine.study.episodes import Continuation, ShardEpisodes
from synth.engine.study.player import Player
from synth.rollout.episode import EpisodeSpec
from synth.rollout.start import BranchPoint, ForcedAct
from synth.schemas import AgentTurn, Message, Outcome, Task, Trajectory, content_hash, view_messages
from synth.stats.sequential import MOST, MOST_LOST, ROUND, decide_despite

MIXED = "mixed"
"""The weights of a trajectory whose turns were sampled from several ones."""
TestMethod = Literal["sequential", "flip_deterministic"]


class DecisionState(msgspec.Struct, frozen=True):
    """The state before turn `turn` of a recorded trajectory."""

    parent: Trajectory
    task: Task
    turn: int

    @property
    def own(self) -> AgentTurn:
        """The policy's own turn there."""
        turn = self.parent.turns[self.turn]
        return AgentTurn(turn.content, turn.tool_calls, turn.thought)

    def shown_to(self, role: Role) -> list[Message]:
        """The chat that a role's model reads there."""
        thoughts = bool(role.policy.identity.get("send_thoughts"))
        turns = self.parent.turns[: self.turn]
        return view_messages(recorded_opening(self.parent), turns, thoughts=thoughts)


class Side(msgspec.Struct, frozen=True):
    """The continuations of one arm, in the order of their draws; those with a verdict count."""

    played: tuple[Continuation, ...] = ()

    @property
    def valid(self) -> list[Continuation]:
        """The continuations that came to an end."""
        return [one for one in self.played if one.trajectory_id is not None]

    @property
    def n(self) -> int:
        """The number of continuations with a verdict."""
        return len(self.valid)

    @property
    def successes(self) -> int:
        """The number of continuations that passed."""
        return sum(self.solved)

    @property
    def solved(self) -> tuple[bool, ...]:
        """Whether each valid continuation passed."""
        return tuple(one.outcome is Outcome.SUCCESS for one in self.valid)

    @property
    def ids(self) -> tuple[str, ...]:
        """The valid trajectories."""
        return tuple(str(one.trajectory_id) for one in self.valid)

    @property
    def lost(self) -> int:
        """The number of continuations that faults took."""
        return sum(one.fault is not None for one in self.played)

    @property
    def rate(self) -> float | None:
        """The share of successes; None without a verdict."""
        return self.successes / self.n if self.n else None


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a test of `good` against `bad`.

    `accepted` None: undefined, for the `reason` given. `continuations`: all attempts that were made
    for this test, to be committed with its label (those that it shares with other tests are not
    among them). `proposed`: the columns of a label about the act that `good` puts there.
    """

    accepted: bool | None
    method: TestMethod
    good: Side
    bad: Side
    continuations: Sequence[Trajectory]
    reason: str | None = None
    proposed: Mapping[str, Any] = {}

    @property
    def seen(self) -> tuple[Continuation, ...]:
        """The continuations of both sides."""
        return self.good.played + self.bad.played

    @property
    def open(self) -> bool:
        """Whether a rerun may still tell."""
        return self.accepted is None and any(one.open for one in self.seen)

    @property
    def stopped_at(self) -> int:
        """The continuations per side that the test looked at."""
        return len(self.bad.played)

    @property
    def invalid(self) -> int:
        """The number of continuations on both sides that faults took."""
        return self.good.lost + self.bad.lost

    def alternative(self) -> Mapping[str, Any]:
        """The tested act, and its source."""
        return self.proposed

    def evidence(self) -> Mapping[str, Any]:
        """Counts and continuations, as every label that stands on the test carries them; where the
        server changed its weights meanwhile, the test is undefined.
        """

        weights = (one.weights_id for one in self.seen if one.weights_id is not None)
        return {
            "q_pos": self.good.rate,
            "n_pos": self.good.n,
            "q_neg": self.bad.rate,
            "n_neg": self.bad.n,
            "method": self.method,
            "stopped_at": self.stopped_at,
            "invalid": self.invalid,
            "weights_id": next(weights, None),
            "pos_ids": list(self.good.ids),
            "neg_ids": list(self.bad.ids),
        }


async def step_effect(
    episodes: ShardEpisodes,
    player: Player,
    state: DecisionState,
    good: ForcedAct,
    bad: ForcedAct,
    *,
    draws_from: int = 1,
) -> Effect:
    """Tests whether `good` instead of `bad` before a recorded turn makes success likelier under the
    player's policy.

    Rounds of two continuations per side, at most eight; the recorded trajectory itself is never
    counted. The bad side takes the draws `draws_from` ... + 7, the good side the eight after them:
    both sides draw independently, also where both put the same act (A/A). Tests that pass the same
    `episodes` play a side that they have in common once; so does one that the ledger has already. A
    policy that is deterministic, in an environment that is, is asked once per side
    (`flip_deterministic`). Raises `SynthError` only for what stops the run.
    """

    flip = player.certain(episodes.run, state.task)
    most = 1 if flip else MOST

    def specs(put: ForcedAct, first: int) -> list[EpisodeSpec]:
        draws = range(first, first + most)
        return [continued(episodes.run, player, state, (put,), draw) for draw in draws]

    good_specs = specs(good, draws_from + MOST)
    bad_specs = specs(bad, draws_from)
    method: TestMethod = "flip_deterministic" if flip else "sequential"
    effect = Effect(accepted=None, method=method, good=Side(), bad=Side(), continuations=())

    async with episodes.at(state.parent.trajectory_id, state.turn):
        while effect.accepted is None and effect.reason is None:
            here = slice(effect.stopped_at, min(most, effect.stopped_at + ROUND))
            found, made = await episodes.filled([*good_specs[here], *bad_specs[here]], player)
            effect = _with_round(effect, found, made)

    return effect


def _with_round(
    effect: Effect,
    found: Sequence[Continuation],
    made: Sequence[Trajectory],
) -> Effect:
    """Adds a round, its good side first, and the verdict where there is one now."""
    half = len(found) // 2
    effect = replace(
        effect,
        good=Side((*effect.good.played, *found[:half])),
        bad=Side((*effect.bad.played, *found[half:])),
        continuations=[*effect.continuations, *made],
    )
    reason = _undefined(effect)

    return replace(effect, reason=reason, accepted=None if reason else _verdict(effect))


def _undefined(effect: Effect) -> str | None:
    """The reason why a test has no verdict; None where it may have one."""
    if any(one.trajectory_id is None and one.fault is None for one in effect.seen):
        return "not_started"

    valid = [*effect.good.valid, *effect.bad.valid]
    if any(one.outcome is Outcome.UNKNOWN for one in valid):
        return "no_verdict"

    weights = {one.weights_id for one in valid if one.weights_id is not None}
    if len(weights) > 1 or MIXED in weights:
        return "mixed_weights"

    return "faults" if effect.invalid > MOST_LOST * 2 * effect.stopped_at else None


def _verdict(effect: Effect) -> bool | None:
    """Whether `good` is accepted; None where more continuations are needed."""
    good = effect.good
    bad = effect.bad
    if effect.method == "flip_deterministic":
        return bool(good.successes) and not bad.successes
    verdict = decide_despite(good.successes, bad.successes, bad.lost, effect.stopped_at)
    return None if verdict == "more" else verdict == "accept"


def continued(
    run: Run,
    player: Player,
    state: DecisionState,
    puts: tuple[ForcedAct, ...],
    draw: int,
    guidance: str | None = None,
) -> EpisodeSpec:
    """Specifies continuation number `draw` of a state after the acts that are put there. An altered
    answer counts by what it would be at the recorded turn.
    """

    parent = state.parent
    also = dict[str, Any](draw=draw)
    for put in puts[:1]:
        here = parent.turns[state.turn : state.turn + 1]
        answers = here[0].observations if here else ()
        altered = None if put.alter is None else put.alter(answers)
        also["put"] = content_hash([put.act.turn, put.mask, put.injected, altered])

    if guidance is not None:
        also["guidance"] = content_hash(guidance)

    start = BranchPoint(parent, state.turn, puts)
    spec = player.episode(
        run,
        state.task,
        parent.trial,
        also,
        start,
        draw=draw,
        guidance=guidance,
    )
    # the slot of a single act is named without the list of acts
    if len(puts) > 1:
        slot = content_hash([spec.slot_id, [put.act.turn for put in puts]])
        spec = replace(spec, slot_id=slot)

    return spec
