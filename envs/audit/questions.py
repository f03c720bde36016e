"""The questions that any world is asked, in the order of a report."""

from dataclasses import dataclass

from synth.envs.audit.alternatives import other_strategies_pass, reorderings_pass
from synth.envs.audit.error_texts import errors_say_why
from synth.envs.audit.flakiness import check_asked_again, episode_done_again
from synth.envs.audit.latency import calls_are_quick
from synth.envs.audit.memory import memory_is_bounded
from synth.envs.audit.mutation import mutants_are_killed
from synth.envs.conformance.bot_rates import (
    do_nothing_fails,
    pass_rates,
    random_affordance_fails,
    refuse_all_is_bounded,
)
from synth.envs.conformance.determinism import determinism, fresh_process
from synth.envs.conformance.expert_solves import (
    expert_plans_from_state,
    expert_profiles,
    expert_solves,
)
from synth.envs.conformance.finding import Part
from synth.envs.conformance.hostile_input import hostile_input, steps_after_the_end
from synth.envs.conformance.protocol import answers_keep_to_the_protocol
from synth.envs.conformance.purity import (
    check_at_any_time,
    check_has_no_side_effects,
    close_is_idempotent,
    instances_are_apart,
    reset_starts_anew,
)
from synth.envs.conformance.snapshots import snapshot_equals_replay, snapshot_size
from synth.envs.conformance.task_making import tasks_by_seed, tasks_open_their_world
from synth.envs.conformance.verdicts import facts_match_patterns, recheck_repeats_the_verdict


@dataclass(frozen=True)
class AuditQuestion:
    """What is asked, and the parts that answer it: what a world must hold to (`checks`), and what is
    measured or tried for long beside; for `headline` see `AuditAnswer`.
    """

    name: str
    asked: str
    checks: tuple[Part, ...] = ()
    measured: tuple[Part, ...] = ()
    headline: tuple[str, ...] = ()


QUESTIONS = (
    AuditQuestion(
        "tasks",
        "Does the same seed make the same tasks, and does a task read back from a file open the "
        "world that it was made for?",
        (tasks_by_seed, tasks_open_their_world),
    ),
    AuditQuestion(
        "protocol",
        "Is every call answered once, by its id and name, and does the world keep to the task and "
        "the tools that it began with?",
        (answers_keep_to_the_protocol,),
    ),
    AuditQuestion(
        "determinism",
        "Do the same actions get the same answers: done again, in another process, after another "
        "episode, and beside another one?",
        (determinism, fresh_process, reset_starts_anew),
        (instances_are_apart,),
    ),
    AuditQuestion(
        "snapshots",
        "Is going on from a snapshot the same as going on, in the same, a fresh and a used "
        "instance?",
        (snapshot_equals_replay,),
    ),
    AuditQuestion(
        "expert",
        "Does the world's own expert solve every task, play every profile the same way twice, and "
        "plan from the state alone?",
        (expert_solves, expert_profiles, expert_plans_from_state),
    ),
    AuditQuestion(
        "bots",
        "What do agents that understand nothing pass? A task that is solved by doing nothing, by "
        "chance or by refusing is no task.",
        (do_nothing_fails, refuse_all_is_bounded, random_affordance_fails),
        (pass_rates,),
        ("pass_rates",),
    ),
    AuditQuestion(
        "mutants",
        "Does the check fail a solution with one effectful call dropped, repeated or given "
        "another entity, or with its end cut off?",
        (),
        (mutants_are_killed,),
    ),
    AuditQuestion(
        "alternatives",
        "Does the check pass other solutions: the expert's other strategies, and the same calls "
        "in another order with the same outcome?",
        (),
        (other_strategies_pass, reorderings_pass),
    ),
    AuditQuestion(
        "flakiness",
        "Is the verdict the same when it is asked for again, at any time, over an identical "
        "episode, and from the record?",
        (check_has_no_side_effects, check_at_any_time, recheck_repeats_the_verdict),
        (check_asked_again, episode_done_again),
    ),
    AuditQuestion(
        "errors",
        "Is whatever a model writes answered by something that it can read, never by an "
        "exception, a hang or a lost episode?",
        (hostile_input, steps_after_the_end),
        (errors_say_why,),
    ),
    AuditQuestion(
        "latency",
        "How long do reset, step, check and snapshot take, and can other episodes go on meanwhile?",
        (),
        (calls_are_quick,),
    ),
    AuditQuestion(
        "memory",
        "What does a live episode hold, what is left when it is closed, and how large is a "
        "snapshot?",
        (snapshot_size,),
        (memory_is_bounded,),
        ("memory_is_bounded",),
    ),
    AuditQuestion(
        "upkeep",
        "Are all facts announced in the spec, and can the world be closed at any time?",
        (facts_match_patterns, close_is_idempotent),
    ),
)
CHECKS: dict[str, Part] = {
    check.__name__: check for question in QUESTIONS for check in question.checks
}
"""What every world must hold to, by name."""
