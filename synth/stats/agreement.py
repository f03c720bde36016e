"""How far a judge agrees with gold on the run's own gold-decided trajectories: Cohen's kappa, and
the share of the failures that the judge accepts.
"""

import random
from collections.abc import Sequence
from itertools import chain, groupby
from operator import itemgetter

import msgspec

from synth.schemas import Measure
from synth.stats.intervals import clopper_pearson

DRAWS = 500
"""Of whole tasks, for the interval of kappa."""
Item = tuple[str, bool, bool]
"""Task, whether the judge accepts, whether gold does."""


class Agreement(msgspec.Struct, frozen=True):
    """Of one environment. `kappa` is None where judge or gold says the same of all; intervals are
    95 %.
    """

    items: int
    failures: int
    false_accepts: int
    kappa: float | None
    kappa_interval: tuple[float, float] | None

    @property
    def false_accept_interval(self) -> tuple[float, float]:
        """Of the share of gold failures that the judge accepts (Clopper and Pearson)."""
        return clopper_pearson(self.false_accepts, self.failures)

    def measures(self, prefix: str) -> Sequence[Measure]:
        """As scores."""
        rate = self.false_accepts / self.failures if self.failures else None
        kappa = {"interval": self.kappa_interval, "items": self.items}
        accepts = {"interval": [*self.false_accept_interval], "failures": self.failures}

        return [
            Measure(f"{prefix}.kappa", self.kappa, about=kappa),
            Measure(f"{prefix}.false_accepts", rate, about=accepts),
        ]

    def why_not(self, fewest: int, lowest_kappa: float) -> str | None:
        """Why the judge may not decide, or None where it may."""
        if self.items < fewest:
            return f"{self.items} gold-decided trajectories, {fewest} are needed"
        if self.kappa is None:
            return "kappa is undefined: gold or the judge says the same of all"
        if self.kappa < lowest_kappa:
            return f"kappa {self.kappa:.2f} is below {lowest_kappa:g}"

        return None


def kappa(items: Sequence[Item]) -> float | None:
    """Cohen's kappa (1960) of two yes/no raters; None where chance alone gives full agreement.

    (agreed - chance) / (1 - chance), where `chance` is the agreement of two raters who say yes as
    often as these, independently of each other.
    """
    n = len(items)
    if n == 0:
        return None

    agreed = sum(judge == gold for _, judge, gold in items) / n
    yes_judge = sum(judge for _, judge, _ in items) / n
    yes_gold = sum(gold for *_, gold in items) / n
    chance = yes_judge * yes_gold + (1 - yes_judge) * (1 - yes_gold)

    return None if chance >= 1 else (agreed - chance) / (1 - chance)


def agreement(items: Sequence[Item], seed: int) -> Agreement:
    """With the cluster bootstrap over tasks for kappa: trials of a task are not independent."""
    failures = [judge for _, judge, gold in items if not gold]
    found = kappa(items)
    interval = _bootstrap(items, seed) if found is not None else None
    return Agreement(len(items), len(failures), sum(failures), found, interval)


def _bootstrap(items: Sequence[Item], seed: int) -> tuple[float, float] | None:
    tasks = [list(found) for _, found in groupby(sorted(items), key=itemgetter(0))]
    if len(tasks) < 2:
        return None

    rng = random.Random(seed)
    drawn = [kappa([*chain(*rng.choices(tasks, k=len(tasks)))]) for _ in range(DRAWS)]
    known = sorted(value for value in drawn if value is not None)

    if not known:
        return None

    return known[int(0.025 * len(known))], known[int(0.975 * len(known))]


def line(env: str, found: Agreement, why_not: str | None) -> str:
    """What the funnel says of it."""
    low, high = found.false_accept_interval
    shown = "undefined" if found.kappa is None else f"{found.kappa:.2f}"
    if found.kappa_interval is not None:
        shown += " [{:.2f}, {:.2f}]".format(*found.kappa_interval)

    accepts = f"accepts {found.false_accepts} of {found.failures} failures [{low:.0%}, {high:.0%}]"
    verdict = "may decide" if why_not is None else f"is a column only: {why_not}"
    return f"{env}: kappa {shown} on {found.items} gold-decided, {accepts}; {verdict}"
