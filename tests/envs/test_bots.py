"""Agents that understand nothing act from schemas and affordances alone."""

import asyncio
import json

from synth.envs.bots import BOTS, REFUSAL
from synth.envs.echo import make_tasks, open_echo
from synth.schemas.environment import Opening
from synth.schemas.policy import Episode, View
from synth.schemas.trajectory import Observation, Source, Turn


def tool(name, **properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def turns_of(bot, tools, count, system_prompt=None):
    opening = Opening(system_prompt, tuple(tools), (Observation("Cancel my order.", Source.USER),))

    async def act():
        policy = BOTS[bot](Episode(None, None, 0, 0))
        return [
            (await policy.act(View(opening, tuple(Turn(i) for i in range(index))))).turn
            for index in range(count)
        ]

    return asyncio.run(act())


def calls(turn):
    return [(call.name, json.loads(call.arguments)) for call in turn.tool_calls]


DENY = tool("deny", request={"type": "string"}, rule_id={"type": "string", "enum": ["R1", "R4"]})
FINISH = tool("finish", message={"type": "string"})


def test_refuse_all_denies_with_every_rule_and_then_finishes():
    turns = turns_of("refuse_all", [DENY, FINISH], 3)
    assert [calls(turn) for turn in turns] == [
        [("deny", {"request": REFUSAL, "rule_id": "R1"})],
        [("deny", {"request": REFUSAL, "rule_id": "R4"})],
        [("finish", {"message": REFUSAL})],
    ]


def test_refuse_all_denies_every_request_that_may_be_numbered():
    numbered = tool(
        "deny",
        request={"type": "integer", "minimum": 1, "maximum": 2},
        rule_id={"type": "string", "enum": ["R1", "R4", "R9"]},
    )
    first, *_ = turns_of("refuse_all", [numbered], 1)
    assert calls(first) == [
        ("deny", {"request": 1, "rule_id": "R1"}),
        ("deny", {"request": 2, "rule_id": "R1"}),
    ]
    assert len({call.call_id for call in first.tool_calls}) == 2


def test_refuse_all_takes_rules_from_the_system_prompt_where_the_schema_lists_none():
    free = tool("deny", rule_id={"type": "string"})
    turns = turns_of("refuse_all", [free], 3, "R10 forbids it. R2 too; R2 again.")
    assert [calls(turn) for turn in turns] == [
        [("deny", {"rule_id": "R2"})],
        [("deny", {"rule_id": "R10"})],
        [],
    ]


def test_refuse_all_says_so_in_text_where_nothing_can_be_denied():
    first, second = turns_of("refuse_all", [], 2)
    assert first.content == REFUSAL
    assert (second.content, second.tool_calls) == (None, ())


def test_do_nothing_finishes_at_once_where_it_can():
    (turn,) = turns_of("do_nothing", [DENY, FINISH], 1)
    assert [name for name, _ in calls(turn)] == ["finish"]
    (turn,) = turns_of("do_nothing", [DENY], 1)
    assert (turn.content, turn.tool_calls) == (None, ())


def test_random_affordance_takes_what_the_world_offers_and_the_same_again_for_the_same_seed():
    async def walk(seed):
        env = open_echo({})
        opening = await env.reset(make_tasks({}, 1, 1)[0])
        policy, turns, taken = BOTS["random_affordance"](Episode(env, None, 0, seed)), [], []
        for index in range(6):
            offered = await env.affordances()
            turn = (await policy.act(View(opening, tuple(turns)))).turn
            assert not offered or turn in offered
            response = await env.step(turn)
            turns.append(Turn(index, turn.content, turn.tool_calls, response.observations))
            taken.append(turn)
        return taken

    assert asyncio.run(walk(1)) == asyncio.run(walk(1))
    assert len({tuple(asyncio.run(walk(seed))) for seed in range(5)}) > 1
