"""Explorations at size, and mixes of what goals leave open, ask under a condition or ask as a
question.
"""

from random import Random

import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.customer.script import read_script
from synth.envs.storefront.reverse.asked import Topic, intent_of
from synth.envs.storefront.reverse.trials import FIRST_WORLD, elsewhere
from synth.envs.storefront.self_play import at_once
from synth.envs.storefront.tasks.compiled import ALWAYS_FREE, after, required
from synth.envs.storefront.tasks.intents import Draw
from synth.envs.storefront.tools.schemas import WRITES
from synth.envs.storefront.world.catalogue import COLOURS, NOUNS
from synth.envs.storefront.world.config import validated
from synth.envs.storefront.world.customers import PROPER_NAMES
from synth.envs.storefront.world.world import world_of
from synth.schemas.check import Check
from synth.schemas.environment import AgentTurn
from synth.schemas.reverse import Draft, NoGoal
from synth.schemas.task import Task
from tests.envs.storefront.exploring import (
    DONE,
    found,
    is_told,
    looked_up,
    one,
    passes,
    solution,
    task_of,
    then,
    wandered,
)
from tests.envs.storefront.reverse_windows import STRATEGIES, survivors

PLAIN = {
    "mix": {"ambiguous": 0, "conditional": 0},
    "description_share": 0,
    "relation_share": 0,
    "missing": 0,
    "changes_of_mind": 0,
}
"""Worlds whose customers name orders by their ids, and say at once and for good what they want."""


@pytest.mark.slow
@pytest.mark.nightly
def test_of_two_hundred_explorations_every_task_is_solved() -> None:
    async def explore(seed: int) -> bool | None:
        desk = await wandered({"world_seed": FIRST_WORLD + seed}, Random(seed), 5)
        draft = await desk.drafted()
        return (
            None
            if isinstance(draft, NoGoal)
            else (await solution(task_of(await desk.window(), draft), seed)).verdict.passed
        )

    solved = [at_once(explore(seed)) for seed in range(200)]
    assert set(solved) == {True, None}
    assert solved.count(True) >= 120


@pytest.mark.slow
@pytest.mark.nightly
def test_a_mix_of_ambiguous_tasks_leaves_open_which_is_meant_and_who_takes_the_first_is_wrong() -> (
    None
):
    async def try_out(tool: str, first: int) -> tuple[str, bool, bool]:
        deed = then(
            one(tool, by=Random(first)), *([one("issue_refund")] if tool == "create_return" else [])
        )
        desk = await found(
            deed,
            {"mix": {"feasible": 0, "ambiguous": 1, "conditional": 0}},
            range(first, first + 60),
        )
        draft = await desk.drafted()
        if isinstance(draft, NoGoal):
            return draft.reason, True, False
        task = task_of(await desk.window(), draft)
        env = WORLD.open({})
        await env.reset(task)
        while not (await env.step(await env.expert("first_match", 0))).done:
            pass
        return draft.structure, (await solution(task)).verdict.passed, (await env.check()).passed

    tools = ("create_return", "modify_lines", "change_address", "cancel_order")
    tried = [at_once(try_out(tool, first)) for tool in tools for first in range(0, 60, 2)]
    ambiguous = [by_first for structure, _, by_first in tried if "ambiguous" in structure]
    assert all(solved for _, solved, _ in tried)
    assert {structure for structure, *_ in tried if structure.startswith("no_")} <= {
        "no_words:address"
    }
    assert len(ambiguous) >= 10
    assert sum(ambiguous) <= len(ambiguous) / 2


@pytest.mark.parametrize("kind", ["return", "exchange", "cancel"])
def test_a_mix_of_conditional_tasks_asks_under_a_condition_that_holds(kind: str) -> None:
    async def try_out() -> tuple[str, bool]:
        for first in range(30):
            desk = await found(
                DONE[kind],
                {"mix": {"feasible": 0, "ambiguous": 0, "conditional": 1}},
                range(first, 60),
            )
            request = read_script((task := await desk.task()).script).requests[0]
            if request.condition is not None:
                return request.condition, (await solution(task)).verdict.passed
        raise AssertionError("no condition in any world")

    assert at_once(try_out()) == (
        {"return": "refund_at_least", "exchange": "in_stock", "cancel": "not_shipped"}[kind],
        True,
    )


def test_a_note_is_asked_for_word_for_word_and_notes_are_free_no_more() -> None:
    async def try_out() -> tuple[Task, Task, list[str]]:
        desk = await found(then(one("add_note"), one("cancel_order")), {})
        task, bare = await desk.task(), await (await found(DONE["cancel"], {})).task()
        return (
            task,
            bare,
            [request.kind for request in read_script(task.script).requests]
            + [str((await solution(task)).verdict.passed)],
        )

    task, bare, said = at_once(try_out())
    made = next(row for row in (task.check or Check()).required if row.table == "notes").where
    assert said == ["note", "cancel", "True"]
    assert f'"{made["text"]}"' in task.goal
    assert str(made["ticket_id"]) in task.goal
    assert "notes/*/*" not in (task.check or Check()).free
    assert "notes/*/*" in (bare.check or Check()).free, "where none is asked for, they stay free"


@pytest.mark.parametrize(
    ("tool", "kind"),
    [("track_shipment", "track"), ("quote_refund", "refund_query"), ("get_variant", "price_query")],
)
def test_what_was_looked_up_is_a_question_that_the_expert_answers_and_no_mutant_does(
    tool: str, kind: str
) -> None:
    async def try_out() -> tuple[Task, list[bool], tuple[int, list[str]], bool, bool]:
        desk = await found(looked_up(tool), {})
        draft, task = await desk.drafted(), await desk.task()
        assert isinstance(draft, Draft)
        said, walk = (
            draft.answer,
            [AgentTurn(turn.content, turn.tool_calls) for turn in desk.walk],
        )
        solved = [(await solution(task, seed)).verdict.passed for seed in STRATEGIES]
        return (
            task,
            solved,
            await survivors(task),
            await is_told(task, [*walk, said]),
            await is_told(task, [said]),
        )

    task, solved, (made, alive), told, guessed = at_once(try_out())
    assert [request.kind for request in read_script(task.script).requests] == [kind]
    assert task.check is not None
    assert (bool(task.check.told), task.check.required, task.check.refusals) == (True, (), ())
    assert not [fact for fact in task.check.told if str(fact.value) in task.goal]
    assert (solved, alive) == ([True] * len(STRATEGIES), [])
    assert made >= 5
    assert (told, guessed) == (True, False), "the answer counts after the look-up, and not before"


@pytest.mark.slow
def test_the_answer_to_a_question_is_another_one_in_the_worlds_of_other_seeds() -> None:
    async def task_with(tool: str) -> Task:
        return await (await found(looked_up(tool), {})).task()

    for tool in ("track_shipment", "quote_refund", "get_variant"):
        task = at_once(task_with(tool))
        found_there = [elsewhere(task, seed) for seed in range(12)]
        types = {tuple(fact.type for fact in told) for told in found_there if told is not None}
        assert task.check is not None
        assert types == {tuple(fact.type for fact in task.check.told)}
        assert (
            len({tuple(fact.value for fact in told) for told in found_there if told is not None})
            > 6
        )


@pytest.mark.slow
def test_a_structure_names_no_entity_and_is_shared_by_requests_that_differ_in_entities_alone() -> (
    None
):
    async def structures(kind: str) -> set[str]:
        drafts = [
            await (await found(DONE[kind], PLAIN, range(first, 200))).drafted()
            for first in range(0, 24, 4)
        ]
        return {draft.structure for draft in drafts if isinstance(draft, Draft)}

    every = {kind: at_once(structures(kind)) for kind in DONE if kind != "return above the limit"}
    words = {word for kind in every for structure in every[kind] for word in structure.split()}
    assert not words & {*COLOURS, *NOUNS, *PROPER_NAMES}
    assert not any(character.isdigit() for word in words for character in word)
    assert all(1 <= len(found) < 6 for found in every.values())
    assert len(set().union(*every.values())) == sum(map(len, every.values()))


def test_the_same_window_has_the_same_goal_and_one_instruction_for_each_operation() -> None:
    async def try_out() -> None:
        desk = await found(then(DONE["return"], one("cancel_order", refused_by="R3")), {})
        first, again = await desk.drafted(), await desk.drafted()
        assert first == again
        assert isinstance(first, Draft)
        assert [line.split()[0] for line in first.low_level] == ["Open", "Refund", "Cancel"]
        assert "refused by R3" in first.low_level[2]

    at_once(try_out())


@pytest.mark.slow
@pytest.mark.parametrize("kind", DONE)
def test_a_check_derived_from_the_change_judges_as_the_one_that_the_request_requires(
    kind: str,
) -> None:
    async def try_out() -> list[tuple[bool, bool]]:
        desk = await found(DONE[kind], {})
        window, task = await desk.window(), await desk.task()
        base, script = world_of(validated(window.env_config)), read_script(task.script)
        calls = [c for operation in desk.operations for c in operation.turn.tool_calls]
        topic = Topic(
            calls[0].parsed().get("order_id"),
            calls=[(c.name, c.parsed()) for c in calls if c.name in WRITES],
        )
        (owner,) = {
            key
            for key in base.customers_by["name"][script.name]
            if key in str(desk.walk[1:])[:4000]
        }
        draw = Draw(Random(), validated({"changes_of_mind": 0}), base, 1, owner)
        intent = intent_of(topic, draw, "any words")
        assert not isinstance(intent, NoGoal)
        diff = task.check or Check()
        free = (*ALWAYS_FREE, *intent.free)
        rows = tuple(required(after(base, intent.calls), free))
        intended = Check(required=rows, free=free, told=diff.told, process=diff.process)
        other = Task.identified(
            env="storefront",
            env_config=task.env_config,
            goal=task.goal,
            check=intended,
            script=task.script,
        )
        solved = await solution(task)
        assert WORLD.mutants is not None
        ways: list[tuple[AgentTurn, ...]] = [
            solved.actions,
            *(tuple(turns) for _, turns in WORLD.mutants(task, solved)),
        ]
        return [(await passes(task, turns), await passes(other, turns)) for turns in ways]

    verdicts = at_once(try_out())
    assert verdicts[0] == (True, True)
    assert all(derived == intended for derived, intended in verdicts)


def test_explorations_have_worlds_of_their_own_unless_the_settings_name_one() -> None:
    assert WORLD.exploring is not None
    assert [WORLD.exploring({}, seed)["world_seed"] for seed in (0, 7)] == [
        FIRST_WORLD,
        FIRST_WORLD + 7,
    ]
    assert WORLD.exploring({"world_seed": 3, "level": 0.5}, 7) == {"world_seed": 3, "level": 0.5}
