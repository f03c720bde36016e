"""The questions that any environment is asked, in the order of a report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synth.envs.audit.alternatives import other_strategies_pass, reorderings_pass
from synth.envs.audit.latency import calls_are_quick
from synth.envs.audit.memory import memory_is_bounded
from synth.envs.audit.mutation import mutants_are_killed
from synth.envs.conformance import (
    bot_rates,
    expert_solves,
    purity,
    verdicts,
)
from synth.envs.conformance.determinism import (
    determinism,
    fresh_process,
    tasks_by_seed,
    tasks_open_their_world,
)
from synth.envs.conformance.finding import Part
from synth.envs.conformance.hostile_input import (
    errors_say_why,
    hostile_input,
    steps_after_the_end,
)
from synth.envs.conformance.protocol import answers_keep_to_the_protocol
from synth.envs.conformance.snapshots import snapshot_equals_replay, snapshot_size
from synth.envs.data_file import data_file

_TEXTS: Mapping[str, Mapping[str, Any]] = data_file("audit/questions")


@dataclass(frozen=True)
class AuditQuestion:
    """What is asked, and the parts that answer it; for `headline` see `AuditAnswer`."""

    name: str
    parts: tuple[Part, ...]

    @property
    def asked(self) -> str:
        """The question in words."""
        return str(_TEXTS[self.name]["asked"])

    @property
    def headline(self) -> tuple[str, ...]:
        """The findings that tell most where all is well."""
        return tuple(_TEXTS[self.name].get("headline", ()))


QUESTIONS = (
    AuditQuestion("tasks", (tasks_by_seed, tasks_open_their_world)),
    AuditQuestion("protocol", (answers_keep_to_the_protocol,)),
    AuditQuestion(
        "determinism",
        (
            determinism,
            fresh_process,
            purity.reset_starts_anew,
            purity.instances_are_apart,
        ),
    ),
    AuditQuestion("snapshots", (snapshot_equals_replay,)),
    AuditQuestion(
        "expert",
        (
            expert_solves.expert_solves,
            expert_solves.expert_profiles,
            expert_solves.expert_plans_from_state,
        ),
    ),
    AuditQuestion(
        "bots",
        (
            bot_rates.do_nothing_fails,
            bot_rates.refuse_all_is_bounded,
            bot_rates.random_affordance_fails,
            bot_rates.own_bots_fail,
            bot_rates.secrets_stay_hidden,
            bot_rates.pass_rates,
        ),
    ),
    AuditQuestion("mutants", (mutants_are_killed,)),
    AuditQuestion("alternatives", (other_strategies_pass, reorderings_pass)),
    AuditQuestion(
        "flakiness",
        (
            purity.check_has_no_side_effects,
            purity.check_at_any_time,
            verdicts.recheck_repeats_the_verdict,
            verdicts.check_asked_again,
            verdicts.episode_done_again,
        ),
    ),
    AuditQuestion("errors", (hostile_input, steps_after_the_end, errors_say_why)),
    AuditQuestion("latency", (calls_are_quick,)),
    AuditQuestion("memory", (snapshot_size, memory_is_bounded)),
    AuditQuestion("upkeep", (verdicts.facts_match_patterns, purity.close_is_idempotent)),
)
