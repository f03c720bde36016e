"""Which mistakes are tried: a function of the clean twins, the settings, and what modes have
yielded in the rounds before.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from random import Random

import msgspec

from synth.schemas.canonical import content_hash
from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import SampledBy, Trajectory
from synth.synthesizers.failures.ending import closing
from synth.synthesizers.failures.observation_faults import PLANTS
from synth.synthesizers.failures.rules import RULES
from synth.synthesizers.failures.settings import InjectionSettings
from synth.synthesizers.failures.site import InjectionPoint, InjectionTranscript, same_act
from synth.text.failure_modes import NATURAL

LEAST_YIELD = 0.1
"""Below it a mode is drawn no more often: one that hardly ever breaks a run would take all
attempts.
"""
HOPELESS_AFTER = 30
"""Attempts of which none was verified, after which a mode is not drawn any more."""
PRIOR_ATTEMPTS = 2
"""With half of them verified: what a mode is thought to yield before it was tried."""


def yields(attempted: Mapping[str, int], verified: Mapping[str, int]) -> dict[str, float]:
    """Share of a mode's attempts that were verified, shrunk towards one half by two attempts; 0 for
    one that is hopeless.
    """
    return {mode: _shrunk(count, verified.get(mode, 0)) for mode, count in attempted.items()}


def _shrunk(count: int, verified: int) -> float:
    return (
        0.0
        if count >= HOPELESS_AFTER and not verified
        else (verified + PRIOR_ATTEMPTS / 2) / (count + PRIOR_ATTEMPTS)
    )


def draw_mode(
    possible: Collection[str],
    weights: Mapping[str, float],
    yielded: Mapping[str, float],
    random: Random,
) -> str | None:
    """One of the possible modes by weight / yield; None where all weigh nothing or are hopeless."""
    modes = sorted(
        mode for mode in possible if weights.get(mode, 0) > 0 and yielded.get(mode, 0.5) > 0
    )
    if not modes:
        return None
    odds = [weights[mode] / max(yielded.get(mode, 0.5), LEAST_YIELD) for mode in modes]
    return random.choices(modes, odds)[0]


def shares(counts: Mapping[str, float]) -> dict[str, float]:
    """Counts or weights as shares of their sum; empty where that is 0."""
    total = sum(counts.values())
    return {mode: count / total for mode, count in counts.items()} if total else {}


def mix_line(weights: Mapping[str, float], verified: Mapping[str, int]) -> str:
    """Target and achieved share of each mode in percent, and the distance of the two: half the sum
    of the differences.
    """
    target, achieved = shares(weights), shares(verified)
    modes = sorted({*target, *achieved})
    each = ", ".join(
        f"{mode} {100 * target.get(mode, 0):.0f}/{100 * achieved.get(mode, 0):.0f}"
        for mode in modes
    )
    distance = sum(abs(target.get(mode, 0) - achieved.get(mode, 0)) for mode in modes) / 2
    return f"mix in % (target/achieved): {each}; {distance:.2f} apart"


class PlannedTask(msgspec.Struct, frozen=True):
    """A task of a round: its clean trials, and the failed ones to be repaired."""

    task_id: str
    twins: tuple[str, ...]
    failed: tuple[str, ...] = ()
    round: int = 0


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
        return content_hash(
            [self.task_id, self.ordinal, self.twin_id, self.strategy, self.mode, self.turn]
        )


class Offer(msgspec.Struct, frozen=True):
    """What the flow's policy and world allow: `declined` are strategies that they rule out, and
    why.
    """

    strategies: Mapping[str, float]
    declined: Mapping[str, str]


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
    tried: set[tuple[str, str, str, int]] = set()
    planned: list[InjectionPlan] = []
    declined: Counter[str] = Counter()
    places: dict[str, Mapping[tuple[str, str], Sequence[int]]] = {}
    for ordinal in range(min(settings.per_task, settings.per_twin * len(order))):
        twin = order[ordinal % len(order)]
        random = Random(content_hash(["attempt", seed, task.task_id, ordinal]))
        if twin.trajectory_id not in places:
            places[twin.trajectory_id] = possible_places(twin, seed, affordances=affordances)
        left = {
            cell: [turn for turn in turns if (twin.trajectory_id, *cell, turn) not in tried]
            for cell, turns in places[twin.trajectory_id].items()
        }
        drawn = _drawn(
            {cell: turns for cell, turns in left.items() if turns},
            settings,
            offer,
            yielded,
            random,
            declined,
        )
        if drawn is None:
            continue
        tried.add((twin.trajectory_id, *drawn))
        if ordinal not in done:
            planned.append(InjectionPlan(task.task_id, ordinal, twin.trajectory_id, *drawn))
    return planned, declined


def _drawn(
    places: Mapping[tuple[str, str], Sequence[int]],
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
        ruled_out = offer.declined.get(strategy)
        modes = {mode for name, mode in places if name == strategy}
        if strategy in ("rule", "role", "prompt"):
            mode = draw_mode(modes, settings.modes, yielded, random)
        else:
            mode = random.choice(sorted(modes)) if modes else None
        if ruled_out is None and mode is not None:
            return strategy, mode, random.choice(places[(strategy, mode)])
        declined[ruled_out or f"{strategy}: applies nowhere"] += 1
        del strategies[strategy]
    return None


def possible_places(
    twin: Trajectory, seed: int, *, affordances: bool
) -> Mapping[tuple[str, str], Sequence[int]]:
    """(strategy, mode) -> the turns of a twin at which it applies."""
    found: dict[tuple[str, str], list[int]] = {}
    last, transcript = closing(twin), InjectionTranscript(twin)
    affordances = affordances and any(
        InjectionPoint(twin, 0, transcript=transcript).names(call)
        for turn in twin.turns
        for call in turn.tool_calls
    )
    for turn in twin.turns:
        if turn.sampled_by is SampledBy.CANNED:
            continue
        site = InjectionPoint(twin, turn.index, transcript=transcript)
        found.setdefault(("natural", NATURAL), []).append(turn.index)
        for code, rule in RULES.items():
            mistake = rule(site, Random(content_hash([seed, twin.trajectory_id, turn.index, code])))
            anywhere = code == "FM-2.3" and affordances
            if anywhere or (
                mistake is not None
                and not same_act(mistake.turn, AgentTurn(turn.content, turn.tool_calls))
            ):
                found.setdefault(("rule", code), []).append(turn.index)
            if (code == "FM-1.5") is (turn is last) and not (
                code == "FM-3.1" and turn is twin.turns[-1]
            ):
                found.setdefault(("role", code), []).append(turn.index)
                found.setdefault(("prompt", code), []).append(turn.index)
        for kind, plant in PLANTS.items():
            if plant(site, Random(0)) is not None:
                found.setdefault(("environment", kind), []).append(turn.index)
    return found
