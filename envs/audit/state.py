"""In what two states of a world differ, as far as the world says that it matters."""

from collections import Counter

from synth.envs.conformance.finding import ConformanceRig
from synth.envs.fact_pattern import pattern_of
from synth.schemas.check import Facts
from synth.schemas.environment import Env
from synth.schemas.task import Task

State = Facts | str | None
"""The facts where a world has them, else its state key, else nothing."""


async def state_of(bench: ConformanceRig, env: Env, state_key: str | None) -> State:
    """What a world says about its state."""
    return dict(await env.facts()) if bench.claims("facts") else state_key


def differences(bench: ConformanceRig, task: Task, before: State, after: State) -> list[str]:
    """The paths whose values differ: free ones left out, generated ones by how many there are."""
    if before is None or after is None or isinstance(before, str) or isinstance(after, str):
        return [] if before == after else ["the state key"]
    patterns = dict(bench.world.spec.facts) | {
        pattern: "free" for pattern in (task.check.free if task.check else ())
    }
    found, generated = [], Counter[str]()
    for path in sorted(changed(before, after)):
        pattern = pattern_of(patterns, path) or path
        kind = patterns.get(pattern, "protected")
        if kind == "generated":
            generated[pattern] += (path in after) - (path in before)
        elif kind != "free":
            found.append(path)
    return found + [
        f"{count:+d} of {pattern}" for pattern, count in sorted(generated.items()) if count
    ]


def changed(before: State, after: State) -> set[str]:
    """All paths whose values differ."""
    if before is None or after is None or isinstance(before, str) or isinstance(after, str):
        return set() if before == after else {"the state key"}
    return set() if before == after else {path for path, _ in before.items() ^ after.items()}
