"""PDI over attempts at one task that follow from each other: does progress come from what was
executed (SPARK, arXiv 2605.09192)?

Online after each attempt, as the official code has it; offline over finished chains, where the
aggregation over attempts and the population are our definition (methods.md C2). Texts are compared
by their words in one of two ways, whose values cannot be compared.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from math import sqrt
from statistics import fmean
from typing import Literal

import msgspec
import numpy as np
from pydantic import BaseModel, ConfigDict, Field

Backend = Literal["token_overlap", "js_divergence"]
Level = Literal["soft", "strong"]
SMOOTHING = 0.002
WARM_UP = 2
THRESHOLD = -0.5
LEAST_ATTEMPTS = 3
"""Below them every z is 1, -1 or 0, so that the value says nothing (rigor.md 10.2)."""
LEAST_TASKS = 20
SKILL, INDEX = "skill", "pdi_index"
"""Metrics: a chain's skill text (in the detail), and the index."""
_WORD = re.compile(r"\w+")


class CarriedMemo(BaseModel):
    """`backend`: how texts are compared. `intervene`: say so in the memo where attempts repeat
    themselves; else that is only measured.
    `from_attempt`: the first attempt after which that may be; 2 is the official code's, with which
    every value is a whole number.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    backend: Backend = "token_overlap"
    intervene: bool = False
    from_attempt: int = Field(default=LEAST_ATTEMPTS, ge=2)


class PdiStep(msgspec.Struct, frozen=True):
    """What the memo after an attempt holds, and the attempt's own commands and failed tests."""

    commands: str
    facts: str
    strategy: str
    failed_tests: frozenset[str] = frozenset()


class PdiSnapshot(msgspec.Struct, frozen=True):
    """The proxy after one attempt; steps are numbered from 0. `triggered`: the pattern calls for an
    intervention of that level.
    """

    backend: Backend
    step: int
    exec: float
    plan: float
    oss: float
    raw: float
    weight: float
    weighted: float
    triggered: bool
    level: Level | None

    @property
    def defined(self) -> bool:
        """Whether there were attempts enough for the value to say anything."""
        return self.step + 1 >= LEAST_ATTEMPTS


class Phis(msgspec.Struct, frozen=True):
    """Three similarities. Of an attempt: commands to facts, plan to the plan before, facts and
    failed tests to those before. Of a chain: its last commands to the skill text, its plans to the
    skill text, adjacent attempts to each other.
    """

    exec: float
    plan: float
    oss: float


class Index(msgspec.Struct, frozen=True):
    """z(exec) - z(plan) - z(oss), and the population that the z are taken over: tasks, means and
    deviations.
    """

    value: float
    tasks: int
    means: Phis
    deviations: Phis


def words(text: str) -> list[str]:
    """Runs of word characters, lower-cased."""
    return _WORD.findall(text.lower())


def jaccard(left: Collection[str], right: Collection[str]) -> float:
    """|A and B| / |A or B|; 0 where both are empty."""
    a, b = set(left), set(right)
    return len(a & b) / len(a | b) if a | b else 0.0


def coverage(source: str, target: str) -> float:
    """The share of the target's words that are the source's too; 0 where it has none."""
    has, wanted = set(words(source)), set(words(target))
    return len(has & wanted) / len(wanted) if wanted else 0.0


def js_similarity(left: str, right: str) -> float:
    """1 - Jensen-Shannon divergence (nats) of smoothed word frequencies; 0 with fewer than two
    different words.

    Texts without a common word come to about 1 - ln 2 = .31.
    """
    # scipy.spatial has the distance, whose root is not a number where rounding is below zero
    from scipy.special import rel_entr

    a, b = Counter(words(left)), Counter(words(right))
    vocabulary = sorted(a.keys() | b.keys())

    if len(vocabulary) < 2:
        return 0.0

    counts = np.array([[a[word], b[word]] for word in vocabulary]) + SMOOTHING
    shares = counts / counts.sum(axis=0)
    divergences = rel_entr(shares, shares.mean(axis=1, keepdims=True)).sum(axis=0)

    return 1.0 - float(divergences.mean())


def snapshots(
    steps: Sequence[PdiStep],
    backend: Backend = "token_overlap",
    *,
    least_attempts: int = LEAST_ATTEMPTS,
) -> list[PdiSnapshot]:
    """One per attempt so far. Nothing triggers before the attempt of number `least_attempts`; the
    official code's is the second.
    """
    found: list[PdiSnapshot] = []
    parts: list[Phis] = []

    for at, step in enumerate(steps):
        own = _of_attempt(step, steps[at - 1] if at else None, backend)
        parts.append(own)
        raw = _index(own, *_population(parts)) if at else own.exec - own.plan - own.oss
        weight = min(1.0, at / WARM_UP)
        triggered = at >= max(1, least_attempts - 1) and weight * raw < THRESHOLD
        level: Level | None = None
        if triggered:
            level = "strong" if found[-1].triggered else "soft"

        values = (own.exec, own.plan, own.oss, raw, weight, weight * raw)
        found.append(PdiSnapshot(backend, at, *values, triggered=triggered, level=level))

    return found


def _of_attempt(step: PdiStep, before: PdiStep | None, backend: Backend) -> Phis:
    absorbed = js_similarity if backend == "js_divergence" else coverage
    executed = absorbed(step.commands, step.facts) if step.facts else 0.0
    if before is None:
        return Phis(executed, 0.0, 0.0)

    planned = _similarity(before.strategy, step.strategy, backend)
    return Phis(executed, planned, _ossified(before, step, backend))


def _similarity(left: str, right: str, backend: Backend) -> float:
    if backend == "js_divergence":
        return js_similarity(left, right)
    return jaccard(words(left), words(right))


def _ossified(before: PdiStep, now: PdiStep, backend: Backend) -> float:
    """How alike two attempts are: half by their facts, half by their failed tests, as sets or by
    the words of their names (as the official code has it with js_divergence).
    """
    facts = _similarity(before.facts, now.facts, backend)
    if backend == "js_divergence":
        names = (" ".join(sorted(step.failed_tests)) for step in (now, before))
        return 0.5 * facts + 0.5 * js_similarity(*names)

    return 0.5 * facts + 0.5 * jaccard(before.failed_tests, now.failed_tests)


def phis(steps: Sequence[PdiStep], success_commands: str, skill: str) -> Phis | None:
    """`steps` are the failed attempts with their memos, in their order; the successful one, which
    leaves none, comes after them. All by Jensen-Shannon.

    None below three attempts, and without a skill text or a plan. phi_exec: the successful
    execution's commands and the skill. phi_plan: mean over the next-strategy texts. phi_oss: mean
    over adjacent failed attempts of half their facts' and half their failed tests' similarity.
    """
    plans = [step.strategy for step in steps if step.strategy]
    if len(steps) + 1 < LEAST_ATTEMPTS or not skill.strip() or not plans:
        return None

    return Phis(
        js_similarity(success_commands, skill),
        fmean(js_similarity(plan, skill) for plan in plans),
        fmean(_ossified(one, other, "js_divergence") for one, other in pairwise(steps)),
    )


def indices(by_task: Mapping[str, Phis]) -> dict[str, Index]:
    """By task, over all of them; nothing with fewer than 20 tasks."""
    if len(by_task) < LEAST_TASKS:
        return {}

    means, deviations = _population(list(by_task.values()))
    return {
        task: Index(_index(own, means, deviations), len(by_task), means, deviations)
        for task, own in by_task.items()
    }


def _population(parts: Sequence[Phis]) -> tuple[Phis, Phis]:
    """Means and deviations of a population."""
    columns = list(zip(*map(msgspec.structs.astuple, parts), strict=True))
    means = [fmean(column) for column in columns]
    deviations = [
        sqrt(fmean((value - mean) ** 2 for value in column))
        for column, mean in zip(columns, means, strict=True)
    ]

    return Phis(*means), Phis(*deviations)


def _index(own: Phis, means: Phis, deviations: Phis) -> float:
    """z(exec) - z(plan) - z(oss); a z is 0 where the population does not vary."""
    rows = zip(*map(msgspec.structs.astuple, (own, means, deviations)), strict=True)
    executed, planned, ossified = (
        (value - mean) / deviation if deviation else 0.0 for value, mean, deviation in rows
    )
    return executed - planned - ossified
