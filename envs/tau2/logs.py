"""Logged trials of τ²-bench done again in their domain: each call is made once more and every
answer compared; what the customer said stands as it was said, in the words of the model that played
them.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, get_args

from msgspec.structs import replace

from synth.envs.tau2.env import GREETING, Tau2Env
from synth.envs.tau2.package import SOLO, domain
from synth.envs.tau2.settings import Tau2Config, validated
from synth.envs.tau2.tasks import made_task, with_policy
from synth.schemas import (
    OPEN_LINE,
    AgentTurn,
    CheckResult,
    Env,
    EnvSpec,
    Observation,
    Opening,
    Outcome,
    SampledBy,
    Source,
    Task,
    Trajectory,
    Turn,
    Wording,
    content_hash,
    trajectory_id,
)

DOMAINS = get_args(Tau2Config.model_fields["domain"].annotation)
LOGGED = "logged"
"""Stands for the model that played the customer of a log."""
_TOLD = ("reason_for_call", "known_info", "task_instructions")


async def relived(spec: EnvSpec, task: Task, trial: Trajectory) -> tuple[Task, Trajectory] | str:
    """A trial and its task as this world records them, or the reason why it cannot be done again
    here.
    """
    made = task_of(spec, task, trial.system_prompt)
    if isinstance(made, str):
        return made
    if trial.outcome not in (Outcome.SUCCESS, Outcome.FAILURE):
        return "undecided"
    env = Tau2Env(spec, validated(made.env_config))
    opening = await env.reset(made)
    if trial.tools and _names(trial.tools) != _names(opening.tools):
        return "other_tools"
    turns, why = await redone(env, trial)
    if why is not None:
        return why
    check = await env.check()
    if check.passed is not (trial.outcome is Outcome.SUCCESS):
        return "another_verdict"
    return made, _as_here(spec, made, trial, opening, turns, check)


def _as_here(
    spec: EnvSpec,
    made: Task,
    trial: Trajectory,
    opening: Opening,
    turns: Sequence[Turn],
    check: CheckResult,
) -> Trajectory:
    """The trial as this world records it, in a slot of its own."""
    slot = content_hash(["relived", spec.name, spec.version, trial.slot_id])
    return replace(
        trial,
        trajectory_id=trajectory_id(slot, 0),
        slot_id=slot,
        task_id=made.task_id,
        env=spec.name,
        benchmark=made.benchmark,
        split=made.split,
        system_prompt=opening.system_prompt,
        tools=opening.tools,
        opening=(),
        opening_state_key=opening.state_key,
        turns=tuple(turns),
        check_result=check,
        reward=float(check.passed is True),
        content_hash=None,
    )


def task_of(spec: EnvSpec, task: Task, policy: str | None = None) -> Task | str:
    """The package's task that a logged one is, known by what its customer is told, with the
    `policy` that the agent was told; or the reason why there is none. A domain that the package
    does not have may be one of its own under another name: the answers will tell.
    """
    name = task.env.partition("/")[2]
    if name in SOLO:
        return "customer_with_tools"
    words = _words(task.script.get("instructions"))
    domains = [name] if name in DOMAINS else [one for one in DOMAINS if one not in SOLO]
    found = [(one, _by_words(one)[words]) for one in domains if words in _by_words(one)]
    if len(found) != 1:
        return "unknown_task"
    ((of, identity),) = found
    made = made_task(spec.name, of, identity)
    if isinstance(made, str) or policy is None:
        return made
    return with_policy(made, policy)


async def redone(env: Env, trial: Trajectory) -> tuple[list[Turn], str | None]:
    """The turns of a trial done again in a world that was just reset, up to the first answer that
    is another one, and why it ends there.
    """
    first = trial.turns[0]
    if first.sampled_by is not SampledBy.CANNED or first.content != GREETING:
        return [], "other_opening"
    words = [_worded(one) for one in first.observations]
    if trial.opening or len(words) != 1 or first.observations[0].source is not Source.USER:
        return [], "other_opening"
    turns = [replace(first, observations=tuple(words))]
    for turn in trial.turns[1:]:
        response = await env.step(AgentTurn(turn.content, turn.tool_calls))
        seen = _answers(turn.observations, response.observations)
        if seen is None:
            return turns, "other_answer"
        turns.append(replace(turn, observations=seen, state_key=response.state_key))
    return turns, None


def _answers(
    logged: Sequence[Observation], now: Sequence[Observation]
) -> tuple[Observation, ...] | None:
    """The world's own answers, with the customer's words; None where they are others."""
    if [one.source for one in logged] != [one.source for one in now]:
        return None
    pairs = list(zip(logged, now, strict=True))
    tools = [pair for pair in pairs if pair[1].source is Source.TOOL]
    if any(_read(old.content) != _read(new.content) for old, new in tools):
        return None
    return tuple(new if new.source is Source.TOOL else _worded(old) for old, new in pairs)


def _worded(said: Observation) -> Observation:
    """What a customer said, as a wording of the line that the world leaves open."""
    return replace(said, wording=Wording(OPEN_LINE, LOGGED))


def _read(content: str) -> Any:
    """An answer as JSON, where it is any: versions write it otherwise."""
    try:
        return json.loads(content)
    except ValueError:
        return content


def _names(tools: Sequence[Any]) -> set[str]:
    return {str(one.get("function", one).get("name")) for one in tools}


@cache
def _by_words(name: str) -> dict[str, str]:
    known = domain(name)
    return {_words(known.told(identity)): identity for identity in known.ids}


def _words(told: Any) -> str:
    """What a customer is told: the parts that tell tasks apart."""
    return " ".join(" ".join(_parts(told)).split())


def _parts(told: Any) -> Iterator[str]:
    if isinstance(told, str):
        yield told
    elif isinstance(told, dict):
        yield from (str(told[name]) for name in _TOLD if told.get(name))
