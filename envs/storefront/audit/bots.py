"""Agents that work no task, or work it blindly: their pass rates say what the storefront's check is
worth.

Those that act from schemas alone are in `synth.envs.bots`; these know the storefront's tools, but
nothing of the task's check.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from synth.envs.bots import BOTS as GENERIC
from synth.envs.bots import calls_turn, expert
from synth.envs.storefront.tools.read import READS
from synth.envs.storefront.tools.schemas import FACTORS, FACTS, WRITES, compiled
from synth.envs.storefront.tools.transcript import decoded
from synth.schemas import Act, Episode, Policy, Source, ToolCall, View

MOST_PER_TURN = 30
MOST_ROUNDS = 12
"""Turns of looking things up: accounts, orders page by page, their parcels and quotes are known
after nine.
"""
_REQUEST = re.compile(r"^(\d)\. ", re.MULTILINE)
_DAY = re.compile(r"\d{4}-\d\d-\d\d$")
_MOST_SAID = 400
_IDENTIFIES = frozenset({"ask_customer", "find_customer", "verify_identity"})
"""First things first: orders that are read before anybody was verified would be a breach of R1."""
Calls = list[tuple[str, dict[str, Any]]]
Then = Callable[["LooksEverythingUp", View], list[Calls]]
"""The turns that a bot takes when it has looked everything up."""


class LooksEverythingUp:
    """Identifies the customer, reads all that it can, then takes the turns of `then`, and
    finishes.
    """

    def __init__(
        self,
        episode: Episode,
        then: Then,
    ) -> None:
        self._env = episode.env
        self._then = then
        self._done: set[tuple[str, str]] = set()
        self._left: list[Calls] | None = None
        self.offered: dict[tuple[str, str], ToolCall] = {}

    async def act(
        self,
        view: View,
    ) -> Act:
        """Everything that was not read yet, as many calls as fit; at the end what `then` makes of
        it.
        """
        if self._left is None:
            # offers come and go while it reads: all that were ever made are kept
            for turn in await self._env.affordances():
                for call in turn.tool_calls:
                    self.offered.setdefault((call.name, call.arguments), call)

            # who speaks comes first, then everything else that is fresh
            left = [at for at in self.offered if at not in self._done and _looks_up(*at)]
            fresh = ([at for at in left if at[0] in _IDENTIFIES] or left)[:MOST_PER_TURN]

            if fresh and len(view.turns) < MOST_ROUNDS:
                self._done.update(fresh)

                return Act(turn=calls_turn(view, self.chosen(lambda at: at in fresh)))

            self._left = self._then(self, view)

        calls = self._left.pop(0) if self._left else [("finish", {"message": "Goodbye."})]

        return Act(turn=calls_turn(view, calls))

    def chosen(
        self,
        fits: Callable[[tuple[str, str]], bool],
    ) -> Calls:
        """The offered calls that fit."""
        return [(call.name, call.parsed()) for at, call in self.offered.items() if fits(at)]


def _looks_up(
    tool: str,
    arguments: str,
) -> bool:
    """Whether a call reads something, or asks the customer who they are."""
    # arguments are canonical JSON: without blanks, so that a text is enough
    about_them = any(f'"field":"{factor}"' in arguments for factor in FACTORS)

    return tool in READS or (tool == "ask_customer" and about_them)


def _pages(calls: Calls) -> list[Calls]:
    """The calls in turns of as many as a bot makes at once."""
    return [
        calls[at : at + MOST_PER_TURN]
        for at in range(
            0,
            len(calls),
            MOST_PER_TURN,
        )
    ]


def _says_everything(
    bot: LooksEverythingUp,
    view: View,
) -> list[Calls]:
    """Every amount, day and status that was read with an order or a sku is told of it, as every
    fact that it could be.
    """
    answers = [
        decoded(seen.content) or {}
        for turn in view.turns
        for seen in turn.observations
        if seen.source is Source.TOOL and not seen.error
    ]

    # a dictionary, for a set would forget the order
    told: dict[tuple[str, str, Any], None] = {}

    for part in _objects(answers):
        about = part.get("sku") if "price" in part else part.get("order_id")

        for name, (kind, schema) in FACTS.items() if about is not None else ():
            for value in part.values():
                # what the tool would not take is not worth a call
                if compiled(schema)(value, name) is None and (
                    kind != "date" or _DAY.match(str(value))
                ):
                    told[(str(about), name, value)] = None

    tells = [("tell_customer", {"about": about, name: value}) for about, name, value in told]

    return _pages(tells[:_MOST_SAID])


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """All objects inside of tools' answers, the outer ones first."""
    if isinstance(value, Mapping):
        yield value

    for inner in value.values() if isinstance(value, Mapping) else value:
        if isinstance(inner, Mapping | list):
            yield from _objects(inner)


def _writes_everything(
    bot: LooksEverythingUp,
    view: View,
) -> list[Calls]:
    """Every write that the world offers, 30 per turn, after a yes to each."""
    asked = bot.chosen(lambda at: at[0] == "confirm_with_customer")

    return [*_pages(asked), *_pages(bot.chosen(lambda at: at[0] in WRITES))]


def _denies_everything(
    bot: LooksEverythingUp,
    view: View,
) -> list[Calls]:
    """A denial of every request for a reason that is as often right as any that can be denied
    without a breach of R1.
    """
    opening = "\n".join(seen.content for seen in view.opening.observations)
    # the opening numbers the requests, and is all that this bot reads of them
    numbers = map(int, _REQUEST.findall(opening))

    return [[("deny", {"request": number, "rule_id": "R7"})] for number in numbers]


def _looking(then: Then) -> Callable[[Episode], Policy]:
    """The bot that looks everything up before it takes these turns."""
    return lambda episode: LooksEverythingUp(episode, then)


BOTS: Mapping[str, Callable[[Episode], Policy]] = {
    **GENERIC,
    "shotgun_talker": _looking(_says_everything),
    "look_up_then_stop": _looking(lambda bot, view: []),
    "look_up_then_refuse": _looking(_denies_everything),
    "write_all": _looking(_writes_everything),
    "first_match": expert("first_match"),
    "always_comply": expert("never_denies"),
}
"""All bots that are tried on the storefront, by name. `first_match` takes the first account and the
first order that fit, and asks nobody which one is meant; `always_comply` denies nothing: it does
what was asked, or tries to, and leaves it at that where the tools refuse.
"""
