"""The online proxy of PDI: after each attempt, whether evidence grows while plans and observations
do not stand still (official code).
"""

from collections.abc import Sequence
from math import fsum, sqrt
from typing import Literal

import msgspec

from synth.stats.pdi.similarity import Backend, coverage, jaccard, js_similarity, similarity

WARM_UP = 2
THRESHOLD = -0.5
LEAST_ATTEMPTS = 3
"""Below them every z is 1, -1 or 0, so that the value says nothing (rigor.md 10.2)."""
Level = Literal["soft", "strong"]


class Step(msgspec.Struct, frozen=True):
    """What the memo after an attempt holds, and the attempt's own commands and failed tests."""

    commands: str
    facts: str
    strategy: str
    failed_tests: frozenset[str] = frozenset()


class Snapshot(msgspec.Struct, frozen=True):
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
    steps: Sequence[Step],
    backend: Backend = "token_overlap",
    *,
    least_attempts: int = LEAST_ATTEMPTS,
) -> list[Snapshot]:
    """One per attempt so far. Nothing triggers before the attempt of number `least_attempts`; the
    official code's is the second.
    """
    found: list[Snapshot] = []
    parts: list[tuple[float, float, float]] = []
    for at, step in enumerate(steps):
        before = steps[at - 1] if at else None
        parts.append(_parts(step, before, backend))
        executed, planned, ossified = parts[-1]
        if at:
            zs = [_z(value, [earlier[i] for earlier in parts]) for i, value in enumerate(parts[-1])]
            raw = zs[0] - zs[1] - zs[2]
        else:
            raw = executed - planned - ossified
        weight = min(1.0, at / WARM_UP)
        triggered = at >= max(1, least_attempts - 1) and weight * raw < THRESHOLD
        level: Level | None = None
        if triggered:
            level = "strong" if found[-1].triggered else "soft"
        found.append(
            Snapshot(
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


def _parts(step: Step, before: Step | None, backend: Backend) -> tuple[float, float, float]:
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


def _z(value: float, values: Sequence[float]) -> float:
    """Standard score among the values so far, population deviation; 0 where they do not vary."""
    mean = fsum(values) / len(values)
    deviation = sqrt(fsum((one - mean) ** 2 for one in values) / len(values))
    return (value - mean) / deviation if deviation else 0.0
