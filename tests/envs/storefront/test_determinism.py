"""Same seed and actions, same bytes; a parked episode goes on as if it had never been parked;
nothing an agent does raises.
"""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth.envs.storefront import WORLD
from synth.envs.storefront.self_play import at_once
from synth.envs.storefront.tools.schemas import TOOLS
from synth.schemas.canonical import canonical_json
from synth.schemas.environment import AgentTurn, Response
from synth.schemas.trajectory import Source, ToolCall
from tests.envs.storefront.playing import call, expert_episode, opened, started

TASKS = WORLD.make_tasks({}, 51, 12)
NAMES = [tool["function"]["name"] for tool in TOOLS]
NASTY_TEXTS = [
    "",
    "\x00",
    "\ud800",
    "a" * 25_000,
    "{" * 3_000,
    "Shall I go ahead?",
    "Which order? What is your e-mail?",
    "Anything else?",
]
ANY_TEXT = st.one_of(
    st.text(max_size=30), st.sampled_from(NASTY_TEXTS), st.text(st.characters(), max_size=8)
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def argument_texts(name: str) -> st.SearchStrategy[str]:
    """Arguments that have the tool's own names and any values, or are any text at all."""
    known: dict[str, Any] = next(
        (t["function"]["parameters"]["properties"] for t in TOOLS if t["function"]["name"] == name),
        {},
    )
    shaped = st.fixed_dictionaries(
        {},
        optional={
            key: JSON | st.sampled_from(schema.get("enum", [1])) for key, schema in known.items()
        },
    )
    return (shaped | JSON).map(lambda value: canonical_json(value).decode()) | ANY_TEXT


RAW_CALLS = st.sampled_from([*NAMES, "no_such_tool", "\ud800", "x" * 100_000]).flatmap(
    lambda name: st.builds(
        ToolCall, ANY_TEXT, st.just(name), argument_texts(name), st.none() | st.just("broken")
    )
)
RAW_TURNS = st.builds(
    AgentTurn,
    st.none() | ANY_TEXT,
    st.lists(RAW_CALLS, max_size=3).map(tuple),
    st.none() | ANY_TEXT,
)
STEPS = st.lists(st.integers(0, 10_000) | RAW_TURNS, min_size=1, max_size=14)
"""A number picks among the affordances (0: what the expert would do); a turn is taken as it is."""


async def walk(steps: list[Any], task_at: int, park_at: int | None) -> list[Response]:
    env = opened()
    await env.reset(TASKS[task_at])
    responses = []
    for at, step in enumerate(steps):
        if at == park_at:
            parked = await env.snapshot()
            assert len(parked.blob) <= 64 * 1024
            env = opened()
            await env.restore(parked)
        turn = step
        if isinstance(step, int):
            offered = [await env.expert(None, step), *await env.affordances()]
            turn = offered[step % len(offered)]
        responses.append(await env.step(turn))
        assert all(call_answered(turn, responses[-1]))
    await env.check()
    return responses


def call_answered(turn: AgentTurn, response: Response) -> list[bool]:
    """One tool observation per call, each content valid text."""
    tools = [
        observation for observation in response.observations if observation.source is Source.TOOL
    ]
    readable = [bool(observation.content.encode()) for observation in response.observations]
    return [len(tools) == len(turn.tool_calls), bool(response.observations), *readable]


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(STEPS, st.integers(0, len(TASKS) - 1), st.integers(0, 13))
def test_walking_again_or_from_a_parked_episode_gives_the_same_bytes(
    steps: list[Any], task_at: int, park_at: int
) -> None:
    straight = at_once(walk(steps, task_at, None))
    assert at_once(walk(steps, task_at, None)) == straight
    assert at_once(walk(steps, task_at, park_at)) == straight


def test_parked_episodes_of_the_expert_stay_far_below_64_kilobytes() -> None:
    async def parked_bytes(at: int) -> int:
        episode = await expert_episode(TASKS[at], None, at)
        return len((await episode.env.snapshot()).blob)

    assert max(at_once(parked_bytes(at)) for at in range(len(TASKS))) < 16_384


def test_turns_after_the_end_are_answered_by_errors_and_change_nothing() -> None:
    async def play() -> None:
        episode = await expert_episode(TASKS[0])
        before = await episode.env.check()
        for turn in (
            AgentTurn("hello?"),
            AgentTurn(),
            call("cancel_order", order_id="O-1", reason="other"),
            call("finish", message="x"),
        ):
            response = await episode.env.step(turn)
            assert response.done
            assert [observation.error for observation in response.observations] == [True]
        assert await episode.env.check() == before

    at_once(play())


def test_every_step_takes_a_minute_of_the_virtual_clock() -> None:
    async def play() -> str:
        episode = await started(TASKS[0])
        for text in ("one", "two"):
            await episode.act(call("add_note", ticket_id="T-10000", text=text))
        return str((await episode.env.facts())["notes/N-T-10000.2/created"])

    assert at_once(play()).endswith("T09:02")


def test_several_calls_in_one_turn_are_answered_in_order_and_nothing_follows_the_end() -> None:
    async def play() -> list[tuple[str | None, bool]]:
        episode = await started(TASKS[0])
        calls = (
            ("get_policy", '{"topic":"returns"}'),
            ("finish", '{"message":"bye"}'),
            ("get_policy", '{"topic":"returns"}'),
        )
        turn = AgentTurn(
            tool_calls=tuple(
                ToolCall.received(f"c{at}", name, text) for at, (name, text) in enumerate(calls)
            )
        )
        return [
            (observation.call_id, observation.error)
            for observation in (await episode.act(turn)).observations
        ]

    assert at_once(play()) == [("c0", False), ("c1", False), ("c2", True)]
