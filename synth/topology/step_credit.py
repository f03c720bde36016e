"""Credit for single steps from what a group of trials has in common: GiGPO and GraphGPO as
published, SALT as we read it.

All three are statistics over states that trials share, no causal labels; where a state has no
company the step term is nothing (GiGPO, GraphGPO: 0) or undefined (the masks that stand on it), and
the share of such states is reported beside it.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import pairwise
from math import fsum, sqrt
from statistics import fmean
from typing import Literal

import msgspec

EPSILON = 1e-6
GOAL = "SUCCESS"
Norm = Literal["mean", "mean_std"]
Convention = Literal["reference", "paper"]


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

    @property
    def steps(self) -> list[tuple[Hashable, Hashable]]:
        """(from, to) of each step; the last one of a success led to `GOAL`."""
        found = list(pairwise(self.states))
        if self.success and found:
            found[-1] = (found[-1][0], GOAL)
        return found


class Credit(msgspec.Struct, frozen=True):
    """Of one trial: the episode's advantage, the steps' advantages beside it, and the size of the
    group behind each step (1: no other step was taken from that state).
    """

    episode: float
    steps: tuple[float, ...]
    groups: tuple[int, ...]


class _Group(msgspec.Struct, frozen=True):
    """What a group of numbers is standardised by; `even`: all of them are the same."""

    size: int
    mean: float
    deviation: float
    even: bool

    @classmethod
    def of(cls, group: Sequence[float]) -> "_Group":
        """Mean and sample deviation.

        `statistics.stdev` computes in fractions, which was most of the time that all measures took.
        """
        mean, spread = fmean(group), 0.0
        if len(group) > 1:
            spread = sqrt(fsum((value - mean) ** 2 for value in group) / (len(group) - 1))
        return cls(len(group), mean, spread, max(group) == min(group))

    def over_mean(self, value: float) -> float:
        """0 for a group of one."""
        return value - self.mean if self.size > 1 else 0.0

    def in_deviations(self, value: float) -> float:
        """From the mean; 0 for a group of one."""
        return self.over_mean(value) / (self.deviation + EPSILON)

    def standardised(self, value: float) -> float:
        """In deviations from the mean; 0 for a group of one, and where all are the same."""
        return 0.0 if self.even else self.in_deviations(value)


def _credits(
    paths: Sequence[Path],
    steps: Sequence[Sequence[float]],
    episodes: Sequence[float],
    advantage: Callable[[_Group, float], float],
) -> list[Credit]:
    """Steps compared with the steps that were taken from the same state, episodes with all.

    `steps`: of each trial, a value per step; `episodes`: one value per trial; `advantage`: of a
    value within its group.
    """
    # a path has one state more than steps: the last is left by none
    values: dict[Hashable, list[float]] = defaultdict(list)
    for path, own in zip(paths, steps, strict=True):
        for state, value in zip(path.states, own, strict=False):
            values[state].append(value)

    groups = {state: _Group.of(found) for state, found in values.items()}
    trials = _Group.of(episodes)
    found = []

    for path, own, episode in zip(paths, steps, episodes, strict=True):
        members = [groups[state] for state in path.states[:-1]]
        advantages = tuple(map(advantage, members, own))
        sizes = tuple(group.size for group in members)
        found.append(Credit(advantage(trials, episode), advantages, sizes))

    return found


def gigpo(paths: Sequence[Path], *, gamma: float = 0.95, norm: Norm = "mean") -> list[Credit]:
    """GiGPO (arXiv 2505.10978): A_S(t) = G_t - mean over the steps taken from the same state, A_E =
    R - mean over the trials.

    G_t = r_t + gamma G_{t+1}. With `mean_std` both are divided by the sample deviation + 1e-6. A
    state that was acted in once has A_S = 0; a single trial keeps its raw return (mean 0, deviation
    1), as in the published code.
    """
    totals = [sum(path.rewards) for path in paths]
    returns = [_discounted(path.rewards, gamma) for path in paths]

    advantage = _Group.over_mean if norm == "mean" else _Group.in_deviations
    found = _credits(paths, returns, totals, advantage)

    return found if len(found) > 1 else [msgspec.structs.replace(found[0], episode=totals[0])]


def _discounted(rewards: Sequence[float], gamma: float) -> list[float]:
    gains: list[float] = []
    gain = 0.0

    for reward in reversed(rewards):
        gain = reward + gamma * gain
        gains.append(gain)

    return gains[::-1]


def graphgpo(
    paths: Sequence[Path], *, omega: float = 0.1, convention: Convention = "reference"
) -> list[Credit]:
    """GraphGPO (arXiv 2605.26684), unit costs: raw(e) = 10 omega^d(s') as the reference code has
    it, 10 omega^(d(s') + 1) as equation 4 of the paper, standardised over the steps that leave the
    same state (sample deviation, 1e-6); A_episode standardises 10 success - 0.1 invalid over the
    trials.

    d = fewest steps from a state to SUCCESS; unreachable states are one further than the furthest.
    Without a success every step has 0, and no episode is better than another but for its invalid
    actions. The conventions differ by a factor that the standardisation
    takes out, but for the 1e-6 beside the deviation.
    """
    distance = distances(paths)
    cost = 1 if convention == "paper" else 0
    raw = [
        [10 * omega ** (distance[end] + cost) if distance else 0.0 for _, end in path.steps]
        for path in paths
    ]

    episodes = [10.0 * path.success - 0.1 * path.invalid for path in paths]
    return _credits(paths, raw, episodes, _Group.standardised)


def distances(paths: Sequence[Path]) -> Mapping[Hashable, int]:
    """Fewest steps to SUCCESS from every state; unreachable ones are the largest distance + 1.
    Empty without a success.

    By breadth-first search over the steps of all trials, backwards from SUCCESS: trials may be
    spliced, as GraphGPO has it.
    """
    import networkx

    if not any(path.success for path in paths):
        return {}

    graph = networkx.DiGraph([step for path in paths for step in path.steps])
    graph.add_nodes_from([GOAL, *(state for path in paths for state in path.states)])
    found = dict(networkx.single_target_shortest_path_length(graph, GOAL))

    return dict.fromkeys(graph, max(found.values()) + 1) | found


def alone(credits: Sequence[Credit]) -> float | None:
    """Share of the steps that no other step stands beside, where the step term says nothing; None
    without steps.
    """
    groups = [size for credit in credits for size in credit.groups]
    return groups.count(1) / len(groups) if groups else None


def salt(paths: Sequence[Path], *, history: int = 1) -> list[Credit]:
    """SALT as we read it (arXiv 2510.20022 gives no merge rule): steps with the same last `history`
    actions, action and resulting state are one, and are given the mean of their trials' advantages
    R - mean; a step of its own keeps its trial's.
    """
    mean = fmean(float(path.success) for path in paths)
    merged: dict[Hashable, list[float]] = defaultdict(list)
    keys: list[list[Hashable]] = []

    for path in paths:
        acts = path.actions
        own: list[Hashable] = [
            (acts[max(0, at - history) : at], act, path.states[at + 1])
            for at, act in enumerate(acts)
        ]

        keys.append(own)
        for key in dict.fromkeys(own):
            merged[key].append(path.success - mean)

    means = {key: fmean(group) for key, group in merged.items()}

    return [
        Credit(0.0, tuple(means[key] for key in own), tuple(len(merged[key]) for key in own))
        for own in keys
    ]
