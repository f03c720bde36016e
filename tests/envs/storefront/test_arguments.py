"""Arguments against JSON schema: what is wrong is said, and what is right passes."""

from typing import Any

import pytest

from synth.envs.storefront.tools.schemas import CHECKERS


@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("get_order", {"order_id": "O-1"}, None),
        ("get_order", {}, "order_id is missing"),
        ("get_order", {"order_id": 7}, "order_id must be a string, not 7"),
        (
            "get_order",
            {"order_id": "O-1", "extra": 1},
            "'extra' is not an argument; allowed: order_id",
        ),
        ("get_order", {"order_id": " "}, "order_id must not be empty"),
        ("get_order", {"order_id": "x" * 41}, "order_id has 41 characters, at most 40 are allowed"),
        ("get_order", {"order_id": "O-1\x00"}, "order_id contains control characters"),
        ("get_policy", {"topic": "weather"}, "topic must be one of"),
        (
            "list_orders",
            {"customer_id": "C-1", "page": 0},
            "page must lie between 1 and 1000, not 0",
        ),
        ("list_orders", {"customer_id": "C-1", "page": True}, "page must be an integer, not True"),
        ("list_orders", {"customer_id": "C-1", "page": 1.0}, "page must be an integer, not 1.0"),
        (
            "quote_refund",
            {"order_id": "O-1", "lines": [1, "2"]},
            "lines[1] must be an integer, not '2'",
        ),
        ("quote_refund", {"order_id": "O-1", "lines": []}, "lines must have 1 to 20 items, not 0"),
        ("quote_refund", {"order_id": "O-1", "lines": [1, 1]}, "lines names an item twice"),
        ("modify_lines", {"order_id": "O-1", "lines": {"1": 5}}, "lines['1'] must be a string"),
        (
            "issue_refund",
            {"order_id": "O-1", "amount": -1, "to": "store_credit"},
            "amount must lie between 0.01 and 100000, not -1",
        ),
        ("issue_refund", {"order_id": "O-1", "amount": 3, "to": "store_credit"}, None),
    ],
)
def test_each_kind_of_mistake_is_named(
    tool: str, arguments: dict[str, Any], problem: str | None
) -> None:
    found = CHECKERS[tool](arguments, "arguments")
    if problem is None:
        assert found is None
    else:
        assert found is not None
        assert found.startswith(problem)
