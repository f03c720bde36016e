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
from math import fsum, log, sqrt
from typing import Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

Backend = Literal["token_overlap", "js_divergence"]
SMOOTHING = 0.002
_WORD = re.compile(r"\w+")


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
    a, b = Counter(words(left)), Counter(words(right))
    vocabulary = sorted(a.keys() | b.keys())
    if len(vocabulary) < 2:
        return 0.0
    p, q = _smoothed(a, vocabulary), _smoothed(b, vocabulary)
    middle = [(x + y) / 2 for x, y in zip(p, q, strict=True)]
    return 1.0 - (_divergence(p, middle) + _divergence(q, middle)) / 2


def similarity(left: str, right: str, backend: Backend) -> float:
    """Of two texts, as the backend has it."""
    return (
        js_similarity(left, right)
        if backend == "js_divergence"
        else jaccard(words(left), words(right))
    )


def _smoothed(counts: Counter[str], vocabulary: list[str]) -> list[float]:
    total = sum(counts[word] + SMOOTHING for word in vocabulary)
    return [(counts[word] + SMOOTHING) / total for word in vocabulary]


def _divergence(p: list[float], q: list[float]) -> float:
    return sum(x * log(x / y) for x, y in zip(p, q, strict=True))


WARM_UP = 2
THRESHOLD = -0.5
LEAST_ATTEMPTS = 3
"""Below them every z is 1, -1 or 0, so that the value says nothing (rigor.md 10.2)."""
Level = Literal["soft", "strong"]


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
    parts: list[tuple[float, float, float]] = []
    for at, step in enumerate(steps):
        before = steps[at - 1] if at else None
        parts.append(_parts(step, before, backend))
        executed, planned, ossified = parts[-1]
        spreads = [_spread(column) for column in zip(*parts, strict=True)]
        raw = _index(parts[-1], spreads) if at else executed - planned - ossified
        weight = min(1.0, at / WARM_UP)
        triggered = at >= max(1, least_attempts - 1) and weight * raw < THRESHOLD
        level: Level | None = None
        if triggered:
            level = "strong" if found[-1].triggered else "soft"
        found.append(
            PdiSnapshot(
                backend,
                at,
                executed,
                planned,
                ossified,
                raw,
                weight,
                weight * raw,
                triggered,
                level,
            )
        )
    return found


def _parts(step: PdiStep, before: PdiStep | None, backend: Backend) -> tuple[float, float, float]:
    """(exec, plan, oss) of an attempt."""
    absorbed = js_similarity if backend == "js_divergence" else coverage
    executed = absorbed(step.commands, step.facts) if step.facts else 0.0
    if before is None:
        return executed, 0.0, 0.0
    planned = similarity(before.strategy, step.strategy, backend)
    facts = similarity(before.facts, step.facts, backend)
    return (
        executed,
        planned,
        0.5 * facts + 0.5 * same_tests(before.failed_tests, step.failed_tests, backend),
    )


def same_tests(before: frozenset[str], now: frozenset[str], backend: Backend) -> float:
    """How alike two sets of failed tests are: as sets, or by the words of their names (as the
    official code has it with js_divergence).
    """
    if backend == "js_divergence":
        return js_similarity(" ".join(sorted(now)), " ".join(sorted(before)))
    return jaccard(before, now)


SKILL, INDEX = "skill", "pdi_index"
"""Metrics: a chain's skill text (in the detail), and the index."""
LEAST_TASKS = 20


class Phis(msgspec.Struct, frozen=True):
    """Of a chain: its commands against the skill text, its plans against the skill text, and how
    alike adjacent attempts are.
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


def phis(steps: Sequence[PdiStep], success_commands: str, skill: str) -> Phis | None:
    """`steps` are the failed attempts with their memos, in their order; the successful one, which
    leaves none, comes after them.

    None below three attempts, and without a skill text or a plan. phi_exec: the successful
    execution's commands and the skill. phi_plan:
    mean over the next-strategy texts. phi_oss: mean over adjacent failed attempts of half their
    facts' and half their failed tests'
    similarity. All by Jensen-Shannon.
    """
    plans = [step.strategy for step in steps if step.strategy]
    if len(steps) + 1 < LEAST_ATTEMPTS or not skill.strip() or not plans:
        return None
    alike = [
        0.5 * js_similarity(a.facts, b.facts)
        + 0.5 * same_tests(a.failed_tests, b.failed_tests, "js_divergence")
        for a, b in pairwise(steps)
    ]
    planned = fsum(js_similarity(plan, skill) for plan in plans) / len(plans)
    return Phis(js_similarity(success_commands, skill), planned, fsum(alike) / len(alike))


def indices(by_task: Mapping[str, Phis]) -> dict[str, Index]:
    """By task, over all of them; nothing with fewer than 20 tasks."""
    if len(by_task) < LEAST_TASKS:
        return {}
    rows = {task: msgspec.structs.astuple(one) for task, one in by_task.items()}
    spreads = [_spread(column) for column in zip(*rows.values(), strict=True)]
    means, deviations = (Phis(*column) for column in zip(*spreads, strict=True))
    return {
        task: Index(_index(row, spreads), len(rows), means, deviations)
        for task, row in rows.items()
    }


def _spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and deviation of a population."""
    mean = fsum(values) / len(values)
    return mean, sqrt(fsum((one - mean) ** 2 for one in values) / len(values))


def _index(row: Sequence[float], spreads: Sequence[tuple[float, float]]) -> float:
    """z(exec) - z(plan) - z(oss); a z is 0 where the population does not vary."""
    z = [
        (value - mean) / deviation if deviation else 0.0
        for value, (mean, deviation) in zip(row, spreads, strict=True)
    ]
    return z[0] - z[1] - z[2]


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
