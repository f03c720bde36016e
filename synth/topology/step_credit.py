"""Credit for single steps from what a group of trials has in common: GiGPO and GraphGPO as
published, SALT as we read it.

All three are statistics over states that trials share, no causal labels; where a state has no
company the step term is nothing (GiGPO,
GraphGPO: 0) or undefined (the masks that stand on it), and the share of such states is reported
beside it.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from heapq import heappop, heappush
from math import fsum, sqrt
from statistics import fmean
from typing import Literal

import msgspec

EPSILON = 1e-6
Norm = Literal["mean", "mean_std"]
GOAL = "SUCCESS"


class Path(msgspec.Struct, frozen=True):
    """A trial for step credit: `states[t]` is where step t was taken, `states[t + 1]` where it led
    (one more state than steps).

    `rewards[t]` is what step t was given; `invalid` counts actions that could not be carried out.
    """

    states: tuple[Hashable, ...]
    actions: tuple[Hashable, ...]
    rewards: tuple[float, ...]
    success: bool
    invalid: int = 0

    def __post_init__(self) -> None:
        if not len(self.actions) == len(self.rewards) == len(self.states) - 1:
            raise ValueError(
                f"{len(self.states)} states, {len(self.actions)} actions, {len(self.rewards)} "
                "rewards: the chain is broken"
            )


class Credit(msgspec.Struct, frozen=True):
    """Per trial: the episode's advantage, the steps' advantages beside it, and the size of the
    group behind each step.
    """

    episode: float
    steps: tuple[float, ...]
    groups: tuple[int, ...]

    def total(self, weight: float = 1.0) -> tuple[float, ...]:
        """Episode and step term together."""
        return tuple(self.episode + weight * step for step in self.steps)


def gigpo(paths: Sequence[Path], *, gamma: float = 0.95, norm: Norm = "mean") -> list[Credit]:
    """GiGPO (arXiv 2505.10978): A_S(t) = G_t - mean over the steps taken from the same state, A_E =
    R - mean over the trials.

    G_t = r_t + gamma G_{t+1}. With `mean_std` both are divided by the sample deviation + 1e-6. A
    state that was acted in once has
    A_S = 0; a single trial keeps its raw return (mean 0, deviation 1), as in the published code.
    """
    returns = [_discounted(path.rewards, gamma) for path in paths]
    groups: dict[Hashable, list[float]] = defaultdict(list)
    for path, gains in zip(paths, returns, strict=True):
        for state, gain in zip(path.states, gains, strict=False):
            groups[state].append(gain)
    known = {state: _Group.of(group) for state, group in groups.items()}
    totals = [sum(path.rewards) for path in paths]
    trials = _Group.of(totals)
    found = []
    for path, gains, total in zip(paths, returns, totals, strict=True):
        members = [known[state] for state in path.states[:-1]]
        steps = tuple(
            group.advantage(gain, norm) for gain, group in zip(gains, members, strict=True)
        )
        episode = total if len(paths) == 1 else trials.advantage(total, norm)
        found.append(Credit(episode, steps, tuple(group.size for group in members)))
    return found


def _discounted(rewards: Sequence[float], gamma: float) -> list[float]:
    gains: list[float] = []
    gain = 0.0
    for reward in reversed(rewards):
        gain = reward + gamma * gain
        gains.append(gain)
    return gains[::-1]


class _Group(msgspec.Struct, frozen=True):
    """What a group of numbers is standardised by; `even`: all of them are the same."""

    size: int
    mean: float
    deviation: float
    even: bool

    @classmethod
    def of(cls, group: Sequence[float]) -> "_Group":
        """`statistics.stdev` computes in fractions, which was most of the time that all measures
        took.
        """
        mean = fmean(group)
        deviation = (
            sqrt(fsum((value - mean) ** 2 for value in group) / (len(group) - 1))
            if len(group) > 1
            else 0.0
        )
        return cls(len(group), mean, deviation, max(group) == min(group))

    def advantage(self, value: float, norm: Norm) -> float:
        """Over the mean; with `mean_std` in deviations. 0 for a group of one."""
        if self.size < 2:
            return 0.0
        gap = value - self.mean
        return gap if norm == "mean" else gap / (self.deviation + EPSILON)

    def standardised(self, value: float) -> float:
        """In deviations from the mean; 0 for a group of one, and where all are the same."""
        return 0.0 if self.even else self.advantage(value, "mean_std")


Convention = Literal["reference", "paper"]


def graphgpo(
    paths: Sequence[Path], *, omega: float = 0.1, convention: Convention = "reference"
) -> list[Credit]:
    """GraphGPO (arXiv 2605.26684), unit costs: raw(e) = 10 omega^d(s') as the reference code has
    it, 10 omega^(d(s') + 1) as equation 4
    of the paper, standardised over the steps that leave the same state (sample deviation, 1e-6);
    A_episode standardises
    10 success - 0.1 invalid over the trials.

    d = fewest steps from a state to SUCCESS; unreachable states are one further than the furthest.
    Without a success every step has 0.
    The conventions differ by a factor that the standardisation takes out, but for the 1e-6 beside
    the deviation.
    """
    distance = distances(paths)
    cost = 1 if convention == "paper" else 0
    occurrences: dict[Hashable, list[float]] = defaultdict(list)
    raw: list[list[float]] = []
    for path in paths:
        own = (
            [10 * omega ** (distance[end] + cost) for end in _ends(path)]
            if distance
            else [0.0] * len(path.actions)
        )
        raw.append(own)
        for state, value in zip(path.states, own, strict=False):
            occurrences[state].append(value)
    known = {state: _Group.of(group) for state, group in occurrences.items()}
    episodes = [10.0 * path.success - 0.1 * path.invalid for path in paths]
    trials = _Group.of(episodes)
    found = []
    for path, own, episode in zip(paths, raw, episodes, strict=True):
        members = [known[state] for state in path.states[:-1]]
        steps = tuple(group.standardised(value) for value, group in zip(own, members, strict=True))
        found.append(
            Credit(trials.standardised(episode), steps, tuple(group.size for group in members))
        )
    return found


def _ends(path: Path) -> list[Hashable]:
    """Where each step led; the last one of a success led to SUCCESS."""
    ends = list(path.states[1:])
    if path.success and ends:
        ends[-1] = GOAL
    return ends


def distances(paths: Sequence[Path]) -> Mapping[Hashable, int]:
    """Fewest steps to SUCCESS from every state; unreachable ones are the largest distance + 1.
    Empty without a success.
    """
    if not any(path.success for path in paths):
        return {}
    into: dict[Hashable, set[Hashable]] = defaultdict(set)
    states: dict[Hashable, None] = {}
    for path in paths:
        states.update(dict.fromkeys(path.states))
        for begin, end in zip(path.states, _ends(path), strict=False):
            into[end].add(begin)
    found: dict[Hashable, int] = {}
    waiting: list[tuple[int, int, Hashable]] = [(0, 0, GOAL)]
    pushed = 0
    while waiting:
        far, _, state = heappop(waiting)
        if state in found:
            continue
        found[state] = far
        for before in into[state]:
            pushed += 1
            heappush(waiting, (far + 1, pushed, before))
    beyond = max(found.values()) + 1
    return {state: found.get(state, beyond) for state in (*states, GOAL)}


def alone(credits: Sequence[Credit]) -> float | None:
    """Share of the steps that no other step stands beside, where the step term says nothing; None
    without steps.
    """
    groups = [size for credit in credits for size in credit.groups]
    return sum(size == 1 for size in groups) / len(groups) if groups else None


def salt(paths: Sequence[Path], *, history: int = 1) -> list[Credit]:
    """SALT as we read it (arXiv 2510.20022 gives no merge rule): steps with the same last `history`
    actions, action and resulting state
    are one, and are given the mean of their trials' advantages R - mean; a step of its own keeps
    its trial's.
    """
    mean = fmean(float(path.success) for path in paths)
    advantages = [path.success - mean for path in paths]
    merged: dict[Hashable, list[float]] = defaultdict(list)
    keys = [[_step_key(path, at, history) for at in range(len(path.actions))] for path in paths]
    for own, advantage in zip(keys, advantages, strict=True):
        for key in dict.fromkeys(own):
            merged[key].append(advantage)
    means = {key: fmean(group) for key, group in merged.items()}
    return [
        Credit(0.0, tuple(means[key] for key in own), tuple(len(merged[key]) for key in own))
        for own in keys
    ]


def _step_key(path: Path, at: int, history: int) -> Hashable:
    return (path.actions[max(0, at - history) : at], path.actions[at], path.states[at + 1])
