"""Agents that understand nothing: their pass rates say what a world's check is worth.

Each is opened for an episode like any policy, and knows no world: it acts from tool schemas and
affordances alone.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from random import Random
from typing import Any

import msgspec

from synth.schemas.canonical import content_hash
from synth.schemas.environment import AgentTurn, Opening
from synth.schemas.policy import Act, Episode, Policy, View
from synth.schemas.trajectory import ToolCall, ToolSchema

REFUSAL = "I am sorry, I cannot do that."
FIRST_NUMBERS = 6
"""Numbers tried of a range: as many requests as a task of the storefront has at most."""
_RULE_NAME = re.compile(r"\bR\d+\b")


class DoNothing:
    """Finishes at once where there is a tool `finish`, else takes empty turns."""

    async def act(self, view: View) -> Act:
        """The same turn every time."""
        return Act(turn=_finish(view))


class RefuseAll:
    """Denies everything for every reason, then finishes; in text where the world has no tool
    `deny`.

    One turn per value of the argument with the most values (a rule, as a rule), with a call for
    every choice of the others.
    Values are the schema's enumerations and the first numbers of its ranges; the rules may stand in
    the system prompt instead.
    """

    async def act(self, view: View) -> Act:
        """The denials that come next."""
        index, deny = len(view.turns), _tool(view.opening, "deny")
        if deny is None:
            return Act(turn=AgentTurn(REFUSAL) if index == 0 else _finish(view))
        choices = _choices(deny, view.opening)
        leading = max(choices, key=lambda name: len(choices[name]), default=None)
        if index >= (len(choices[leading]) if leading else 1):
            return Act(turn=_finish(view))
        if leading:
            choices[leading] = [choices[leading][index]]
        every = [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
        return Act(turn=_calls(view, "deny", every))


class RandomAffordance:
    """Takes any of the world's affordances, each as likely; an empty turn where there is none."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    async def act(self, view: View) -> Act:
        """A draw that depends on seed, trial, opening and turn number alone."""
        turns = await self._episode.env.affordances()
        opening = content_hash(view.opening.observations)
        draw = Random(f"{self._episode.seed} {self._episode.trial} {opening} {len(view.turns)}")
        return Act(turn=draw.choice(turns) if turns else AgentTurn())


def do_nothing(episode: Episode) -> Policy:
    """Opens `DoNothing`."""
    return DoNothing()


def refuse_all(episode: Episode) -> Policy:
    """Opens `RefuseAll`."""
    return RefuseAll()


def random_affordance(episode: Episode) -> Policy:
    """Opens `RandomAffordance`; the world must have affordances."""
    return RandomAffordance(episode)


BOTS: dict[str, Callable[[Episode], Policy]] = {
    "do_nothing": do_nothing,
    "refuse_all": refuse_all,
    "random_affordance": random_affordance,
}


def _tool(opening: Opening, name: str) -> ToolSchema | None:
    """The schema of a tool's function, by name."""
    functions: list[ToolSchema] = [tool["function"] for tool in opening.tools]
    return next((function for function in functions if function["name"] == name), None)


def _choices(function: ToolSchema, opening: Opening) -> dict[str, list[Any]]:
    """Values to try for each required argument."""
    parameters = function.get("parameters", {})
    rules = sorted(
        set(_RULE_NAME.findall(opening.system_prompt or "")), key=lambda rule: int(rule[1:])
    )
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
        return list(
            range(first, min(int(schema.get("maximum", first)), first + FIRST_NUMBERS - 1) + 1)
        )
    of_type: dict[str, Any] = {"boolean": False, "array": [], "object": {}}
    return [of_type.get(str(schema.get("type")), REFUSAL)]


def _finish(view: View) -> AgentTurn:
    """A call of `finish` with its first admissible arguments, or an empty turn."""
    finish = _tool(view.opening, "finish")
    if finish is None:
        return AgentTurn()
    return _calls(
        view,
        "finish",
        [{name: values[0] for name, values in _choices(finish, view.opening).items()}],
    )


def _calls(view: View, name: str, calls: Sequence[Mapping[str, Any]]) -> AgentTurn:
    """One turn of calls of one tool, with ids that are unique in the episode."""
    turn = len(view.turns)
    return AgentTurn(
        tool_calls=tuple(
            ToolCall.received(f"call_{turn}_{place}", name, msgspec.json.encode(arguments).decode())
            for place, arguments in enumerate(calls)
        )
    )
