"""Agents that understand nothing, whose pass rates say what an environment's check is worth; and
the environment's own expert as a policy.

Each is opened for an episode like any policy, and knows no environment: a bot acts from tool
schemas and affordances alone.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from random import Random
from typing import Any

import msgspec

from synth.schemas import (
    Act,
    AgentTurn,
    EnvSpec,
    Episode,
    Opening,
    Policy,
    ToolCall,
    ToolSchema,
    View,
    content_hash,
)

REFUSAL = "I am sorry, I cannot do that."
FIRST_NUMBERS = 6
"""Numbers tried of a range: as many requests as a task of the storefront has at most."""
_RULE_NAME = re.compile(r"\bR\d+\b")


@dataclass(frozen=True)
class _Bot:
    """A policy without a memory of its own."""

    choose: Callable[[Episode, View], Awaitable[AgentTurn]]
    episode: Episode

    async def act(self, view: View) -> Act:
        """The turn that comes next."""
        return Act(turn=await self.choose(self.episode, view))


async def _nothing(episode: Episode, view: View) -> AgentTurn:
    """Finishes at once where there is a tool `finish`, else takes empty turns."""
    return _finish(view)


async def _refusals(episode: Episode, view: View) -> AgentTurn:
    """Denies everything for every reason, then finishes; in text where the environment has no tool
    `deny`.

    One turn per value of the argument with the most values (a rule, as a rule), with a call for
    every choice of the others. Values are the schema's enumerations and the first numbers of its
    ranges; the rules may stand in the system prompt instead.
    """

    index, deny = len(view.turns), _tool(view.opening, "deny")
    if deny is None:
        return AgentTurn(REFUSAL) if index == 0 else _finish(view)
    choices = _choices(deny, view.opening)
    leading = max(choices, key=lambda name: len(choices[name]), default=None)
    if index >= (len(choices[leading]) if leading else 1):
        return _finish(view)
    if leading:
        choices[leading] = [choices[leading][index]]
    every = [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]

    return calls_turn(view, [("deny", made) for made in every])


async def _any_affordance(episode: Episode, view: View) -> AgentTurn:
    """Takes any of the affordances, each as likely, by a draw that depends on seed, trial, opening
    and turn number alone; an empty turn where there is none.
    """
    turns = await episode.env.affordances()
    opening = content_hash(view.opening.observations)
    draw = Random(f"{episode.seed} {episode.trial} {opening} {len(view.turns)}")
    return draw.choice(turns) if turns else AgentTurn()


BOTS: dict[str, Callable[[Episode], Policy]] = {
    "do_nothing": partial(_Bot, _nothing),
    "refuse_all": partial(_Bot, _refusals),
    "random_affordance": partial(_Bot, _any_affordance),
}


def expert(profile: str | None = None) -> Callable[[Episode], Policy]:
    """The environment's own planner; one profile and one seed for the whole episode."""

    async def planned(episode: Episode, view: View) -> AgentTurn:
        return await episode.env.expert(profile, episode.seed)

    return partial(_Bot, planned)


def players(spec: EnvSpec) -> dict[str, Callable[[Episode], Policy]]:
    """The policies that can act in an environment, the most telling first."""
    able = {"expert": expert()} if "expert" in spec.capabilities else {}
    if "affordances" in spec.capabilities:
        able["random_affordance"] = BOTS["random_affordance"]
    return able or {"do_nothing": BOTS["do_nothing"]}


def _tool(opening: Opening, name: str) -> ToolSchema | None:
    """The schema of a tool's function, by name."""
    functions: list[ToolSchema] = [tool["function"] for tool in opening.tools]
    return next((function for function in functions if function["name"] == name), None)


def _choices(function: ToolSchema, opening: Opening) -> dict[str, list[Any]]:
    """Values to try for each required argument."""

    parameters = function.get("parameters", {})
    named = set(_RULE_NAME.findall(opening.system_prompt or ""))
    rules = sorted(named, key=lambda rule: int(rule[1:]))
    choices: dict[str, list[Any]] = {}
    for name in parameters.get("required", ()):
        schema = parameters.get("properties", {}).get(name, {})
        is_free_rule = "rule" in name and rules and "enum" not in schema
        choices[name] = list(rules) if is_free_rule else _values(schema)

    return choices


def _values(schema: Mapping[str, Any]) -> list[Any]:
    """Every value of an enumeration, the first numbers of a range, else one value of the type."""

    if schema.get("enum"):
        return list(schema["enum"])
    if schema.get("type") in ("integer", "number"):
        first = int(schema.get("minimum", 1))
        last = int(schema.get("maximum", first))
        return list(range(first, min(last, first + FIRST_NUMBERS - 1) + 1))

    of_type: dict[str, Any] = {"boolean": False, "array": [], "object": {}}

    return [of_type.get(str(schema.get("type")), REFUSAL)]


def _finish(view: View) -> AgentTurn:
    """A call of `finish` with its first admissible arguments, or an empty turn."""

    finish = _tool(view.opening, "finish")
    if finish is None:
        return AgentTurn()
    made = {name: values[0] for name, values in _choices(finish, view.opening).items()}

    return calls_turn(view, [("finish", made)])


def calls_turn(view: View, calls: Iterable[tuple[str, Mapping[str, Any]]]) -> AgentTurn:
    """One turn of calls, with ids that are unique in the episode."""

    turn = len(view.turns)
    return AgentTurn(
        tool_calls=tuple(
            ToolCall.received(f"call_{turn}_{place}", name, msgspec.json.encode(made).decode())
            for place, (name, made) in enumerate(calls)
        )
    )
