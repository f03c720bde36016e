"""Which calls change something."""

import pytest

from synth.text.provenance.effect import effectful_by_name, read_only_hint


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
    ],
)
def test_reading_and_talking_verbs_change_nothing(name):
    assert not effectful_by_name(name)


@pytest.mark.parametrize(
    "name", ["cancel_order", "issueRefund", "book_reservation", "deny", "getaway", "x"]
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
