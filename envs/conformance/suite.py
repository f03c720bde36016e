"""All conformance checks of a world, one after the other, each on its own thread."""

from collections.abc import Mapping
from typing import Any

from synth.envs.conformance.bot_rates import (
    do_nothing_fails,
    random_affordance_fails,
    refuse_all_is_bounded,
)
from synth.envs.conformance.determinism import determinism, fresh_process
from synth.envs.conformance.expert_solves import (
    expert_plans_from_state,
    expert_profiles,
    expert_solves,
)
from synth.envs.conformance.fact_keys import facts_match_patterns
from synth.envs.conformance.finding import ConformanceRig, Finding, Part
from synth.envs.conformance.guard import on_thread
from synth.envs.conformance.hostile_input import hostile_input, steps_after_the_end
from synth.envs.conformance.protocol import answers_keep_to_the_protocol
from synth.envs.conformance.purity import (
    check_at_any_time,
    check_has_no_side_effects,
    close_is_idempotent,
    reset_starts_anew,
)
from synth.envs.conformance.rechecks import recheck_repeats_the_verdict
from synth.envs.conformance.snapshots import snapshot_equals_replay, snapshot_size
from synth.envs.conformance.task_making import tasks_by_seed, tasks_open_their_world
from synth.envs.world import EnvEntry

CHECKS: dict[str, Part] = {
    check.__name__: check
    for check in (
        tasks_by_seed,
        tasks_open_their_world,
        determinism,
        fresh_process,
        reset_starts_anew,
        snapshot_equals_replay,
        snapshot_size,
        expert_solves,
        expert_profiles,
        expert_plans_from_state,
        recheck_repeats_the_verdict,
        do_nothing_fails,
        refuse_all_is_bounded,
        random_affordance_fails,
        check_has_no_side_effects,
        check_at_any_time,
        facts_match_patterns,
        close_is_idempotent,
        steps_after_the_end,
        hostile_input,
        answers_keep_to_the_protocol,
    )
}


async def conformance(
    world: EnvEntry,
    config: Mapping[str, Any],
    *,
    seed: int,
    tasks: int,
    call_limit_s: float = 5.0,
    check_limit_s: float = 120.0,
) -> list[Finding]:
    """Every check's finding, in the order of `CHECKS`, on that many tasks (at least one) made from
    the seed.

    A call may take `call_limit_s`, a whole check `check_limit_s`. Raises what `make_tasks` raises
    for wrong settings.
    """
    bench_tasks = world.make_tasks(config, seed, max(tasks, 1))
    findings = []
    for name, check in CHECKS.items():
        bench = ConformanceRig(world, config, seed, bench_tasks, call_limit_s)
        findings.append(await on_thread(name, check, bench, check_limit_s))
    return findings
