"""What an agent has been shown, turn by turn: words, values, and facts of entities."""

import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, Literal

from synth.envs.storefront.tools.transcript import Event
from synth.envs.storefront.world.views import discounted_cents

ReadLabel = Literal["novel", "redundant", "forced_reread"]
Atom = tuple[str, str]
"""An entity and what of it was shown."""
_WORD = re.compile(r"[A-Za-z0-9][\w.@+-]*[\w]|\w")
_ENTITY_KEYS = (
    "order_id",
    "sku",
    "customer_id",
    "product_id",
    "address_id",
    "payment_id",
    "shipment_id",
)
_LISTS = frozenset({"find_customer", "list_orders", "search_products"})
"""Tools whose answer says, beside facts, what there is: a question not asked before is news."""
_LARGEST_ORDER = 8
"""Lines of an order up to which every sum of lines is tried; orders have three."""


class Knowledge:
    """Everything observed so far. `said` are the customer's words and the policy; `orders` the last
    answer about each order.
    """

    def __init__(self, system_prompt: str, opening: str) -> None:
        self.said = f"{system_prompt}\n{opening}"
        self.heard = opening
        self.words: set[str] = set(_WORD.findall(self.said))
        self.texts: set[str] = set()
        self.numbers: set[float] = set()
        self.orders: dict[str, Mapping[str, Any]] = {}
        self.statuses: dict[str, str] = {}
        self.files: set[str] = set()
        self.lines: dict[str, int] = {}
        self.verified: dict[str, set[str]] = {}
        self.quotes: dict[str, list[float]] = {}
        self._atoms: dict[Atom, Any] = {}
        self._outdated: set[str] = set()

    def hear(self, text: str) -> None:
        """The customer speaks."""
        self.said += f"\n{text}"
        self.heard += f"\n{text}"
        self.words.update(_WORD.findall(text))

    def holds(self, value: str) -> bool:
        """Whether a text was shown, or said as a word."""
        return value in self.texts or value in self.words or (" " in value and value in self.said)

    def amounts(self, order_id: str) -> set[int]:
        """The amounts (cents) that follow from what was shown of an order: sums of its quotes, and
        of its lines after the discount.
        """
        found = {round(sum(some) * 100) for some in _subsets(self.quotes.get(order_id, []))}
        order = self.orders.get(order_id, {"lines": ()})
        gross = [round(line["unit_price"] * line["quantity"] * 100) for line in order["lines"]]
        percent = order.get("discount_percent", 0)
        return found | {discounted_cents(sum(some), percent) for some in _subsets(gross)}

    def observe(self, event: Event) -> ReadLabel:
        """Takes a successful read in; says what it added."""
        if event.tool == "get_policy":
            lines = str(event.result.get("text", "")).splitlines()
            label: ReadLabel = "redundant" if all(line in self.said for line in lines) else "novel"
            self.said += "\n" + "\n".join(lines)
        elif event.tool == "verify_identity":
            known = self.verified.get(str(event.result.get("customer_id")), set())
            label = "novel" if set(event.result.get("verified", ())) - known else "redundant"
        else:
            label = self._compare(event)
        self.keep(event.tool, event.result)
        return label

    def written(self, arguments: Mapping[str, Any]) -> None:
        """A write, or one that a tool refused, makes outdated what was shown of the entities that
        it names.
        """
        self._outdated.update(value for value in _scalars(arguments) if isinstance(value, str))

    def _compare(self, event: Event) -> ReadLabel:
        asked = (f"{event.tool} {_key(event.arguments)}", "asked")
        atoms = dict(_atoms(event.tool, event.result))
        news = asked not in self._atoms if event.tool in _LISTS else False
        news = news or any(atom not in self._atoms for atom in atoms)
        moved = any(self._atoms.get(atom, value) != value for atom, value in atoms.items())
        outdated = self._outdated & {entity for entity, _ in (asked, *atoms)}
        self._atoms |= {asked: "", **atoms}
        self._outdated -= outdated
        return "novel" if news else "forced_reread" if moved or outdated else "redundant"

    def keep(self, tool: str, result: Mapping[str, Any]) -> None:
        """What an answer shows is a fact, of a write's as well."""
        values = list(_scalars(result))
        self.texts.update(value for value in values if isinstance(value, str))
        self.numbers.update(float(value) for value in values if isinstance(value, int | float))
        if tool == "get_order":
            order_id, numbers = result["order_id"], [line["line"] for line in result["lines"]]
            self.orders[order_id], self.statuses[order_id] = result, result["status"]
            self.lines[order_id] = max(numbers, default=0)
        elif tool == "list_orders":
            for order in result["orders"]:
                self.statuses[order["order_id"]] = order["status"]
                self.lines.setdefault(order["order_id"], len(order["skus"]))
        elif tool == "track_shipment":
            self.statuses.setdefault(result["order_id"], "shipped")
        elif tool == "get_customer":
            self.files.add(result["customer_id"])
        elif tool == "verify_identity":
            self.verified[result["customer_id"]] = set(result["verified"])
        elif tool == "quote_refund":
            self.quotes.setdefault(result["order_id"], []).append(float(result["refund"]))


def _subsets(values: list[Any]) -> Iterator[tuple[Any, ...]]:
    sizes = range(1, len(values) + 1)
    return (some for size in sizes for some in combinations(values[:_LARGEST_ORDER], size))


def _key(arguments: Mapping[str, Any]) -> str:
    asked = [item for item in arguments.items() if item != ("page", 1)]
    return str(sorted((name, str(value).strip().lower()) for name, value in asked))


def _atoms(tool: str, result: Mapping[str, Any]) -> Iterator[tuple[Atom, Any]]:
    """Facts of an answer: each value under the innermost entity that it belongs to; a parcel and a
    quote are their own part of an order.
    """
    stems = {"quote_refund": f"{tool} {result.get('lines')}", "track_shipment": tool}
    for entity, path, value in _values(result, "", ""):
        if entity:
            yield (entity, f"{stems.get(tool, '')}{path}"), value


def _values(value: Any, entity: str, path: str) -> Iterator[tuple[str, str, Any]]:
    if isinstance(value, Mapping):
        named = next(
            (str(value[key]) for key in _ENTITY_KEYS if value.get(key) is not None), entity
        )
        if "line" in value and entity:
            path = f"{path}.{value['line']}"
        elif named != entity:
            entity, path = named, ""
        for key, inner in value.items():
            yield from _values(inner, entity, f"{path}.{key}")
    elif isinstance(value, list | tuple) and any(isinstance(inner, Mapping) for inner in value):
        for inner in value:
            yield from _values(inner, entity, path)
    else:
        yield entity, path, tuple(value) if isinstance(value, list) else value


def _scalars(value: Any) -> Iterator[Any]:
    """Keys and values, however deep."""
    inside = isinstance(value, Mapping | list | tuple)
    for inner in value if inside else ():
        yield from _scalars(inner)
    if isinstance(value, Mapping):
        yield from _scalars(list(value.values()))
    elif not inside:
        yield value
