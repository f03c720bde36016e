"""Plans the mistakes to be tried from the clean twins, the settings, and the yields of the modes in
the rounds before.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

import msgspec

from synth.schemas.canonical import content_hash
from synth.schemas.trajectory import SampledBy, Trajectory
from synth.synthesizers.failures.context import InjectionSettings, Offer
from synth.synthesizers.failures.mistakes.modes import RULES
from synth.synthesizers.failures.mistakes.observation_faults import PLANTS
from synth.synthesizers.failures.mistakes.point import InjectionPoint, closing, same_act
from synth.synthesizers.failures.mistakes.transcript import InjectionTranscript
from synth.text.failure_modes import NATURAL

LEAST_YIELD = 0.1
"""A floor for yields: a mode that hardly ever breaks a run would otherwise take all attempts."""
HOPELESS_AFTER = 30
"""A mode is dropped after so many attempts without a verified one."""
PRIOR_ATTEMPTS = 2
"""Imagined attempts of every mode, half of them verified: the yield of a mode before its first
attempt.
"""
WITH_MODE = frozenset({"rule", "role", "prompt"})
"""Strategies whose mode is drawn, and which count for the mix: a natural error has no known mode,
and a fault of the environment none at all.
"""
MOST_ATTEMPTS = 640
"""The attempts of a round, unless its settings say more: they are held in memory, and a kill loses
them.
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
        """Everything but the round."""
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
        """The seed of all that is drawn for the attempt."""
        return content_hash(list(msgspec.structs.astuple(self)))


def in_rounds(tasks: Iterator[PlannedTask], settings: InjectionSettings) -> list[PlannedTask]:
    """Numbers the rounds: the first makes about as many attempts as the settings say, each later
    one twice as many.
    """

    per_task = max(1, settings.per_task + settings.repairs)
    attempts = settings.round
    most = max(MOST_ATTEMPTS, attempts)
    found = list[PlannedTask]()
    number = 0

    while part := list(islice(tasks, max(1, attempts // per_task))):
        found += [msgspec.structs.replace(task, round=number) for task in part]
        attempts = min(2 * attempts, most)
        number = number + 1

    return found


def yields(attempted: Mapping[str, int], verified: Mapping[str, int]) -> dict[str, float]:
    """The share of a mode's attempts that were verified, shrunk towards one half by two attempts; 0
    for a hopeless mode.
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
    """Draws a mode by weight / yield; None where all weigh nothing or are hopeless."""
    odds = {
        mode: weights[mode] / max(yielded.get(mode, 0.5), LEAST_YIELD)
        for mode in sorted(possible)
        if weights.get(mode, 0) > 0 and yielded.get(mode, 0.5) > 0
    }
    return random.choices(list(odds), list(odds.values()))[0] if odds else None


def mode_quotas_line(weights: Mapping[str, float], verified: Mapping[str, int]) -> str:
    """The target and the achieved share of each mode in percent, and their distance: half the sum
    of the differences.
    """

    def shares(counts: Mapping[str, float]) -> Mapping[str, float]:
        total = sum(counts.values())
        return {mode: count / total for mode, count in counts.items()} if total else {}

    target = shares(weights)
    achieved = shares(verified)
    pairs = {
        mode: (target.get(mode, 0), achieved.get(mode, 0)) for mode in sorted({*target, *achieved})
    }
    each = ", ".join(
        f"{mode} {100 * wanted:.0f}/{100 * got:.0f}" for mode, (wanted, got) in pairs.items()
    )
    distance = sum(abs(wanted - got) for wanted, got in pairs.values()) / 2

    return f"mix in % (target/achieved): {each}; {distance:.2f} apart"


@dataclass(frozen=True, slots=True)
class AttemptPlanner:
    """Plans the attempts of a round from the settings, the offer, and the yields of the modes in
    the rounds before.
    """

    settings: InjectionSettings
    offer: Offer
    yielded: Mapping[str, float]
    seed: int

    def planned(
        self,
        task: PlannedTask,
        twins: Sequence[Trajectory],
        done: Collection[int] = (),
        *,
        affordances: bool = False,
    ) -> tuple[list[InjectionPlan], Counter[str]]:
        """(the attempts at a task without the ordinals that are `done`, how often a strategy was
        drawn that is ruled out, by reason).

        Twins take turns, at most `per_twin` attempts each; the same mode is never tried twice at
        the same turn of a twin.
        """

        settings = self.settings
        seed = self.seed
        # twins take turns in this order, so that no twin is used up before the others
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
            drawn = self._drawn(places[twin_id], random, declined)
            if drawn is not None:
                strategy, mode, turn = drawn
                places[twin_id][strategy, mode].remove(turn)
                planned.append(InjectionPlan(task.task_id, ordinal, twin_id, strategy, mode, turn))

        return [plan for plan in planned if plan.ordinal not in done], declined

    def _drawn(
        self,
        places: Mapping[Cell, Sequence[int]],
        random: Random,
        declined: Counter[str],
    ) -> tuple[str, str, int] | None:
        """Draws (strategy, mode, turn): the strategy by its weight, the mode by weight / yield, the
        turn uniformly among those at which the mode applies.
        """

        strategies = {name: weight for name, weight in self.offer.strategies.items() if weight > 0}
        while strategies:
            strategy = random.choices(list(strategies), list(strategies.values()))[0]
            modes = sorted(mode for (name, mode), at in places.items() if name == strategy and at)
            mode = random.choice(modes) if modes and strategy not in WITH_MODE else None
            if strategy in WITH_MODE:
                mode = draw_mode(modes, self.settings.modes, self.yielded, random)

            # the mode is drawn before this look, so that random numbers do not depend on the offer
            ruled_out = self.offer.declined.get(strategy)
            if ruled_out is None and mode is not None:
                return (strategy, mode, random.choice(places[strategy, mode]))

            declined[ruled_out or f"{strategy}: applies nowhere"] += 1
            del strategies[strategy]

        return None


def _possible_places(twin: Trajectory, seed: int, *, affordances: bool) -> dict[Cell, list[int]]:
    """The turns of a twin at which each (strategy, mode) applies."""
    found: dict[Cell, list[int]] = {}
    transcript = InjectionTranscript(twin)
    start = InjectionPoint(transcript, 0)
    derails = affordances and any(
        start.names(call) for turn in twin.turns for call in turn.tool_calls
    )

    for turn in twin.turns:
        if turn.sampled_by is not SampledBy.CANNED:
            for cell in _cells(InjectionPoint(transcript, turn.index), seed, derails=derails):
                found.setdefault(cell, []).append(turn.index)

    return found


def _cells(site: InjectionPoint, seed: int, *, derails: bool) -> Iterator[Cell]:
    """Yields each (strategy, mode) that applies at a turn; with `derails`, FM-2.3 always does."""
    turn = site.turn
    twin = site.twin
    yield "natural", NATURAL

    for code, rule in RULES.items():
        mistake = rule(
            site,
            Random(content_hash([seed, twin.trajectory_id, turn.index, code])),
        )
        differs = mistake is not None and not same_act(mistake.turn, site.own)
        if differs or (derails and code == "FM-2.3"):
            yield "rule", code

        # who goes on too long does so where the twin ends, all other mistakes come before
        too_late = code == "FM-1.5"
        too_early = code == "FM-3.1"
        if too_late is (turn is closing(twin)) and not (too_early and turn is twin.turns[-1]):
            yield "role", code
            yield "prompt", code

    for kind, plant in PLANTS.items():
        if plant(site, Random(0)) is not None:
            yield "environment", kind
