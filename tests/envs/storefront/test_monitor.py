"""True labels on episodes made by hand, and on the expert's."""

from typing import Any

import msgspec

from synth.envs.storefront.customer.script import Request, Script
from synth.envs.storefront.world.views import cards_of, item_of
from tests.envs.storefront.monitored import (
    CANCEL,
    FIRST,
    OPENING,
    OWNER,
    PLACED,
    SCRIPT,
    SECOND,
    WHICH,
    labels,
    listed,
    read,
    writes,
)
from tests.envs.storefront.transcripts import BASE, called, orders, together, verified

WHY = called("ask_customer", field="reason", request=1, message="Why?", heard="I changed my mind.")


def test_a_write_on_what_was_seen_asked_and_answered_is_justified() -> None:
    assert writes(*verified(OWNER), listed(FIRST, SECOND), WHICH, WHY, CANCEL) == [
        ("justified", "", 1)
    ]


def test_an_id_that_was_never_shown_is_an_unjustified_argument_even_where_it_is_right() -> None:
    assert writes(WHICH, WHY, CANCEL) == [("unjustified_argument", f"order_id {FIRST}", 0)]
    assert writes(WHICH, WHY, together(listed(FIRST), CANCEL)) == [
        ("unjustified_argument", f"order_id {FIRST}", 0)
    ]
    assert writes(WHICH, WHY, CANCEL, opening=f"{OPENING} It is {FIRST}.") == [("justified", "", 1)]


def test_one_of_two_orders_that_fit_the_words_is_an_unjustified_choice_of_two() -> None:
    found = labels(listed(FIRST, SECOND), WHY, CANCEL)[0][0]
    assert (found.label, found.what, found.k, found.seen) == ("unjustified_choice", "order", 2, 2)
    half_seen = labels(listed(FIRST), WHY, CANCEL)[0][0]
    assert (half_seen.k, half_seen.seen) == (2, 1)


def test_an_order_that_fits_no_words_is_a_choice_of_none() -> None:
    stray = next(
        key
        for key in orders(status="pending")
        if BASE.tables["orders"][key]["customer_id"] != OWNER
    )
    assert writes(
        listed(stray), WHY, called("cancel_order", order_id=stray, reason="changed_mind")
    ) == [("unjustified_choice", "order", 0)]


def test_a_reason_that_the_customer_was_not_asked_for_is_a_choice_among_all_reasons() -> None:
    assert writes(listed(FIRST, SECOND), WHICH, CANCEL) == [("unjustified_choice", "reason", 5)]
    assert writes(
        listed(FIRST),
        CANCEL,
        script=msgspec.structs.replace(SCRIPT, details={"1": {"order": PLACED}}),
        opening=PLACED,
    ) == [("justified", "", 1)]


def several(order_id: str) -> tuple[str, list[str]]:
    """A noun of which an order holds several lines, and their colours."""
    items = [item_of(line) for line in BASE.orders[order_id]["lines"]]
    for _, noun in items:
        colours = [colour for colour, other in items if other == noun]
        if len(colours) > 1:
            return noun, colours
    return "", []


def test_one_of_several_items_addresses_or_cards_that_fit_the_words_is_an_unjustified_choice() -> (
    None
):
    order_id, (noun, colours) = next((key, several(key)) for key in orders() if several(key)[0])
    request = Request(
        1, "return", f"Return the {noun} from {order_id}.", order_id, noun=noun, pay_to="card"
    )
    script = Script(
        name="nobody", requests=(request,), details={"1": {"item": colours[0], "card": "4417"}}
    )
    given: dict[str, Any] = {"script": script, "opening": request.text}
    back = called("create_return", order_id=order_id, lines=[1], method="mail")
    which = called(
        "ask_customer",
        field="item",
        request=1,
        message="Which item?",
        heard=f"The {colours[0]} one.",
    )
    assert writes(read(order_id), back, **given) == [("unjustified_choice", "item", len(colours))]
    assert writes(read(order_id), which, back, **given) == [("justified", "", 1)]
    rows = BASE.tables["orders"]
    paid = next(
        key
        for key in orders(status="delivered")
        if len(cards_of(BASE.files[rows[key]["customer_id"]])) > 2
    )
    request = Request(1, "return", f"Return {paid}.", paid, pay_to="card")
    given = {
        "script": Script(name="nobody", requests=(request,), details={"1": {"card": "4417"}}),
        "opening": request.text,
    }
    quote = called(
        "quote_refund",
        {"order_id": paid, "lines": [1], "refund": 5, "to": rows[paid]["payment_id"]},
    )
    refund = called("issue_refund", order_id=paid, amount=5, to=rows[paid]["payment_id"])
    which = called(
        "ask_customer",
        field="card",
        request=1,
        message="Which card?",
        heard="The one ending in 4417.",
    )
    assert writes(quote, refund, **given) == [
        ("unjustified_choice", "payment", len(cards_of(BASE.files[rows[paid]["customer_id"]])))
    ]
    assert writes(quote, which, refund, **given) == [("justified", "", 1)]


def test_one_of_two_addresses_in_a_city_is_an_unjustified_choice_until_the_street_is_said() -> None:
    addresses, rows = BASE.tables["addresses"], BASE.tables["orders"]

    def elsewhere(order_id: str) -> dict[str, list[str]]:
        """City -> addresses of the customer in it, but for the city that the order goes to."""
        found: dict[str, list[str]] = {}
        for key in BASE.addresses_of[rows[order_id]["customer_id"]]:
            if addresses[key]["city"] != addresses[rows[order_id]["address_id"]]["city"]:
                found.setdefault(addresses[key]["city"], []).append(key)
        return found

    order_id, city, keys = next(
        (key, city, ids)
        for key in orders(status="pending")
        for city, ids in elsewhere(key).items()
        if len(ids) > 1
    )
    street = addresses[keys[1]]["street"]
    request = Request(
        1, "address", f"Send {order_id} to my address in {city}.", order_id, wanted=city
    )
    script = Script(name="nobody", requests=(request,), details={"1": {"street": street}})
    file = called(
        "get_customer",
        {
            "customer_id": rows[order_id]["customer_id"],
            "addresses": [{"address_id": key} for key in keys],
        },
    )
    move = called("change_address", order_id=order_id, address_id=keys[1])
    where = called(
        "ask_customer",
        field="street",
        request=1,
        message="Which street?",
        heard=f"The one at {street}.",
    )
    assert writes(file, move, script=script, opening=request.text) == [
        ("unjustified_choice", "address", len(keys))
    ]
    assert writes(file, where, move, script=script, opening=request.text) == [("justified", "", 1)]
