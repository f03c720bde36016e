"""Plans the mistakes to be tried from the clean twins, the settings, and the yields of the modes in
the rounds before.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

import msgspec

from synth.schemas import SampledBy, Trajectory, content_hash
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
        task_id = task.task_id
        # twins take turns in this order, so that no twin is used up before the others
        order = Random(content_hash(["twins", self.seed, task_id])).sample(list(twins), len(twins))
        places = [
            _possible_places(twin, self.seed, affordances=affordances)
            for twin in order[: settings.per_task]
        ]

        planned: list[InjectionPlan] = []
        declined: Counter[str] = Counter()

        for ordinal in range(min(settings.per_task, settings.per_twin * len(order))):
            at = ordinal % len(order)
            random = Random(content_hash(["attempt", self.seed, task_id, ordinal]))
            cell = self._drawn(places[at], random, declined)

            if cell is not None:
                turn = random.choice(places[at][cell])
                places[at][cell].remove(turn)
                twin_id = order[at].trajectory_id
                planned.append(InjectionPlan(task_id, ordinal, twin_id, *cell, turn))

        return [plan for plan in planned if plan.ordinal not in done], declined

    def _drawn(
        self, places: Mapping[Cell, Sequence[int]], random: Random, declined: Counter[str]
    ) -> Cell | None:
        """Draws (strategy, mode): the strategy by its weight, the mode by weight / yield."""
        strategies = {name: weight for name, weight in self.offer.strategies.items() if weight > 0}

        while strategies:
            strategy = random.choices(list(strategies), list(strategies.values()))[0]
            modes = sorted(mode for (name, mode), at in places.items() if name == strategy and at)
            if strategy in WITH_MODE:
                mode = draw_mode(modes, self.settings.modes, self.yielded, random)
            else:
                mode = random.choice(modes) if modes else None

            # the mode is drawn before this look, so that random numbers do not depend on the offer
            ruled_out = self.offer.declined.get(strategy)

            if ruled_out is None and mode is not None:
                return strategy, mode

            declined[ruled_out or f"{strategy}: applies nowhere"] += 1
            del strategies[strategy]

        return None


def _possible_places(twin: Trajectory, seed: int, *, affordances: bool) -> dict[Cell, list[int]]:
    """The turns of a twin at which each (strategy, mode) applies. With `affordances`, FM-2.3 does
    wherever a call of the twin names something.
    """

    found: defaultdict[Cell, list[int]] = defaultdict(list)
    transcript = InjectionTranscript(twin)
    names = InjectionPoint(transcript, 0).names
    derails = affordances and any(names(call) for turn in twin.turns for call in turn.tool_calls)

    for turn in twin.turns:
        if turn.sampled_by is SampledBy.CANNED:
            continue

        site = InjectionPoint(transcript, turn.index)
        cells = [("natural", NATURAL)]

        for code, rule in RULES.items():
            drawn = content_hash([seed, twin.trajectory_id, turn.index, code])
            mistake = rule(site, Random(drawn))
            differs = mistake is not None and not same_act(mistake.turn, turn)

            if differs or (derails and code == "FM-2.3"):
                cells.append(("rule", code))

            # who goes on too long does so where the twin ends, all other mistakes come before
            at_the_end = (code == "FM-1.5") is (turn is closing(twin))

            if at_the_end and not (code == "FM-3.1" and turn is twin.turns[-1]):
                cells += [("role", code), ("prompt", code)]

        plants = PLANTS.items()
        cells += [("environment", kind) for kind, plant in plants if plant(site, Random(0))]
        for cell in cells:
            found[cell].append(turn.index)

    return found
