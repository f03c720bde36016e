"""An episode on the bench: played by a policy or performed from given actions, and compared with
another.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from synth.envs.normalise import normalised
from synth.schemas import (
    AgentTurn,
    CheckResult,
    Env,
    Episode,
    Opening,
    Policy,
    Response,
    Task,
    ToolCall,
    Turn,
    View,
)

MAX_TURNS = 200
"""Longer episodes are cut: a bot that never ends must not either."""


class Transcript(msgspec.Struct, frozen=True):
    """What was done, what the world answered, and its verdict at the end."""

    opening: Opening
    actions: tuple[AgentTurn, ...]
    responses: tuple[Response, ...]
    verdict: CheckResult


async def play(
    env: Env,
    task: Task | None,
    choose: Callable[[Episode], Policy],
    *,
    seed: int,
    max_turns: int = MAX_TURNS,
) -> Transcript:
    """An episode in which a policy acts until the world ends it, or `max_turns` are over."""

    opening = await env.reset(task)
    policy = choose(Episode(env, None, 0, seed))
    actions: list[AgentTurn] = []
    responses: list[Response] = []
    turns: list[Turn] = []
    while len(turns) < max_turns and not (responses and responses[-1].done):
        action = (await policy.act(View(opening, tuple(turns)))).turn
        response = await env.step(action)
        turns.append(turn_of(len(turns), action, response))
        actions.append(action)
        responses.append(response)

    return Transcript(opening, tuple(actions), tuple(responses), await env.check())


async def perform(
    env: Env,
    task: Task | None,
    actions: Sequence[AgentTurn],
    before: Callable[[int], Awaitable[object]] | None = None,
) -> Transcript:
    """An episode of given actions from the start; `before` is called ahead of each turn."""

    opening = await env.reset(task)
    responses = []
    for turn, action in enumerate(actions):
        if before is not None:
            await before(turn)
        responses.append(await env.step(action))

    return Transcript(opening, tuple(actions), tuple(responses), await env.check())


async def taken_to(env: Env, task: Task | None, actions: Sequence[AgentTurn]) -> None:
    """Takes an instance from the start to where these actions lead."""
    await env.reset(task)
    for action in actions:
        await env.step(action)


def turn_of(index: int, action: AgentTurn, response: Response) -> Turn:
    """What was done and answered, as a ledger holds it."""
    seen = response.observations
    return Turn(index, action.content, action.tool_calls, seen, state_key=response.state_key)


def edited(
    actions: Sequence[AgentTurn], edits: Mapping[tuple[int, int], ToolCall | None]
) -> tuple[AgentTurn, ...]:
    """The turns with other calls at these places (turn, place in it), or none; a turn that nothing
    is left of is left out.
    """

    turns = []
    for at, turn in enumerate(actions):
        made = [edits.get((at, place), call) for place, call in enumerate(turn.tool_calls)]
        calls = tuple(call for call in made if call is not None)
        if calls or not made or turn.content:
            turns.append(msgspec.structs.replace(turn, tool_calls=calls))

    return tuple(turns)


def why_failed(verdict: CheckResult) -> str:
    """The parts that failed, with their evidence."""

    failed = [
        f"{part.name} ({'; '.join(part.evidence)})" if part.evidence else part.name
        for part in verdict.parts
        if not part.passed
    ]
    return ", ".join(failed) or "not passed"


def first_error(found: Transcript) -> str | None:
    """The first call of an episode that was answered by an error, and by which; None without."""

    answered = enumerate(zip(found.actions, found.responses, strict=False))
    for turn, (action, response) in answered:
        for seen in response.observations:
            if seen.error:
                asked = next((c for c in action.tool_calls if c.call_id == seen.call_id), None)
                call = f"{asked.name} {asked.arguments}" if asked else "words"
                return f"turn {turn}, {call}, was answered {seen.content!r}"[:300]

    return None


def difference(expected: Transcript, found: Transcript) -> str | None:
    """The first thing in which two transcripts of the same actions differ, or None."""

    a, b = expected.opening, found.opening
    if (a.system_prompt, a.tools, a.greeting) != (b.system_prompt, b.tools, b.greeting):
        return "the opening's system prompt, tools or greeting differ"
    opening = response_difference(
        Response(a.observations, a.state_key), Response(b.observations, b.state_key)
    )
    if opening is not None:
        return f"opening: {opening}"
    steps = rest_difference(expected.responses, found.responses)
    if steps is not None:
        return steps
    if expected.verdict != found.verdict:
        return f"check: {expected.verdict} then {found.verdict}"[:400]

    return None


def rest_difference(
    expected: Sequence[Response], found: Sequence[Response], *, first: int = 0
) -> str | None:
    """The first turn (numbered from `first`) at which two runs of responses differ, and in what."""

    if len(expected) != len(found):
        return f"{len(expected)} responses, then {len(found)}"
    for index, (a, b) in enumerate(zip(expected, found, strict=True), first):
        what = response_difference(a, b)
        if what is not None:
            return f"turn {index}: {what}"

    return None


def response_difference(expected: Response, found: Response) -> str | None:
    """In what two responses differ, their observations normalised; None where in nothing."""

    a, b = tuple(map(normalised, expected.observations)), tuple(map(normalised, found.observations))
    if a != b:
        return f"observations {a} then {b}"[:400]
    if expected.state_key != found.state_key:
        return f"state key {expected.state_key} then {found.state_key}"
    if (expected.reward, expected.done) != (found.reward, found.done):
        return (
            f"reward and done {(expected.reward, expected.done)} then {(found.reward, found.done)}"
        )

    return None
