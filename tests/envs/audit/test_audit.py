"""The audit passes sound worlds, and names every hole that is planted in one."""

import asyncio
import gc
import time

import msgspec
import pytest

from synth.envs.audit.alternatives import words
from synth.envs.audit.audit import audit
from synth.envs.audit.latency import percentile
from synth.envs.audit.questions import QUESTIONS
from synth.envs.audit.report import AuditLimits
from synth.envs.echo import SPEC, WORLD, EchoEnv
from synth.schemas.errors import SynthError
from tests.envs.audit.holed_worlds import HOLES, RULE_OF_ORDER, world

LIMITS = AuditLimits(call_ms=20, part_s=20, input_s=1)
TURNS = {"turns": 3}


def report_on(of, *only, settings=None, tasks=3, limits=LIMITS, say=lambda answer: None):
    questions = [question for question in QUESTIONS if not only or question.name in only]
    return asyncio.run(
        audit(
            of,
            TURNS if settings is None else settings,
            seed=5,
            tasks=tasks,
            limits=limits,
            questions=questions,
            say=say,
        )
    )


def part(report, name):
    return next(
        finding for answer in report.answers for finding in answer.findings if finding.name == name
    )


def table(report, start):
    return next(
        table
        for answer in report.answers
        for table in answer.tables
        if table.title.startswith(start)
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", HOLES)
def test_a_planted_hole_is_named(name):
    question, failing, of = HOLES[name]
    report = report_on(of, question)
    assert report.failed == (question,)
    found = part(report, failing)
    assert found.passed is False
    assert found.detail
    assert question in report.verdict


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ignored_write", "leak", "traceback", "bad_snapshot"])
def test_a_hole_is_found_under_its_own_question_only(name):
    question, _, of = HOLES[name]
    assert report_on(of).failed == (question,)


def test_every_question_has_a_planted_hole():
    assert {question for question, _, _ in HOLES.values()} == {
        question.name for question in QUESTIONS
    }


@pytest.mark.slow
def test_a_sound_world_passes_every_question():
    said = []
    report = report_on(WORLD, say=said.append)
    assert report.failed == ()
    assert [answer.name for answer in said] == [question.name for question in QUESTIONS]
    assert report.verdict == "Sound: 13 of 13 questions passed, none failed."
    assert part(report, "fresh_process").passed is True


def test_what_the_check_lets_pass_is_shown_with_what_differs():
    report = report_on(HOLES["ignored_write"][2], "mutants")
    assert "said/1/text" in report.answers[0].result
    survivors = table(report, "Survivors").rows
    assert {row[1] for row in survivors} == {"swap"}
    assert all("turn 1, echo with text" in row[2] for row in survivors)


def test_mutants_that_change_nothing_are_left_out():
    """Three words and finish: 4 calls dropped, 4 repeated, 4 cuts; finish done twice changes
    nothing.
    """
    rows = {
        row[0]: row for row in table(report_on(WORLD, "mutants", tasks=1), "Mutants by kind").rows
    }
    assert rows["drop"][1:5] == ("4", "0", "4", "4")
    assert rows["repeat"][1:5] == ("4", "1", "3", "3")
    assert rows["cut"][1:5] == ("4", "0", "4", "4")


@pytest.mark.slow
def test_a_call_that_holds_the_event_loop_is_told_from_one_that_waits():
    holding, waiting = (
        report_on(HOLES[name][2], "latency", tasks=1).answers[0].result
        for name in ("blocking", "slow_step")
    )
    assert "check holds the event loop for 1" in holding
    assert "step takes " in waiting
    assert "event loop" not in waiting


def test_an_order_that_only_a_rule_of_order_refuses_is_not_held_against_the_check():
    report = report_on(RULE_OF_ORDER, "alternatives")
    assert report.failed == ()
    rows = table(report, "Same calls").rows
    assert sum(int(row[3]) for row in rows) > 0


def test_an_amount_depends_on_the_answer_that_writes_it_otherwise():
    """The turn that says $1,151.00 uses the answer 1151.0: swapping them is no other solution."""
    assert words("you get $1,151.00 back.") & words('{"refund":1151.0}') == {"1151.0"}
    assert words("lines [1,200]") >= {"lines", "1.0", "200.0"}
    assert not words("O-44712") & words("O-4471")


def test_a_world_without_expert_is_judged_by_its_gold_actions():
    bare = msgspec.structs.replace(SPEC, capabilities=frozenset({"facts", "tasks"}))

    def without_gold(config, seed, count):
        return WORLD.make_tasks(config, seed, count)

    assert (
        part(report_on(world(EchoEnv, bare, without_gold), "mutants"), "mutants_are_killed").passed
        is None
    )

    def with_gold(config, seed, count):
        tasks = []
        for task in WORLD.make_tasks(config, seed, count):
            env, calls = WORLD.open(config), []
            asyncio.run(env.reset(task))
            while not calls or calls[-1].name != "finish":
                turn = asyncio.run(env.expert())
                calls += turn.tool_calls
                asyncio.run(env.step(turn))
            tasks.append(msgspec.structs.replace(task, gold=tuple(calls)))
        return tasks

    tasks = with_gold(TURNS, 5, 3)
    report = report_on(world(EchoEnv, bare, lambda config, seed, count: tasks[:count]), "mutants")
    assert part(report, "mutants_are_killed").passed is True


def test_a_world_with_neither_facts_nor_keys_is_not_judged_by_mutants():
    class Keyless(EchoEnv):
        async def reset(self, task):
            return msgspec.structs.replace(await super().reset(task), state_key=None)

        async def step(self, turn):
            return msgspec.structs.replace(await super().step(turn), state_key=None)

    bare = msgspec.structs.replace(SPEC, capabilities=frozenset({"expert", "tasks"}))
    found = part(report_on(world(Keyless, bare), "mutants"), "mutants_are_killed")
    assert (found.passed, found.detail) == (
        None,
        "not tried: no call of 3 solved tasks changes the state",
    )


def test_state_keys_stand_in_for_facts():
    keyed = msgspec.structs.replace(SPEC, capabilities=frozenset({"expert", "tasks"}))
    assert part(report_on(world(EchoEnv, keyed), "mutants"), "mutants_are_killed").passed is True


@pytest.mark.slow
def test_a_world_that_blocks_may_when_it_says_so():
    report = report_on(
        WORLD, "latency", settings={"turns": 1, "blocking_ms": 120}, tasks=1, limits=AuditLimits()
    )
    assert part(report, "calls_are_quick").passed is True
    assert "it says that it blocks" in part(report, "calls_are_quick").detail


@pytest.mark.slow
def test_what_a_world_keeps_once_for_later_is_no_leak():
    kept = []

    class KeepsEightClosedEpisodes(EchoEnv):
        async def close(self):
            if len(kept) < 8:
                kept.append(bytearray(400 * 1024))

    assert (
        part(report_on(world(KeepsEightClosedEpisodes), "memory"), "memory_is_bounded").passed
        is True
    )
    assert len(kept) == 8


@pytest.mark.slow
def test_a_hanging_world_costs_its_parts_and_not_the_audit():
    began = time.monotonic()
    report = report_on(
        WORLD,
        "mutants",
        "bots",
        settings=TURNS | {"hang_at_turn": 1},
        limits=AuditLimits(part_s=0.3),
    )
    assert report.failed == ("bots", "mutants")
    assert (
        "no answer within 0.3 s, at: a solution of task"
        in part(report, "mutants_are_killed").detail
    )
    assert time.monotonic() - began < 20


def test_settings_that_a_world_refuses_are_its_users_to_mend():
    def refusing(config, seed, count):
        raise SynthError("there is no shop of that name")

    with pytest.raises(SynthError, match="no shop"):
        report_on(world(EchoEnv, tasks=refusing))


def test_the_99th_percentile_is_a_sample_that_99_of_100_do_not_exceed():
    assert percentile(list(range(1, 101)), 0.99) == 99
    assert percentile([3.0], 0.99) == 3.0
    assert percentile([1.0, 2.0], 0.5) == 1.0


def test_pass_rates_tell_expert_from_misconceptions():
    rates = {row[0]: row[3] for row in table(report_on(WORLD, "bots"), "Pass rates").rows}
    assert (
        rates["do_nothing"]
        == rates["random_affordance"]
        == rates["refuse_all"]
        == rates["expert, stops_early"]
        == "0 %"
    )
    assert rates["expert"] == "100 %"


class Mistyped(EchoEnv):
    """Answers one question with something else."""

    where = ""

    async def reset(self, task):
        opening = await super().reset(task)
        return None if self.where == "reset" else opening

    async def step(self, turn):
        response = await super().step(turn)
        texts = msgspec.structs.replace(response, observations=("text",))
        return {"step": {"observations": []}, "observations": texts}.get(self.where, response)

    async def check(self):
        return True if self.where == "check" else await super().check()


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("reset", "reset returned NoneType, not an Opening"),
        ("step", "step 0 returned dict, not a Response"),
        ("observations", "step 0 returned observations[0]: Expected `object`, got `str`"),
        ("check", "check returned bool, not a CheckResult"),
    ],
)
def test_answers_of_the_wrong_type_are_told_once(where, said):
    report = report_on(world(type("Mistyped", (Mistyped,), {"where": where})))
    (answer,) = report.answers
    assert answer.findings[0].detail == f"nothing can be asked: {said}"


@pytest.mark.slow
def test_a_world_that_cannot_be_opened_or_ends_the_process_is_told_once(caplog):
    def opened(raised):
        def init(self, *given):
            raise raised

        return type("Closed", (EchoEnv,), {"__init__": init})

    (answer,) = report_on(world(opened(KeyError("no licence")))).answers
    assert "raised KeyError: 'no licence'" in answer.result
    (answer,) = report_on(world(opened(SystemExit(3)))).answers
    assert "raised SystemExit: 3" in answer.result
    gc.collect()
    assert caplog.text == "", "no task is left behind"
