"""The offline index of PDI over finished chains; the aggregation over attempts and the population
are our definition (methods.md C2).
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import fsum, sqrt

import msgspec

from synth.stats.pdi.online import LEAST_ATTEMPTS, Step, same_tests
from synth.stats.pdi.similarity import js_similarity

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


def phis(steps: Sequence[Step], success_commands: str, skill: str) -> Phis | None:
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
    columns = [[getattr(one, name) for one in by_task.values()] for name in ("exec", "plan", "oss")]
    means = [fsum(column) / len(column) for column in columns]
    spreads = [
        sqrt(fsum((x - mean) ** 2 for x in column) / len(column))
        for column, mean in zip(columns, means, strict=True)
    ]
    found = {}
    for task, one in by_task.items():
        z = [
            (x - mean) / spread if spread else 0.0
            for x, mean, spread in zip((one.exec, one.plan, one.oss), means, spreads, strict=True)
        ]
        found[task] = Index(z[0] - z[1] - z[2], len(by_task), Phis(*means), Phis(*spreads))
    return found
