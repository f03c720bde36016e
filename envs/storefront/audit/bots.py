"""Agents that work no task, or work it blindly: their pass rates say what the storefront's check is
worth.

Those that act from schemas alone are in `synth.envs.bots`; these know the storefront's tools, but
nothing of the task's check.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from synth.envs.bots import BOTS as GENERIC
from synth.envs.storefront.tools.arguments import compiled
from synth.envs.storefront.tools.event_log import shown
from synth.envs.storefront.tools.read import READS
from synth.envs.storefront.tools.schemas import FACTORS, FACTS, WRITES
from synth.schemas.canonical import canonical_json
from synth.schemas.environment import AgentTurn
from synth.schemas.policy import Act, Episode, Policy, View
from synth.schemas.trajectory import Source, ToolCall

MOST_PER_TURN = 30
MOST_ROUNDS = 12
"""Turns of looking things up: accounts, orders page by page, their parcels and quotes are known
after nine.
"""
_REQUEST = re.compile(r"^(\d)\. ", re.MULTILINE)
_DAY = re.compile(r"\d{4}-\d\d-\d\d$")
FACT_SCHEMAS = {name: schema for name, (_, schema) in FACTS.items()}
_MOST_SAID = 400
_IDENTIFIES = frozenset({"ask_customer", "find_customer", "verify_identity"})
"""First things first: orders that are read before anybody was verified would be a breach of R1."""


class LooksEverythingUp:
    """Identifies the customer, reads all that it can, then takes the turns of `then`, and
    finishes.
    """

    def __init__(
        self, episode: Episode, then: Callable[["LooksEverythingUp", View], list[AgentTurn]]
    ) -> None:
        self._env = episode.env
        self._then = then
        self._done: set[tuple[str, str]] = set()
        self._left: list[AgentTurn] | None = None
        self.offered: dict[tuple[str, str], ToolCall] = {}

    async def act(self, view: View) -> Act:
        """Everything that was not read yet, as many calls as fit; at the end what `then` makes of
        it.
        """
        if self._left is None:
            for turn in await self._env.affordances():
                for call in turn.tool_calls:
                    self.offered.setdefault((call.name, call.arguments), call)
            left = [
                at for at, call in self.offered.items() if at not in self._done and _looks_up(call)
            ]
            fresh = ([at for at in left if at[0] in _IDENTIFIES] or left)[:MOST_PER_TURN]
            if fresh and len(view.turns) < MOST_ROUNDS:
                self._done.update(fresh)
                return Act(turn=_numbered(view, [self.offered[at] for at in fresh]))
            self._left = self._then(self, view)
        return Act(
            turn=self._left.pop(0) if self._left else call_turn(view, "finish", message="Goodbye.")
        )


class AlwaysComplies:
    """The expert, but it denies nothing: it does what was asked, or tries to, and leaves it at that
    where the tools refuse.
    """

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    async def act(self, view: View) -> Act:
        """The planner's turn under that misconception."""
        return Act(turn=await self._episode.env.expert("never_denies", self._episode.seed))


class FirstMatch:
    """The expert, but it takes the first account and the first order that fit, and asks nobody
    which one is meant.
    """

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    async def act(self, view: View) -> Act:
        """The planner's turn under that misconception."""
        return Act(turn=await self._episode.env.expert("first_match", self._episode.seed))


def _looks_up(call: ToolCall) -> bool:
    return call.name in READS or (
        call.name == "ask_customer"
        and any(f'"field":"{factor}"' in call.arguments for factor in FACTORS)
    )


def _numbered(view: View, calls: list[ToolCall]) -> AgentTurn:
    return AgentTurn(
        tool_calls=tuple(
            ToolCall(f"call_{len(view.turns)}_{at}", call.name, call.arguments)
            for at, call in enumerate(calls)
        )
    )


def call_turn(view: View, tool: str, **arguments: object) -> AgentTurn:
    """A turn of one call."""
    return AgentTurn(
        tool_calls=(ToolCall(f"call_{len(view.turns)}", tool, canonical_json(arguments).decode()),)
    )


def _seen(view: View) -> Iterator[Mapping[str, Any]]:
    for turn in view.turns:
        for seen in turn.observations:
            if seen.source is Source.TOOL and not seen.error:
                yield shown(seen.content)


def _says_everything(bot: LooksEverythingUp, view: View) -> list[AgentTurn]:
    """Every amount, day and status that was read with an order or a sku is told of it, as every fact
    that it could be.
    """
    told: dict[tuple[str, str, Any], None] = {}
    for answer in _seen(view):
        for part in _objects(answer):
            about = part.get("sku") if "price" in part else part.get("order_id")
            for name, schema in FACT_SCHEMAS.items() if about is not None else ():
                fits = compiled(schema)
                for value in part.values():
                    if fits(value, name) is None and (name != "arrival" or _DAY.match(str(value))):
                        told[(str(about), name, value)] = None
    calls = [
        call_turn(view, "tell_customer", about=about, **{name: value}).tool_calls[0]
        for about, name, value in list(told)[:_MOST_SAID]
    ]
    pages = range(0, len(calls), MOST_PER_TURN)
    return [_numbered(view, calls[at : at + MOST_PER_TURN]) for at in pages]


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
    for inner in value.values() if isinstance(value, Mapping) else value:
        if isinstance(inner, Mapping | list):
            yield from _objects(inner)


def _writes_everything(bot: LooksEverythingUp, view: View) -> list[AgentTurn]:
    """Every write that the world offers, 30 per turn, after a yes to each."""
    writes = [call for call in bot.offered.values() if call.name in WRITES]
    asked = [call for call in bot.offered.values() if call.name == "confirm_with_customer"]
    return [
        _numbered(view, calls[at : at + MOST_PER_TURN])
        for calls in (asked, writes)
        for at in range(0, len(calls), MOST_PER_TURN)
    ]


def _denies_everything(bot: LooksEverythingUp, view: View) -> list[AgentTurn]:
    """A denial of every request for a reason that is as often right as any that can be denied
    without a breach of R1.
    """
    opening = "\n".join(o.content for o in view.opening.observations)
    return [
        call_turn(view, "deny", request=int(n), rule_id="R7") for n in _REQUEST.findall(opening)
    ]


def _looking(
    then: Callable[[LooksEverythingUp, View], list[AgentTurn]],
) -> Callable[[Episode], Policy]:
    return lambda episode: LooksEverythingUp(episode, then)


BOTS: Mapping[str, Callable[[Episode], Policy]] = {
    **GENERIC,
    "shotgun_talker": _looking(_says_everything),
    "look_up_then_stop": _looking(lambda bot, view: []),
    "look_up_then_refuse": _looking(_denies_everything),
    "write_all": _looking(_writes_everything),
    "first_match": FirstMatch,
    "always_comply": AlwaysComplies,
}
"""All bots that are tried on the storefront, by name."""
