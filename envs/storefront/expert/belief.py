"""What an agent believes: everything that was observed in the transcript, and nothing else; and the
persistent misconceptions of a profile, each of which shows in certain states.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

import msgspec

from synth.envs.storefront.customer.customer import PUSH_BACK
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.schemas import FACTS, WRITES
from synth.envs.storefront.tools.transcript import Event, Exchange, event_log
from synth.envs.storefront.world.policy import Call
from synth.envs.storefront.world.views import Item, Shown, item_of, noun_of
from synth.schemas import ConfigError, canonical_json, spared

WORDS = texts("expert")
MISCONCEPTIONS = WORDS["misconceptions"]
"""Name -> what it does."""

HELD_IN_MIXED = (2, 2, 3, 3)
"""How many a mixed trial holds, each count as likely as it stands here: half of the trials on tasks
of three requests or more are
solved (measured).
"""
CORRECT = "correct"
MIXED = "mixed"
PROFILES: tuple[str, ...] = (CORRECT, MIXED, *MISCONCEPTIONS)


@dataclass(frozen=True, slots=True)
class Strategy:
    """One of the right ways to work: none of these choices changes whether a task is solved."""

    identify_by: tuple[str, ...]
    order: str
    locate: str
    batches: bool
    collects: bool
    asks_to_close: bool
    checks_stock: bool


@lru_cache(maxsize=4096)
def misconceptions(
    profile: str | None,
    seed: int,
) -> frozenset[str]:
    """What a profile holds; for `mixed` it is drawn from the seed alone. Raises `ConfigError` for
    an unknown profile.
    """
    name, rid = spared(profile)

    if name == CORRECT:
        return frozenset()
    if name in MISCONCEPTIONS:
        return frozenset({name}) - rid

    if name != MIXED:
        raise ConfigError(
            f"profile {profile!r} is not one of storefront's; allowed: {', '.join(PROFILES)}"
        )

    rng = Random(f"storefront/profile/{seed}")

    return frozenset(rng.sample(list(MISCONCEPTIONS), rng.choice(HELD_IN_MIXED))) - rid


@lru_cache(maxsize=4096)
def strategy(seed: int) -> Strategy:
    """The way of working that a seed stands for."""
    rng = Random(f"storefront/strategy/{seed}")
    identify_by = ["email", "phone", "zip"]
    rng.shuffle(identify_by)

    return Strategy(
        identify_by=tuple(identify_by),
        order=rng.choice(("stated", "reversed", "writes_first", "questions_first")),
        locate=rng.choice(("walk", "search")),
        batches=rng.random() < 0.5,
        collects=rng.random() < 0.5,
        asks_to_close=rng.random() < 0.4,
        checks_stock=rng.random() < 0.5,
    )


_KEPT = {
    "get_customer": ("files", "customer_id"),
    "get_order": ("orders", "order_id"),
    "get_variant": ("variants", "sku"),
    "track_shipment": ("parcels", "order_id"),
}
"""Where the last answer of a tool is kept, and under what of it."""
_OF_THE_PERSON = ("name", "email", "phone", "zip", "coupon")
"""What the customer is asked for themselves, whatever they want."""


def signature_of(call: Call) -> str:
    """One text per call, whatever the order of its arguments."""
    return canonical_json(call).decode()


class Belief(msgspec.Struct, eq=False):
    """The observed part of the shop and of the conversation; `absorb` takes one exchange after the
    other.
    """

    heard: list[str]
    slots: dict[str, str | None]
    exchanges: int = 0
    accounts: list[str] = []
    more_accounts: Shown | None = None
    verified: dict[str, set[str]] = {}
    pages: dict[str, dict[int, Shown]] = {}
    files: dict[str, Shown] = {}
    orders: dict[str, Shown] = {}
    products: dict[str, Shown] = {}
    variants: dict[str, Shown] = {}
    parcels: dict[str, Shown] = {}
    quotes: dict[tuple[str, tuple[int, ...]], float] = {}
    skus: dict[str, set[str]] = {}
    items: dict[str, set[Item]] = {}
    outdated: set[str] = set()
    doubtful: set[str] = set()
    asked: set[tuple[str, int | None]] = set()
    answers: dict[tuple[int, str], str] = {}
    agreed: set[str] = set()
    declined: set[int] = set()
    refused: set[str] = set()
    denied: dict[int, str] = {}
    writes: list[tuple[str, Shown]] = []
    made: set[str] = set()
    failed: dict[str, str | None] = {}
    told: set[tuple[str, str, Any]] = set()
    said: list[str] = []

    @property
    def pushed_back(self) -> bool:
        """Whether the customer insisted on what was denied."""
        return not set(PUSH_BACK).isdisjoint(self.heard)

    def absorb(
        self,
        exchange: Exchange,
    ) -> None:
        """Takes in a turn and what was answered to it."""
        self.exchanges += 1

        for event in event_log([exchange]):
            match event.kind:
                case "call":
                    self.made.add(signature_of((event.tool, event.arguments)))
                    self._observed(
                        event.tool,
                        dict(event.arguments),
                        event.result,
                    )
                # a transient error says nothing of the call: it is made again
                case "failed" if not event.text.startswith("transient"):
                    self._failed(event)
                case "customer_agreed":
                    self.agreed.add(event.text)
                case "customer_refused":
                    self.declined.add(event.arguments["request"])
                    self.refused.add(event.text)
                case "said":
                    self.said.append(event.text)
                case "heard":
                    self.heard.append(event.text)

    def has_written(self, tool: str, order_id: str, **arguments: Any) -> bool:
        """Whether such a write succeeded before."""
        wanted = {"order_id": order_id, **arguments}.items()

        return any(tool == name and wanted <= made.items() for name, made in self.writes)

    def has_told(
        self,
        made: Shown,
    ) -> bool:
        """Whether the customer was told all of this."""
        return self.told >= {(made["about"], fact, made[fact]) for fact in FACTS if fact in made}

    def _failed(self, event: Event) -> None:
        """Remembers a call that failed for good, with the rule by which it was refused."""
        signature = signature_of((event.tool, event.arguments))
        self.made.add(signature)
        self.failed[signature] = event.refused_by

        # the order was not as it was read, or a rule forbids the write: it is read again
        order_id = event.order_id
        if event.tool in WRITES and isinstance(order_id, str) and order_id in self.orders:
            self.doubtful.add(order_id)

    def _observed(self, tool: str, made: Shown, result: Mapping[str, Any]) -> None:
        """Takes in what a call that succeeded has shown."""
        if tool in _KEPT:
            place, key = _KEPT[tool]
            # the last answer replaces an older one
            getattr(self, place)[result[key]] = result

        if tool in WRITES:
            self.writes.append((tool, made))
            self.outdated |= {made["order_id"]} if "order_id" in made else set()

        match tool:
            case "deny":
                self.denied[result["request"]] = result["rule_id"]
            case "tell_customer":
                self.told |= {(made["about"], fact, made[fact]) for fact in FACTS if fact in made}
            case "ask_customer":
                self._answered(made["field"], made.get("request"), result.get("answer"))
            case "find_customer":
                self._found(made, result)
            case _:
                self._looked_up(tool, made, result)

    def _found(self, made: Shown, result: Mapping[str, Any]) -> None:
        """Takes in a page of accounts: one of another name than was said is not the speaker's."""
        name = self.slots.get("name")
        found = [
            account["customer_id"]
            for account in result["customers"]
            if account.get("name") in (None, name or account["name"])
        ]
        self.accounts = list(dict.fromkeys((*self.accounts, *found)))
        is_last = result["page"] >= result["pages"]
        self.more_accounts = None if is_last else {**made, "page": result["page"] + 1}

    def _looked_up(self, tool: str, made: Shown, result: Mapping[str, Any]) -> None:
        """Takes in an answer about a person, their orders, or goods."""
        match tool:
            case "verify_identity":
                self.verified[result["customer_id"]] = set(result["verified"])
            # a list of one status has other pages
            case "list_orders" if "status" not in made:
                self.pages.setdefault(made["customer_id"], {})[result["page"]] = dict(result)

                for order in result["orders"]:
                    self.skus.setdefault(order["order_id"], set()).update(order["skus"])
            case "get_order":
                order_id = result["order_id"]
                self.outdated.discard(order_id)
                self.doubtful.discard(order_id)
                self.items.setdefault(order_id, set()).update(map(item_of, result["lines"]))
            case "search_products":
                self.products |= {noun_of(row["name"]): row for row in result["products"]}
            case "quote_refund":
                self.quotes[(result["order_id"], tuple(result["lines"]))] = result["refund"]

    def _answered(
        self,
        field: str,
        number: int | None,
        answer: str | None,
    ) -> None:
        """Takes in an answer of the customer; None says that they do not know."""
        self.asked.add((field, number))

        # a coupon is asked for the person or for a request
        if field in _OF_THE_PERSON and number is None:
            self.slots[field] = answer
        elif number is not None and answer is not None:
            self.answers[(number, field)] = answer
