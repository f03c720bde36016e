"""Measures the effect of one act at a recorded state against another one, by live continuations on
both sides.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from synth.branching import recorded_opening
from synth.engine.context import Role, Run
from synth.engine.study.effects.effect import FRESH, Effect, Side, TestMethod
from synth.engine.study.episodes import Continuation, ShardEpisodes
from synth.engine.study.player import Player
from synth.rollout.episode import EpisodeSpec
from synth.rollout.start import BranchPoint, ForcedAct
from synth.schemas import AgentTurn, Message, Outcome, Task, Trajectory, content_hash, view_messages
from synth.stats.sequential import MOST, MOST_LOST, ROUND, decide_despite

FRESH_FROM = 65
"""How many draws after those of the test they begin: no test of the state ever looks at them."""
MIXED = "mixed"
"""The weights of a trajectory whose turns were sampled from several ones."""


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
    counted; an accepted test is followed by fresh ones. The bad side takes the draws `draws_from`
    ... + 7, the good side the eight after them, also where both put the same act (A/A). Tests that
    pass the same `episodes` play a side that they have in common once; so does one that the ledger
    has already. A policy that is deterministic, in an environment that is, is asked once per side
    (`flip_deterministic`). Raises `SynthError` only for what stops the run.
    """

    flip = player.certain(episodes.run, state.task)
    most = 1 if flip else MOST
    specs = partial(_specs, episodes.run, player, state, most)
    good_specs, bad_specs = specs(good, draws_from + MOST), specs(bad, draws_from)
    effect = _begun(flip=flip)

    async with episodes.at(state.parent.trajectory_id, state.turn):
        while effect.accepted is None and effect.reason is None:
            here = slice(effect.stopped_at, min(most, effect.stopped_at + ROUND))
            found, made = await episodes.filled([*good_specs[here], *bad_specs[here]], player)
            effect = _with_round(effect, found, made)

        if effect.accepted and not flip:
            first = draws_from + FRESH_FROM
            sides = specs(good, first + MOST), specs(bad, first)
            effect = await _continued_anew(episodes, player, effect, sides)

    return effect


def _specs(
    run: Run, player: Player, state: DecisionState, most: int, put: ForcedAct, first: int
) -> list[EpisodeSpec]:
    """Specifies the continuations of one side, from draw number `first` on."""
    draws = range(first, first + most)
    return [continued(run, player, state, (put,), draw) for draw in draws]


def _begun(*, flip: bool) -> Effect:
    """A test that has seen nothing yet."""
    method: TestMethod = "flip_deterministic" if flip else "sequential"
    return Effect(accepted=None, method=method, good=Side(), bad=Side(), continuations=())


async def _continued_anew(
    episodes: ShardEpisodes,
    player: Player,
    effect: Effect,
    sides: Sequence[Sequence[EpisodeSpec]],
) -> Effect:
    """An accepted test with fresh continuations of both sides; what faults took is played again by
    another draw, as long as there are any. Where a ceiling kept some from starting the test is
    undefined, until a rerun.
    """
    fresh = [Side(), Side()]

    for at, specs in enumerate(sides):
        side = fresh[at]
        while (short := FRESH - side.n) > 0 and len(side.played) < len(specs):
            here = slice(len(side.played), len(side.played) + short)
            found, made = await episodes.filled(specs[here], player)
            side = Side((*side.played, *found))
            effect = replace(effect, continuations=[*effect.continuations, *made])
            if any(one.trajectory_id is None and one.fault is None for one in found):
                return replace(effect, accepted=None, reason="not_started")

        fresh[at] = side

    return replace(effect, fresh_good=fresh[0], fresh_bad=fresh[1])


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
    weights = {one.weights_id for one in valid if one.weights_id is not None}
    if len(weights) > 1 or MIXED in weights:
        return "mixed_weights"

    if effect.invalid <= MOST_LOST * 2 * effect.stopped_at:
        return None

    unknown = any(one.outcome is Outcome.UNKNOWN for one in effect.seen)
    return "no_verdict" if unknown else "faults"


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

    # the same draw number after another act, or at another state, is another draw
    return replace(spec, luck=spec.slot_id)
