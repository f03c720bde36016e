"""Which mistakes are tried: a function of the clean twins, the settings, and what modes have
yielded in the rounds before.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from random import Random

import msgspec

from synth.schemas.canonical import content_hash
from synth.schemas.trajectory import SampledBy, Trajectory
from synth.synthesizers.failures.context import InjectionSettings
from synth.synthesizers.failures.mistakes.modes import RULES
from synth.synthesizers.failures.mistakes.observation_faults import PLANTS
from synth.synthesizers.failures.mistakes.point import InjectionPoint, closing, same_act
from synth.synthesizers.failures.mistakes.transcript import InjectionTranscript
from synth.text.failure_modes import NATURAL

LEAST_YIELD = 0.1
"""Below it a mode is drawn no more often: one that hardly ever breaks a run would take all
attempts.
"""
HOPELESS_AFTER = 30
"""Attempts of which none was verified, after which a mode is not drawn any more."""
PRIOR_ATTEMPTS = 2
"""With half of them verified: what a mode is thought to yield before it was tried."""
WITH_MODE = frozenset({"rule", "role", "prompt"})
"""Strategies whose mode is drawn, and which count for the mix: a natural error has no known mode,
and a fault of the environment none at all.
"""
Cell = tuple[str, str]
"""Strategy and mode."""


class PlannedTask(msgspec.Struct, frozen=True):
    """A task of a round: its clean trials, and the failed ones to be repaired."""

    task_id: str
    twins: tuple[str, ...]
    failed: tuple[str, ...] = ()
    round: int = 0

    @property
    def identity(self) -> Sequence[object]:
        """What of it is not the round."""
        return [self.task_id, self.twins, self.failed]


class InjectionPlan(msgspec.Struct, frozen=True):
    """One attempt: the `ordinal`-th at its task. `mode`: of the legend, `natural`, or the kind of
    an observation fault.
    """

    task_id: str
    ordinal: int
    twin_id: str
    strategy: str
    mode: str
    turn: int

    @property
    def seed(self) -> str:
        """Of all that is drawn for the attempt."""
        return content_hash(list(msgspec.structs.astuple(self)))


class Offer(msgspec.Struct, frozen=True):
    """What the flow's policy and environment allow: `declined` are strategies that they rule out,
    and why.
    """

    strategies: Mapping[str, float]
    declined: Mapping[str, str]


def yields(attempted: Mapping[str, int], verified: Mapping[str, int]) -> dict[str, float]:
    """Share of a mode's attempts that were verified, shrunk towards one half by two attempts; 0 for
    one that is hopeless.
    """
    return {
        mode: 0.0
        if count >= HOPELESS_AFTER and not verified.get(mode)
        else (verified.get(mode, 0) + PRIOR_ATTEMPTS / 2) / (count + PRIOR_ATTEMPTS)
        for mode, count in attempted.items()
    }


def draw_mode(
    possible: Collection[str],
    weights: Mapping[str, float],
    yielded: Mapping[str, float],
    random: Random,
) -> str | None:
    """One of the possible modes by weight / yield; None where all weigh nothing or are hopeless."""
    odds = {
        mode: weights[mode] / max(yielded.get(mode, 0.5), LEAST_YIELD)
        for mode in sorted(possible)
        if weights.get(mode, 0) > 0 and yielded.get(mode, 0.5) > 0
    }
    return random.choices(list(odds), list(odds.values()))[0] if odds else None


def mix_line(weights: Mapping[str, float], verified: Mapping[str, int]) -> str:
    """Target and achieved share of each mode in percent, and the distance of the two: half the sum
    of the differences.
    """

    def shares(counts: Mapping[str, float]) -> Mapping[str, float]:
        total = sum(counts.values())
        return {mode: count / total for mode, count in counts.items()} if total else {}

    target, achieved = shares(weights), shares(verified)
    pairs = {
        mode: (target.get(mode, 0), achieved.get(mode, 0)) for mode in sorted({*target, *achieved})
    }
    each = ", ".join(
        f"{mode} {100 * wanted:.0f}/{100 * got:.0f}" for mode, (wanted, got) in pairs.items()
    )
    distance = sum(abs(wanted - got) for wanted, got in pairs.values()) / 2
    return f"mix in % (target/achieved): {each}; {distance:.2f} apart"


def planned_for(
    task: PlannedTask,
    twins: Sequence[Trajectory],
    settings: InjectionSettings,
    offer: Offer,
    yielded: Mapping[str, float],
    seed: int,
    done: Collection[int] = (),
    *,
    affordances: bool = False,
) -> tuple[list[InjectionPlan], Counter[str]]:
    """The attempts at a task, less the ordinals that are `done`; and how often a strategy was drawn
    that is ruled out, by reason.

    Twins take turns, at most `per_twin` attempts each; the same mode is never tried twice at the
    same turn of a twin.
    """
    order = Random(content_hash(["twins", seed, task.task_id])).sample(list(twins), len(twins))
    places = {
        twin.trajectory_id: _possible_places(twin, seed, affordances=affordances)
        for twin in order[: settings.per_task]
    }
    planned: list[InjectionPlan] = []
    declined: Counter[str] = Counter()
    for ordinal in range(min(settings.per_task, settings.per_twin * len(order))):
        twin_id = order[ordinal % len(order)].trajectory_id
        random = Random(content_hash(["attempt", seed, task.task_id, ordinal]))
        possible = {cell: turns for cell, turns in places[twin_id].items() if turns}
        drawn = _drawn(possible, settings, offer, yielded, random, declined)
        if drawn is not None:
            strategy, mode, turn = drawn
            places[twin_id][strategy, mode].remove(turn)
            planned.append(InjectionPlan(task.task_id, ordinal, twin_id, strategy, mode, turn))
    return [plan for plan in planned if plan.ordinal not in done], declined


def _drawn(
    places: Mapping[Cell, Sequence[int]],
    settings: InjectionSettings,
    offer: Offer,
    yielded: Mapping[str, float],
    random: Random,
    declined: Counter[str],
) -> tuple[str, str, int] | None:
    """(strategy, mode, turn): the strategy by its weight, the mode by weight / yield, the turn
    uniformly where the mode applies.
    """
    strategies = {name: weight for name, weight in offer.strategies.items() if weight > 0}
    while strategies:
        strategy = random.choices(list(strategies), list(strategies.values()))[0]
        modes = sorted(mode for name, mode in places if name == strategy)
        mode = random.choice(modes) if modes and strategy not in WITH_MODE else None
        if strategy in WITH_MODE:
            mode = draw_mode(modes, settings.modes, yielded, random)
        ruled_out = offer.declined.get(strategy)
        if ruled_out is None and mode is not None:
            return strategy, mode, random.choice(places[strategy, mode])
        declined[ruled_out or f"{strategy}: applies nowhere"] += 1
        del strategies[strategy]
    return None


def _possible_places(twin: Trajectory, seed: int, *, affordances: bool) -> dict[Cell, list[int]]:
    """The turns of a twin at which a strategy's mode applies."""
    found: dict[Cell, list[int]] = {}
    last, transcript = closing(twin), InjectionTranscript(twin)
    start = InjectionPoint(transcript, 0)
    names_something = any(start.names(call) for turn in twin.turns for call in turn.tool_calls)
    for turn in twin.turns:
        if turn.sampled_by is SampledBy.CANNED:
            continue
        site = InjectionPoint(transcript, turn.index)
        here: list[Cell] = [("natural", NATURAL)]
        for code, rule in RULES.items():
            mistake = rule(site, Random(content_hash([seed, twin.trajectory_id, turn.index, code])))
            anywhere = code == "FM-2.3" and affordances and names_something
            if anywhere or (mistake is not None and not same_act(mistake.turn, site.own)):
                here.append(("rule", code))
            # who goes on too long does so where the twin ends, all other mistakes come before
            at_end = turn is twin.turns[-1]
            if (code == "FM-1.5") is (turn is last) and not (code == "FM-3.1" and at_end):
                here += [("role", code), ("prompt", code)]
        plants = ((kind, plant(site, Random(0))) for kind, plant in PLANTS.items())
        here += [("environment", kind) for kind, planting in plants if planting is not None]
        for cell in here:
            found.setdefault(cell, []).append(turn.index)
    return found
