"""Known solutions of the tasks, by the environment's own expert, else the task's gold actions; and
in what the end states of other episodes differ, as far as the environment says that it matters.
"""

from collections import Counter
from collections.abc import (
    AsyncIterator,
    Callable,
    Iterable,
    Sequence,
)
from dataclasses import dataclass

from synth.envs.bots import expert
from synth.envs.conformance.finding import ConformanceRig, NotTriedError
from synth.envs.fact_pattern import pattern_of
from synth.envs.transcript import (
    MAX_TURNS,
    Transcript,
    perform,
)
from synth.schemas import AgentTurn, Env, Facts, Task


@dataclass(frozen=True)
class Variant:
    """A solution done otherwise: what is other, in a word and in words, and its turns. `order`
    names the solution's turn that each one repeats, where they are all there.
    """

    kind: str
    what: str
    actions: tuple[AgentTurn, ...]
    order: tuple[int, ...] = ()


State = Facts | str | None
"""The facts where an environment has them, else its state key, else nothing."""


@dataclass(frozen=True)
class Solution:
    """An episode that passes: `effectful` says of each turn whether it changed the state, `end` is
    the state at the end.
    """

    task: Task
    transcript: Transcript
    effectful: tuple[bool, ...]
    end: State


async def solutions(bench: ConformanceRig) -> AsyncIterator[Solution]:
    """A solution of each task that has one, until it gets late. Raises `NotTriedError` where there
    is neither an expert nor a task with gold actions.
    """

    if not bench.claims("expert") and not any(task.gold for task in bench.tasks):
        raise NotTriedError("not tried: the world has no expert, its tasks no gold actions")
    for task in bench.tasks:
        known = None if bench.late else await solution(bench, task)
        if known is not None:
            yield known


async def solution(bench: ConformanceRig, task: Task) -> Solution | None:
    """A passing episode of a task, or None where none is known."""

    bench.note(f"a solution of task {task.task_id}")
    if bench.claims("expert"):
        played = await bench.played(task, expert("correct"), max_turns=MAX_TURNS)
        actions: Sequence[AgentTurn] = played.actions
    else:
        actions = [AgentTurn(tool_calls=(call,)) for call in task.gold or ()]

    env = bench.open()
    states = [await _state_of(bench, env, (await env.reset(task)).state_key)]
    for action in actions:
        states.append(await _state_of(bench, env, (await env.step(action)).state_key))
    effectful = tuple(bool(_changed(states[at], states[at + 1])) for at in range(len(actions)))

    transcript = await perform(env, task, actions)
    await env.close()
    passed = transcript.verdict.passed

    return (
        Solution(
            task,
            transcript,
            effectful,
            states[-1],
        )
        if passed
        else None
    )


@dataclass(frozen=True)
class VariantTrial:
    """What came of a variant of a solution: its episode, and in what its end state differs."""

    known: Solution
    variant: Variant
    transcript: Transcript
    differs: list[str]

    @property
    def task(self) -> str:
        """The task's id, short."""
        return self.known.task.task_id[:12]


async def trials(
    bench: ConformanceRig, vary: Callable[[Solution], Iterable[Variant]]
) -> AsyncIterator[VariantTrial]:
    """Plays the variants of each task's solution, until it gets late."""

    async for known in solutions(bench):
        for other in vary(known):
            if bench.late:
                break
            bench.note(f"task {known.task.task_id}, {other.what}")
            transcript, end = await variant(bench, known.task, other.actions)
            yield VariantTrial(
                known,
                other,
                transcript,
                differences(
                    bench,
                    known.task,
                    known.end,
                    end,
                ),
            )


async def variant(
    bench: ConformanceRig,
    task: Task,
    actions: Sequence[AgentTurn],
) -> tuple[Transcript, State]:
    """An episode of other actions, and the state at its end."""

    env = bench.open()
    transcript = await perform(env, task, actions)
    last = transcript.responses[-1] if transcript.responses else transcript.opening
    state = await _state_of(bench, env, last.state_key)
    await env.close()

    return transcript, state


async def _state_of(
    bench: ConformanceRig,
    env: Env,
    state_key: str | None,
) -> State:
    return dict(await env.facts()) if bench.claims("facts") else state_key


def differences(
    bench: ConformanceRig,
    task: Task,
    before: State,
    after: State,
) -> list[str]:
    """The paths whose values differ: free ones left out, generated ones by how many there are."""

    free = dict.fromkeys(task.check.free if task.check else (), "free")
    patterns = {**bench.world.spec.facts, **free}
    found, generated = list[str](), Counter[str]()
    for path in sorted(_changed(before, after)):
        pattern = pattern_of(patterns, path) or path
        kind = patterns.get(pattern, "protected")
        if kind == "generated" and isinstance(before, dict) and isinstance(after, dict):
            generated[pattern] += (path in after) - (path in before)
        elif kind != "free":
            found.append(path)

    counts = sorted(generated.items())

    return found + [f"{count:+d} of {pattern}" for pattern, count in counts if count]


def _changed(before: State, after: State) -> set[str]:
    """All paths whose values differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        return {path for path, _ in before.items() ^ after.items()}
    return set() if before == after else {"the state key"}
