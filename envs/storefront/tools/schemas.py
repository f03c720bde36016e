"""The tools as a model is shown them."""

from typing import Any

from synth.envs.storefront.tools.arguments import Checker, compiled
from synth.envs.storefront.tools.policy_text import TOPICS
from synth.envs.storefront.world.rules import RULE_IDS
from synth.schemas.trajectory import ToolSchema

REASONS = ("changed_mind", "found_cheaper", "ordered_by_mistake", "delivery_too_late", "other")
METHODS = ("drop_off", "pickup", "mail")
STORE_CREDIT = "store_credit"
ESCALATIONS = ("refund_limit", "out_of_scope", "suspected_fraud", "other")
FACTORS = ("email", "phone", "zip")
FIELDS = (
    *(
        "name",
        "email",
        "phone",
        "zip",
        "order",
        "item",
        "reason",
        "method",
        "refund_to",
        "card",
        "colour",
        "city",
        "street",
        "coupon",
    ),
    *("confirmation", "anything_else"),
)
STATUSES = ("pending", "processing", "shipped", "delivered", "cancelled", "returned")

_ID = {"type": "string", "minLength": 1, "maxLength": 40}
_SHORT = {"type": "string", "minLength": 1, "maxLength": 200}
_MESSAGE = {"type": "string", "minLength": 1, "maxLength": 4000}
_PAGE = {"type": "integer", "minimum": 1, "maximum": 1000}
_LINES = {
    "type": "array",
    "items": {"type": "integer", "minimum": 1, "maximum": 99},
    "minItems": 1,
    "maxItems": 20,
}
_REQUEST = {
    "type": "integer",
    "minimum": 1,
    "maximum": 20,
    "description": "number of the customer's request",
}


def _choice(values: tuple[str, ...]) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def _tool(
    name: str, description: str, properties: dict[str, Any], optional: tuple[str, ...] = ()
) -> ToolSchema:
    required = [key for key in properties if key not in optional]
    parameters = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


READ_TOOLS = (
    _tool(
        "find_customer",
        "Finds customer accounts by email, or by phone, or by full name and zip. May return "
        "several, in pages.",
        {"email": _SHORT, "phone": _SHORT, "name": _SHORT, "zip": _SHORT, "page": _PAGE},
        ("email", "phone", "name", "zip", "page"),
    ),
    _tool(
        "verify_identity",
        "Checks one identity factor of a customer and remembers it for this conversation.",
        {"customer_id": _ID, "factor": _choice(FACTORS), "value": _SHORT},
    ),
    _tool(
        "get_customer",
        "A customer's tier, balances, addresses, payment methods, tickets and notes.",
        {"customer_id": _ID},
    ),
    _tool(
        "list_orders",
        "A customer's orders, newest first, in pages, with the skus of their lines; and the gifts "
        "that they were sent.",
        {"customer_id": _ID, "status": _choice(STATUSES), "page": _PAGE},
        ("status", "page"),
    ),
    _tool("get_order", "One order with its lines.", {"order_id": _ID}),
    _tool(
        "search_products",
        "Products whose name or colours match every word, with their variants and prices, in "
        "pages. The index lags writes by one minute.",
        {"query": _SHORT, "page": _PAGE},
        ("page",),
    ),
    _tool("get_variant", "One variant with its price, price history and live stock.", {"sku": _ID}),
    _tool("get_policy", "The policy's text on a topic.", {"topic": _choice(TOPICS)}),
    _tool(
        "quote_refund",
        "What a return of these lines would refund.",
        {"order_id": _ID, "lines": _LINES},
    ),
    _tool("track_shipment", "Where an order's parcel is, and when it arrives.", {"order_id": _ID}),
)
WRITE_TOOLS = (
    _tool(
        "cancel_order",
        "Cancels an order that has not been shipped.",
        {"order_id": _ID, "reason": _choice(REASONS)},
    ),
    _tool(
        "change_address",
        "Sends an unshipped order to another address on file.",
        {"order_id": _ID, "address_id": _ID},
    ),
    _tool(
        "modify_lines",
        "Exchanges lines of a pending order for other variants of the same product; once per "
        "order.",
        {
            "order_id": _ID,
            "lines": {
                "type": "object",
                "additionalProperties": _ID,
                "minProperties": 1,
                "description": "line number -> sku",
            },
        },
    ),
    _tool(
        "create_return",
        "Opens a return of delivered lines.",
        {"order_id": _ID, "lines": _LINES, "method": _choice(METHODS)},
    ),
    _tool(
        "issue_refund",
        "Refunds an amount in dollars: for returned lines, or as a compensation to store_credit.",
        {
            "order_id": _ID,
            "amount": {"type": "number", "minimum": 0.01, "maximum": 100000},
            "to": {**_ID, "description": "the order's payment_id, or store_credit"},
        },
    ),
    _tool("apply_coupon", "Applies a coupon to a pending order.", {"order_id": _ID, "code": _ID}),
    _tool("add_note", "Adds an internal note to a ticket.", {"ticket_id": _ID, "text": _MESSAGE}),
    _tool(
        "escalate",
        "Hands a matter over to a supervisor.",
        {"reason_code": _choice(ESCALATIONS), "summary": _MESSAGE, "order_id": _ID},
        ("order_id",),
    ),
)
TALK_TOOLS = (
    _tool(
        "ask_customer",
        "Asks the customer for one thing.",
        {"field": _choice(FIELDS), "message": _MESSAGE, "request": _REQUEST},
        ("request",),
    ),
    _tool("reply", "Says something to the customer.", {"message": _MESSAGE}),
    _tool(
        "deny",
        "Denies a request because of a policy rule.",
        {"request": _REQUEST, "rule_id": _choice(RULE_IDS), "message": _MESSAGE},
    ),
    _tool("finish", "Says a last message and ends the conversation.", {"message": _MESSAGE}),
)

TOOLS: tuple[ToolSchema, ...] = READ_TOOLS + WRITE_TOOLS + TALK_TOOLS
WRITES = frozenset(tool["function"]["name"] for tool in WRITE_TOOLS)
TALKS = frozenset(tool["function"]["name"] for tool in TALK_TOOLS)
CHECKERS: dict[str, Checker] = {
    tool["function"]["name"]: compiled(tool["function"]["parameters"]) for tool in TOOLS
}
