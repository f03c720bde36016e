"""Every call is answered once and by its id, and an environment keeps to the task and the tools
that it began with.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from synth.boundary import FaultError
from synth.envs.conformance.finding import MOST_TURNS, ConformanceRig, FailedError, part
from synth.envs.transcript import turn_of
from synth.rollout.answers import checked, stepped
from synth.rollout.given import Given
from synth.schemas import AgentTurn, Env, Episode, ToolCall, Turn, View


@part()
async def answers_keep_to_the_protocol(bench: ConformanceRig) -> str:
    """An episode of each task, with odd turns in it, held to what a run holds every answer to."""

    turns = 0
    for task in bench.tasks:
        for odd_first in (False, True):
            given = Given(task)
            try:
                turns += await _played(bench, given, odd_first=odd_first)
                given.unchanged()
            except FaultError as fault:
                raise FailedError(f"task {task.task_id}: {fault.detail}") from fault

    return f"{turns} turns answered by the rules"


async def _played(
    bench: ConformanceRig,
    given: Given,
    *,
    odd_first: bool,
) -> int:
    """Counts the turns taken. Raises `FaultError` for the first answer that a run would refuse."""

    env = bench.open()
    policy = next(iter(bench.players.values()))(Episode(env, None, 0, bench.seed))
    bench.note(f"reset for task {given.task.task_id}")
    opening = await given.opened(env)

    turns: list[Turn] = []
    waiting: list[AgentTurn] = []
    done = False
    while not done and (waiting or len(turns) < MOST_TURNS):
        if not waiting:
            action = (await policy.act(View(opening, tuple(turns)))).turn
            odd = _odd(action.tool_calls) if odd_first and not turns else ()
            waiting = [*odd, action]

        act, index = waiting.pop(0), len(turns)
        bench.note(f"turn {index}")
        seen = await stepped(env.step(act), index, act.tool_calls)
        turns.append(turn_of(index, act, seen))
        done = seen.done

    await _ended(bench, env, turns)

    return len(turns)


async def _ended(bench: ConformanceRig, env: Env, turns: Sequence[Turn]) -> None:
    """Takes odd turns after the last one, asks for the verdict and closes. Raises as `_played`."""

    for act in _odd(turns[-1].tool_calls):
        bench.note("a turn after the end")
        await stepped(env.step(act), len(turns), act.tool_calls)

    bench.note("check")
    await checked(env)
    await env.close()


def _odd(calls: Sequence[ToolCall]) -> Iterator[AgentTurn]:
    """Turns that models take and experts do not: calls side by side, a call that does not parse,
    one of no tool, words, nothing.
    """

    unknown = ToolCall.received("call_odd_1", "no_such_tool", "{}")
    broken = ToolCall.received("call_odd_2", calls[0].name if calls else "no_such_tool", "{")
    yield AgentTurn(tool_calls=(unknown, broken))
    if calls:
        beside = (replace(call, call_id=f"{call.call_id}_beside") for call in calls)
        yield AgentTurn(tool_calls=(broken, *beside))

    yield AgentTurn("One moment.")
    yield AgentTurn()
