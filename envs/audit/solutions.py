"""Known solutions of the bench's tasks: by the world's own expert, else the task's gold actions."""

from collections.abc import Sequence
from dataclasses import dataclass

from synth.envs.audit.state import State, changed, state_of
from synth.envs.conformance.experts import expert
from synth.envs.conformance.finding import ConformanceRig
from synth.envs.transcript import Transcript, perform, play
from synth.schemas.check import CheckResult
from synth.schemas.environment import AgentTurn
from synth.schemas.task import Task


@dataclass(frozen=True)
class Solution:
    """An episode that passes: `effectful` says of each turn whether it changed the state, `end` is
    the state at the end.
    """

    task: Task
    transcript: Transcript
    effectful: tuple[bool, ...]
    end: State


def knows_solutions(bench: ConformanceRig) -> bool:
    """Whether there is an expert, or a task with gold actions."""
    return bench.claims("expert") or any(task.gold for task in bench.tasks)


async def solution(bench: ConformanceRig, task: Task) -> Solution | None:
    """A passing episode of a task, or None where none is known."""
    bench.note(f"a solution of task {task.task_id}")
    env = bench.open()
    if bench.claims("expert"):
        actions: Sequence[AgentTurn] = (
            await play(env, task, expert("correct"), seed=bench.seed)
        ).actions
    else:
        actions = [AgentTurn(tool_calls=(call,)) for call in task.gold or ()]
    state = await state_of(bench, env, (await env.reset(task)).state_key)
    effectful = []
    for action in actions:
        response = await env.step(action)
        after = await state_of(bench, env, response.state_key)
        effectful.append(bool(changed(state, after)))
        state = after
    transcript = await perform(env, task, actions)
    await env.close()
    return (
        Solution(task, transcript, tuple(effectful), state) if transcript.verdict.passed else None
    )


async def variant(
    bench: ConformanceRig, task: Task, actions: Sequence[AgentTurn]
) -> tuple[Transcript, State]:
    """An episode of other actions, and the state at its end."""
    env = bench.open()
    transcript = await perform(env, task, actions)
    last = (
        transcript.responses[-1].state_key if transcript.responses else transcript.opening.state_key
    )
    state = await state_of(bench, env, last)
    await env.close()
    return transcript, state


async def verdict_of(
    bench: ConformanceRig, task: Task, actions: Sequence[AgentTurn]
) -> CheckResult:
    """The verdict on an episode of given actions in a fresh instance."""
    env = bench.open()
    verdict = (await perform(env, task, actions)).verdict
    await env.close()
    return verdict
