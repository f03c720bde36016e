"""Which calls change something."""

import pytest

from synth.text.provenance.effect import changes, effectful_by_name, read_only_hint


@pytest.mark.parametrize(
    "name",
    [
        "get_order",
        "listOrders",
        "SearchFlights",
        "read",
        "shop.find_user",
        "mcp__shop__get_user",
        "think",
        "ask_user",
        "final_answer",
        "attempt_completion",
        "open",
        "open_file",
        "openPages",
        "check_order_status",
    ],
)
def test_reading_and_talking_verbs_change_nothing(name):
    assert not effectful_by_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "cancel_order",
        "issueRefund",
        "book_reservation",
        "deny",
        "getaway",
        "x",
        "open_box",
        "open_account",
        "openValve",
        "check_in_guest",
        "check_out",
        "return_order",
    ],
)
def test_everything_else_does(name):
    assert effectful_by_name(name)


def test_the_annotation_of_a_tool_is_read():
    assert (
        read_only_hint(
            {"type": "function", "function": {"name": "x"}, "annotations": {"readOnlyHint": True}}
        )
        is True
    )
    assert (
        read_only_hint({"function": {"name": "x", "annotations": {"readOnlyHint": False}}}) is False
    )
    assert read_only_hint({"function": {"name": "x"}}) is None


def described(name, about):
    return {"type": "function", "function": {"name": name, "description": about}}


def test_where_the_name_has_no_verb_the_description_says_what_a_tool_does():
    assert not changes("recipe_by_id", described("recipe_by_id", "Get a recipe by its id."))
    assert not changes("odds", described("odds", "Returns the odds of a game."))
    assert changes("odds", described("odds", "Return the odds and place a bet."))
    assert changes("return_order", described("return_order", "Return an order, and get a label."))
    assert changes("seal", described("seal", "Seals an envelope."))
    assert changes("open_box", described("open_box", "Open a box and look what is in it."))
