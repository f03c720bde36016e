"""Where trials of a task part: states that several of them were in, and what each did there."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations
from typing import Literal

import msgspec

from synth.stats.posterior import probability_better
from synth.topology.partings.trials import SeenTrial, states

Diverged = Literal["call", "words"]
"""In what two acts differ: in a call, or in words alone."""
NO_TRIALS = "no_independent_trials"
"""Why a task with both outcomes gives no comparison where one of them is none of a trial's."""
REASONS = (
    "other_prompt",
    "environment",
    "words_beside_the_same_call",
    "no_learnable_act",
    "equal_rates",
    "same_transcript",
)
"""Why a mixed group gives no comparison, the first that holds: its trials were shown other prompts
or tools; the user or the world said something else before they did; they worded the same call
otherwise, so that later prompts differ; an act cannot be learnt; acts passed alike; trials with
both outcomes are one text.
"""


class SeenAct(msgspec.Struct, frozen=True):
    """What `trials` did at a state; `successes` of them passed."""

    trials: tuple[str, ...]
    successes: int

    @property
    def counts(self) -> tuple[int, int]:
        """(successes, trials)"""
        return self.successes, len(self.trials)

    @property
    def rate(self) -> float:
        """Share of its trials that passed."""
        return self.successes / len(self.trials)


class ActParting(msgspec.Struct, frozen=True):
    """A state before turn `depth`, the act whose trials passed more often, and the other one.
    `posterior`: that the former is better (`probability_better`).
    """

    depth: int
    diverged: Diverged
    better: SeenAct
    worse: SeenAct
    posterior: float


class SharedState(msgspec.Struct, frozen=True):
    """Trials that were shown the same before turn `depth`, by the act that they did there, with
    whether it calls.
    """

    depth: int
    acts: tuple[tuple[tuple[str, ...], bool], ...]

    def parting(self, passed: Collection[str]) -> ActParting | None:
        """The two acts that differ with the highest posterior, where trials in `passed` are those
        that did; None where all acts passed alike.
        """
        seen = [
            (SeenAct(trials, sum(one in passed for one in trials)), calls)
            for trials, calls in self.acts
        ]
        found = [
            self._between(*pair)
            for one, other in combinations(seen, 2)
            if (pair := (one, other) if one[0].rate > other[0].rate else (other, one))
            and one[0].rate != other[0].rate
        ]
        return max(found, key=lambda one: (one.posterior, one.better.trials), default=None)

    def _between(self, better: tuple[SeenAct, bool], worse: tuple[SeenAct, bool]) -> ActParting:
        diverged: Diverged = "call" if better[1] or worse[1] else "words"
        posterior = probability_better(better[0].counts, worse[0].counts)
        return ActParting(self.depth, diverged, better[0], worse[0], posterior)


def shared_states(trials: Sequence[SeenTrial]) -> Iterator[SharedState]:
    """Every state at which trials of a group did different acts that can be learnt, whatever came
    of them; the states before others first.
    """
    most = max((len(trial.steps) for trial in trials), default=0)
    for depth in range(most):
        for together in states(trials, depth):
            acts: defaultdict[str, list[SeenTrial]] = defaultdict(list)
            for trial in together:
                if trial.steps[depth].why is None:
                    acts[trial.steps[depth].act].append(trial)
            if len(acts) > 1:
                yield SharedState(
                    depth,
                    tuple(
                        (tuple(one.identity for one in same), same[0].steps[depth].calls)
                        for _, same in sorted(acts.items())
                    ),
                )


def why_none(trials: Sequence[SeenTrial]) -> str:
    """Why a mixed group gives no comparison: the first of `REASONS` that holds for trials of
    different outcomes.
    """
    found = Counter(
        _parted(one, other)
        for one, other in combinations(trials, 2)
        if one.passed is not other.passed
    )
    return next(reason for reason in REASONS if found[reason])


def _parted(one: SeenTrial, other: SeenTrial) -> str:
    """Where two trials of different outcomes part."""
    if one.shown != other.shown:
        return "other_prompt"
    for mine, theirs in zip(one.steps, other.steps, strict=False):
        if mine.before != theirs.before:
            return "environment"
        if mine.act != theirs.act:
            return "equal_rates" if mine.why is None and theirs.why is None else "no_learnable_act"
        if mine.said != theirs.said:
            return "words_beside_the_same_call"
    return "same_transcript"
