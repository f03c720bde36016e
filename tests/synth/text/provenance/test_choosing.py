"""Choices among siblings: singled out by words, by an answer, by an order of size, or by
nothing.
"""

from tests.synth.text.provenance.episodes import called, linted, tool

ORDERS = {
    "orders": [
        {
            "order_id": "O-1001",
            "placed": "2026-03-01",
            "status": "pending",
            "skus": ["V-101"],
            "total": 30.0,
        },
        {
            "order_id": "O-1002",
            "placed": "2026-03-02",
            "status": "pending",
            "skus": ["V-101"],
            "total": 20.0,
        },
        {
            "order_id": "O-1003",
            "placed": "2026-03-03",
            "status": "shipped",
            "skus": ["V-103"],
            "total": 10.0,
        },
    ]
}
LISTED = called("list_orders", ORDERS)
CANCELS = called("cancel_order", order_id="O-1002")


def candidates(*turns, goal):
    (choice,) = linted(*turns, goal=goal).choices
    return choice.siblings, choice.candidates


def test_one_of_three_without_a_word_about_it():
    report = linted(LISTED, CANCELS, goal="Cancel my order, please.")
    assert [(c.siblings, c.candidates, c.unjustified) for c in report.choices] == [(3, 3, True)]
    assert (report.justified, report.choices_justified) == (True, False)


def test_words_that_fit_two_of_three_leave_two():
    assert candidates(LISTED, CANCELS, goal="Cancel my pending order, please.") == (3, 2)


def test_an_identifier_that_the_user_said_is_no_choice():
    assert candidates(LISTED, CANCELS, goal="Cancel order O-1002.") == (3, 1)


def test_a_longer_identifier_is_not_the_one_that_was_said():
    assert candidates(LISTED, CANCELS, goal="Cancel order O-10022.") == (3, 3)


def test_an_answer_of_the_user_singles_out():
    asked = called("ask_user", "ok", said="The one of 2026-03-02.")
    assert candidates(LISTED, asked, CANCELS, goal="Cancel my pending order.") == (3, 1)


def test_an_assent_tells_nothing_apart_but_is_noted():
    asked = called("ask_user", "ok", said="Yes.", message="Shall I cancel O-1002?")
    (choice,) = linted(LISTED, asked, CANCELS, goal="Cancel my order.").choices
    assert (choice.candidates, choice.proposed) == (3, True)


def test_the_extreme_that_was_asked_for():
    cheapest = called("cancel_order", order_id="O-1003")
    assert candidates(LISTED, cheapest, goal="Cancel my cheapest order.") == (3, 1)
    assert candidates(LISTED, CANCELS, goal="Cancel my cheapest order.") == (3, 3)


def test_what_was_read_of_an_entity_counts_as_known_of_it():
    details = [
        called(
            "get_order",
            {"order_id": name, "lines": [{"sku": "V-101", "product": "gloves", "colour": colour}]},
            order_id=name,
        )
        for name, colour in (("O-1001", "blue"), ("O-1002", "red"))
    ]
    assert candidates(LISTED, *details, CANCELS, goal="Cancel the order with the red gloves.") == (
        3,
        1,
    )
    assert candidates(LISTED, *details, CANCELS, goal="Cancel the order with the gloves.") == (3, 2)


def test_a_description_must_fit_within_one_item():
    lines = [{"product": "gloves", "colour": "blue"}, {"product": "hat", "colour": "red"}]
    mixed = called("get_order", {"order_id": "O-1001", "lines": lines}, order_id="O-1001")
    red = called(
        "get_order",
        {"order_id": "O-1002", "lines": [{"product": "gloves", "colour": "red"}]},
        order_id="O-1002",
    )
    assert candidates(
        LISTED, mixed, red, CANCELS, goal="Cancel the order with the red gloves."
    ) == (3, 1)


def test_all_siblings_taken_is_no_choice():
    every = [called("cancel_order", order_id=f"O-100{n}") for n in (1, 2, 3)]
    assert [c.candidates for c in linted(LISTED, *every, goal="Cancel everything.").choices] == [
        1,
        1,
        1,
    ]


def test_the_payment_of_the_order_at_hand_is_singled_out_by_it():
    methods = called(
        "get_user",
        {
            "payment_methods": [
                {"payment_id": "PM-201", "kind": "card"},
                {"payment_id": "PM-202", "kind": "card"},
            ]
        },
    )
    order = called("get_order", {"order_id": "O-7", "payment_id": "PM-202"}, order_id="O-7x1")
    refunds = [called("refund", order_id="O-7x1", to=name) for name in ("PM-202", "PM-201")]
    order = called("get_order", {"order_id": "O-7x1", "payment_id": "PM-202"}, order_id="O-7x1")
    found = [
        linted(methods, order, refund, goal="Refund order O-7x1.").choices[-1].candidates
        for refund in refunds
    ]
    assert found == [1, 2]


def test_entities_keyed_by_identifier_and_bare_lists_are_siblings_too():
    keyed = called(
        "get_user",
        {"payment_methods": {"card_11": {"source": "card"}, "paypal_12": {"source": "paypal"}}},
    )
    assert candidates(keyed, called("refund", to="paypal_12"), goal="Use my paypal account.") == (
        2,
        1,
    )
    assert candidates(keyed, called("refund", to="paypal_12"), goal="Refund it.") == (2, 2)
    bare = called("get_user", {"orders": ["W-11", "W-12"]})
    assert candidates(bare, called("cancel", order="W-12"), goal="Cancel it.") == (2, 2)


def test_a_value_of_a_schema_that_nobody_asked_for_is_a_choice():
    schema = tool(
        "cancel_order",
        reason={"type": "string", "enum": ["found_cheaper", "changed_mind", "too_late"]},
    )
    chosen = called("cancel_order", reason="changed_mind")
    (silent,) = linted(chosen, goal="Cancel it.", tools=(schema,)).choices
    (said,) = linted(chosen, goal="Cancel it, I changed my mind.", tools=(schema,)).choices
    assert (silent.siblings, silent.candidates, said.candidates) == (3, 3, 1)
