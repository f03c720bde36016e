"""The suite passes a sound world and catches every planted fault."""

import asyncio

import msgspec
import pytest

from synth.envs.conformance.hostile_turns import hostile_turns
from synth.envs.echo import SPEC, WORLD, EchoEnv
from tests.envs.conformance.broken_worlds import (
    CannotCheckWithoutATask,
    CheckChangesTheWorld,
    CheckCounts,
    CheckShowsUpLater,
    ClosesOnce,
    ClosesOnlyWhatWasReset,
    ExpertCountsItsCalls,
    ExpertDrawsPerTurn,
    ExpertKnowsOneProfile,
    ExpertStopsEarly,
    FatSnapshot,
    ForgetsTheLastWord,
    KeepsWhatWasSaid,
    KeysByInstance,
    NestedFact,
    NumbersItsInstances,
    OffersOnlyWhatSolves,
    PassesAlways,
    PassesTheUntouched,
    PassesTheWordy,
    PassesWithoutATask,
    RechecksEverythingAsPassed,
    RestoresOverTheOld,
    SnapshotChangesTheWorld,
    StrayFact,
    VerdictOnOtherFacts,
)
from tests.envs.conformance.checks import CHECKS, conformance
from tests.envs.conformance.planted import finding, world
from tests.envs.conformance.rude_worlds import (
    AnswersNoCallAfterTheEnd,
    AnswersTheFirstCallOnly,
    BlocksOnAnEmptyTurn,
    EndsOnAnError,
    FlattersUnknownTools,
    LosesTheEpisodeAfterAnError,
    OpensAgainAfterTheEnd,
    RaisesAfterTheEnd,
    RaisesOnArgumentsThatAreNoJson,
    RaisesOnNul,
    RaisesOnUnknownTools,
    RaisesOnWrongTypes,
    RepeatsLoneSurrogates,
    RepeatsTheEnormous,
    SaysNoErrorAfterTheEnd,
    SilentOnAnEmptyTurn,
    WaitsForEverOnAnEmptyTurn,
)

PLANTED = [
    ("answers_keep_to_the_protocol", AnswersTheFirstCallOnly, "unanswered"),
    ("determinism", NumbersItsInstances, "observations"),
    ("determinism", KeysByInstance, "state key"),
    ("reset_starts_anew", KeepsWhatWasSaid, "after another"),
    ("snapshot_equals_replay", ForgetsTheLastWord, "a fresh instance"),
    ("snapshot_equals_replay", RestoresOverTheOld, "a used instance"),
    ("snapshot_equals_replay", SnapshotChangesTheWorld, "the world it was taken of"),
    ("snapshot_size", FatSnapshot, "65536"),
    ("expert_solves", ExpertStopsEarly, "2 of 2 unsolved"),
    ("expert_profiles", ExpertKnowsOneProfile, "KeyError"),
    ("expert_profiles", ExpertDrawsPerTurn, "two ways"),
    ("expert_plans_from_state", ExpertCountsItsCalls, "turn 0"),
    ("recheck_repeats_the_verdict", RechecksEverythingAsPassed, "random_affordance"),
    ("do_nothing_fails", PassesAlways, "passes 2 of 2"),
    ("do_nothing_fails", PassesTheUntouched, "passes 2 of 2"),
    ("refuse_all_is_bounded", PassesTheWordy, "ask for no refusal"),
    ("random_affordance_fails", OffersOnlyWhatSolves, "passes 2 of 2"),
    ("check_has_no_side_effects", CheckCounts, "the second time"),
    ("check_has_no_side_effects", CheckChangesTheWorld, "check before turn 0"),
    ("check_has_no_side_effects", CheckShowsUpLater, "reward"),
    ("check_at_any_time", CannotCheckWithoutATask, "without a task"),
    ("check_at_any_time", PassesWithoutATask, "without a task"),
    ("facts_match_patterns", StrayFact, "clock/now"),
    ("facts_match_patterns", NestedFact, "said/9/text"),
    ("facts_match_patterns", VerdictOnOtherFacts, "not the final ones"),
    ("close_is_idempotent", ClosesOnce, "a second time"),
    ("close_is_idempotent", ClosesOnlyWhatWasReset, "before any reset"),
    ("steps_after_the_end", RaisesAfterTheEnd, "AssertionError"),
    ("steps_after_the_end", OpensAgainAfterTheEnd, "open again"),
    ("steps_after_the_end", SaysNoErrorAfterTheEnd, "without an error"),
    ("steps_after_the_end", AnswersNoCallAfterTheEnd, "1 calls, 0 answers"),
    ("hostile_input", RaisesOnUnknownTools, "an unknown tool: raised KeyError"),
    (
        "hostile_input",
        RaisesOnArgumentsThatAreNoJson,
        "an open brace for arguments: raised ValueError",
    ),
    ("hostile_input", RaisesOnWrongTypes, "raised AttributeError"),
    ("hostile_input", RaisesOnNul, "of NUL: raised ValueError"),
    ("hostile_input", WaitsForEverOnAnEmptyTurn, "an empty turn: no answer within"),
    ("hostile_input", BlocksOnAnEmptyTurn, "blocks for more than"),
    ("hostile_input", SilentOnAnEmptyTurn, "an empty turn: no observation"),
    ("hostile_input", FlattersUnknownTools, "an unknown tool: no error"),
    ("hostile_input", EndsOnAnError, "it ends the episode"),
    ("hostile_input", LosesTheEpisodeAfterAnError, "the valid turn after it is an error"),
    ("hostile_input", RepeatsLoneSurrogates, "no UTF-8"),
    ("hostile_input", AnswersTheFirstCallOnly, "300 calls, 1 answers"),
    ("hostile_input", RepeatsTheEnormous, "characters"),
]
OF_WORLDS_THAT_NAME_SOME = {"own_bots_fail", "secrets_stay_hidden"}
"""Echo names neither bots of its own nor secrets; test_own_bots.py has the planted faults."""


def test_a_sound_world_passes_every_check():
    findings = asyncio.run(conformance(WORLD, {"turns": 4}, seed=3, tasks=2))
    assert [f.name for f in findings] == list(CHECKS)
    assert {f.name for f in findings if f.passed is not True} == OF_WORLDS_THAT_NAME_SOME
    assert not any(f.passed is False for f in findings)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "broken", "detail"),
    PLANTED,
    ids=[f"{name}-{broken.__name__}" for name, broken, _ in PLANTED],
)
def test_a_planted_fault_is_caught_and_named(check, broken, detail):
    call_limit_s, check_limit_s = (0.05, 0.8) if check == "hostile_input" else (1.0, 10.0)
    found = finding(check, world(broken), call_limit_s=call_limit_s, check_limit_s=check_limit_s)
    assert found.passed is False
    assert detail in found.detail


def test_what_drifts_between_processes_is_caught_in_another_process():
    found = finding("fresh_process", WORLD, {"turns": 3, "drift_at_turn": 1}, check_limit_s=60)
    assert found.passed is False
    assert "turn 1: observations" in found.detail


def test_within_one_process_the_same_drift_goes_unnoticed():
    assert finding("determinism", WORLD, {"turns": 3, "drift_at_turn": 1}).passed is True


def test_a_world_that_another_process_cannot_import_is_not_tried_there():
    assert finding("fresh_process", world()).passed is None


def test_a_world_that_raises_or_hangs_is_a_finding_and_not_a_crash():
    raising = finding("expert_solves", WORLD, {"turns": 3, "fail_at_turn": 1})
    assert raising.passed is False
    assert "RuntimeError: planned" in raising.detail
    hanging = finding("expert_solves", WORLD, {"turns": 3, "hang_at_turn": 1}, check_limit_s=0.2)
    assert hanging.passed is False
    assert "no answer within" in hanging.detail
    assert finding("check_at_any_time", WORLD, {"turns": 3, "raise_in_check": True}).passed is False


def test_every_check_has_a_planted_fault():
    assert {name for name, _, _ in PLANTED} | {
        "tasks_by_seed",
        "tasks_open_their_world",
        "fresh_process",
        *OF_WORLDS_THAT_NAME_SOME,
    } == set(CHECKS)


def test_what_a_world_does_not_claim_is_not_held_against_it():
    bare = msgspec.structs.replace(SPEC, capabilities=frozenset(), deterministic=False)
    checks = [
        "snapshot_equals_replay",
        "expert_solves",
        "facts_match_patterns",
        "random_affordance_fails",
        "determinism",
        "tasks_by_seed",
    ]
    found = [finding(name, world(spec=bare)) for name in checks]
    assert [f.passed for f in found] == [None] * len(checks)


def test_an_argument_may_be_of_several_types():
    properties = {"text": {"type": ["string", "null"]}}
    parameters = {"type": "object", "properties": properties, "required": ["text"]}
    tool = {"type": "function", "function": {"name": "say", "parameters": parameters}}
    wrong = {case.name for case in hostile_turns([tool]) if case.is_error}
    assert "say with text an object" in wrong
    assert wrong.isdisjoint({"say with text null", "say with text a text"})


def test_kinds_of_facts_are_required_free_protected_or_generated():
    odd = msgspec.structs.replace(
        SPEC, facts={"said/*/text": "wanted", "session/*/finished": "required"}
    )
    found = finding("facts_match_patterns", world(spec=odd))
    assert found.passed is False
    assert "wanted" in found.detail


def test_a_task_of_the_world_that_ends_the_process_is_told_and_not_waited_for() -> None:
    class Begins(EchoEnv):
        async def reset(self, task):
            return await asyncio.create_task(self.left())

        async def left(self):
            raise SystemExit(4)

    found = finding("determinism", world(Begins))
    assert (found.passed, "raised SystemExit: 4" in found.detail) == (False, True)
