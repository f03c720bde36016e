"""`python -m benchmarks.gates.closing_cases`: a stranger's closing words, true and untrue, after
acts that are put into a storefront's episode (data/closing_cases.yaml), and what the check says of
them.

A lie passes where nothing of it is called untrue and all of it can be checked; a truth is turned
away where anything is called untrue, and undefined where something cannot be checked. What was done
by no tool of the shop's is borne out by nothing: of cases without a state no text may pass, be it
true or not. Trivial baselines: a check that reads no words passes all and turns no truth away.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.gates.closing_words import LIES, REFUSED, TARGETS, UNDEFINED
from benchmarks.gates.table import Rate
from synth.envs.storefront import WORLD
from synth.envs.storefront.check.closing.closing_words import judged, spoken
from synth.envs.storefront.check.episode_view import EpisodeView
from synth.envs.storefront.check.ground import EpisodeGround
from synth.envs.storefront.check.truth import untrue
from synth.envs.storefront.tools.transcript import Event
from synth.envs.storefront.world.config import validated
from synth.envs.storefront.world.world import BaseWorld, world_of
from synth.stats.intervals import clopper_pearson

CASES = Path(__file__).parent / "data" / "closing_cases.yaml"
MEANS = ("card", "paypal", "gift_balance")


class Ordered(msgspec.Struct, frozen=True):
    """An order at the end: its status, what it was paid with, the goods in it."""

    status: str
    pays: str
    lines: tuple[str, ...] = ("lamp",)


class State(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was done (tool, order, arguments) and how it left the orders; `addresses`: key ->
    street, city, zip; `denied`: the agent denied a request.
    """

    orders: Mapping[str, Ordered] = {}
    acts: Sequence[tuple[str, str | None, dict[str, Any]]] = ()
    goods: Mapping[str, str] = {}
    addresses: Mapping[str, tuple[str, str, str]] = {}
    denied: bool = False


class Case(msgspec.Struct, frozen=True):
    """What a customer asked, what was done, and what might be said of it."""

    asked: str
    done: str
    truthful: Sequence[str]
    lies: Sequence[str]
    state: State | None = None


def cases() -> tuple[list[Case], int]:
    """Those that the storefront has tools for, and how many it has none for."""
    found = msgspec.yaml.decode(CASES.read_bytes(), type=list[Case])
    held = [case for case in found if case.state is not None]

    return held, len(found) - len(held)


def rows() -> list[Rate]:
    """Of both halves, lies that pass, truths that are turned away, and those that are undefined."""
    held, _ = cases()
    return [
        rate
        for at, half in enumerate(("looked at", "measured"))
        for rate in (
            Rate(f"storefront, a stranger's, {half}", "truth of words", what, hits, n, target)
            for what, hits, n, target in counted(held[at::2])
        )
    ]


def counted(of: Sequence[Case]) -> Iterator[tuple[str, int, int, str]]:
    """(what, how many, of how many, target)."""
    lies = [found for case in of for found in verdicts(case, case.lies)]
    truths = [found for case in of for found in verdicts(case, case.truthful)]
    yield LIES, lies.count(True), len(lies), TARGETS[LIES]
    yield REFUSED, truths.count(False), len(truths), TARGETS[REFUSED]
    yield UNDEFINED, truths.count(None), len(truths), TARGETS[UNDEFINED]


def verdicts(case: Case, texts: Sequence[str]) -> list[bool | None]:
    """Whether each text is true, said in a turn after the acts; None where that cannot be told."""
    return [False if lies else None if unread else True for lies, unread in against(case, texts)]


def against(case: Case, texts: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """What the check calls untrue of each text, and what it cannot check."""
    assert case.state is not None
    base, acts = _world(case.state), _events(case.state)
    said = len(acts)
    found = []
    for text in texts:
        words = _in_the_shop(text, case.state)
        ends = Event(said, "said", "finish", {"message": words})
        view = EpisodeView([*acts, ends], base, opening=_in_the_shop(case.asked, case.state))
        ground = EpisodeGround(view, _changed(case.state))
        lies, unread = judged(untrue(ground), spoken(ground))
        found.append(([f"{one}" for one in lies], [f"{one}" for one in unread]))

    return found


def _changed(state: State) -> dict[str, Any]:
    """How the acts left the orders."""
    found: dict[str, Any] = {
        f"orders/{key}/status": one.status for key, one in state.orders.items()
    }
    for tool, order, given in state.acts:
        if tool == "change_address":
            found[f"orders/{order}/address_id"] = given["address_id"]
        if tool == "apply_coupon":
            found[f"orders/{order}/coupon"] = given["code"]

    return found


def _in_the_shop(text: str, state: State) -> str:
    """The text with the shop's names of orders and goods."""
    text = re.sub(r"#(\d+)", r"O-\1", text)
    for stranger, ours in state.goods.items():
        text = re.sub(rf"(?<!\w){stranger}(?!\w)", ours, text, flags=re.IGNORECASE)

    return text


@cache
def _shop() -> BaseWorld:
    return world_of(validated(WORLD.make_tasks({}, 41, 1)[0].env_config))


def _world(state: State) -> BaseWorld:
    """A shop with these orders, and no others."""
    shop = _shop()
    row = next(iter(shop.tables["orders"].values()))
    line = next(iter(shop.tables["lines"].values()))
    products = {f"P-{noun}": {"name": noun, "noun": noun} for noun in _goods(state)}
    tables: dict[str, Any] = {
        **shop.tables,
        "orders": {
            key: {**row, "status": one.status, "payment_id": one.pays, "coupon": None}
            for key, one in state.orders.items()
        },
        "lines": {
            f"{key}.{at}": {**line, "order_id": key, "line": at, "sku": f"V-{noun}"}
            for key, one in state.orders.items()
            for at, noun in enumerate(one.lines, 1)
        },
        "products": products,
        "variants": {f"V-{noun}": {"product_id": f"P-{noun}"} for noun in _goods(state)},
        "payments": {name: {"customer_id": "C-1", "kind": name} for name in MEANS},
        "addresses": {
            key: {"street": street, "city": city, "zip": code}
            for key, (street, city, code) in state.addresses.items()
        },
    }
    lines_of = {
        key: tuple(f"{key}.{at}" for at, _ in enumerate(one.lines, 1))
        for key, one in state.orders.items()
    }

    return replace(shop, tables=tables, lines_of=lines_of)


def _goods(state: State) -> list[str]:
    return sorted({noun for one in state.orders.values() for noun in one.lines})


def _events(state: State) -> list[Event]:
    """The file and the orders are looked up, the acts made, and what was refused denied."""
    shown: dict[str, Any] = {"addresses": [list(one) for one in state.addresses.values()]}
    found = [Event(0, "call", "get_customer", {"customer_id": "C-1"}, shown)]
    for key, one in state.orders.items():
        result = {"order_id": key, "status": one.status, "lines": list(one.lines)}
        found.append(Event(len(found), "call", "get_order", {"order_id": key}, result))
    for tool, order, given in state.acts:
        # a refund is of what a quote or an order had shown
        values = {"refund": given["amount"]} if "amount" in given else {}
        arguments = given if order is None else {"order_id": order, **given}
        found.append(Event(len(found), "call", tool, arguments, {"ok": True, **values}))
    if state.denied:
        found.append(Event(len(found), "call", "deny", {"request": 1, "rule": "R1"}, {}))

    return found


def main() -> None:
    """Prints the rates; with `texts` also what was decided wrongly of the half that was looked
    at.
    """
    held, without = cases()
    print(f"{len(held)} cases; the storefront has no tool for {without} more")
    for one in rows():
        bound = clopper_pearson(one.hits, one.n, level=0.9)[1]
        print(f"{one.source}: {one.what} {one.hits} of {one.n}, at most {100 * bound:.1f} % (95 %)")

    for case in held[::2] if sys.argv[1:] == ["texts"] else ():
        for text, passed in zip(case.lies, verdicts(case, case.lies), strict=True):
            print(f"passes: [{case.done}] {text}" if passed else "", end="\n" * bool(passed))
        for text, found in zip(case.truthful, against(case, case.truthful), strict=True):
            print(
                f"not true: {text} {found}" if any(found) else "", end="\n" * any(map(bool, found))
            )


if __name__ == "__main__":
    main()
