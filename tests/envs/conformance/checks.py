"""The parts of the audit's questions that every environment must hold to, asked without those that
measure or try for long.
"""

from collections.abc import Mapping
from typing import Any

from synth.envs.audit.questions import QUESTIONS
from synth.envs.conformance.finding import AuditLimits, ConformanceRig, QuestionFinding
from synth.envs.conformance.guard import on_thread
from synth.envs.world import EnvEntry

MEASURED = {
    "instances_are_apart",
    "pass_rates",
    "mutants_are_killed",
    "other_strategies_pass",
    "reorderings_pass",
    "check_asked_again",
    "episode_done_again",
    "errors_say_why",
    "calls_are_quick",
    "memory_is_bounded",
}
CHECKS = {
    part.__name__: part
    for question in QUESTIONS
    for part in question.parts
    if part.__name__ not in MEASURED
}


async def conformance(
    world: EnvEntry, config: Mapping[str, Any], *, seed: int, tasks: int
) -> list[QuestionFinding]:
    """Every check's finding, on that many tasks made from the seed."""
    made = world.make_tasks(config, seed, tasks)
    limits = AuditLimits()
    return [
        await on_thread(check, ConformanceRig(world, config, seed, made, limits))
        for check in CHECKS.values()
    ]
