"""The policy: its parameters, drawn per world seed, and what it forbids to do with an order. Tools,
check, expert and goals ask the same rules.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from random import Random
from typing import Any

from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.views import Known, Shown, dollars, numbered

NEEDED_FACTORS = 2
"""R1: identity factors that are verified before anything is read or written."""
TIERS = ("bronze", "silver", "gold")
RULE_IDS = tuple(f"R{number}" for number in range(1, 16))

_RULES = texts("rules")
BY_WEIGHT: tuple[str, ...] = tuple(_RULES["by_weight"])
"""Which rules are in force where fewer than fifteen are: the first ones."""
ENFORCEABLE: tuple[str, ...] = tuple(_RULES["enforceable"])
"""Rules that a tool could enforce, the first ones first."""
VALUES = _RULES["values"]
"""What a variant draws its parameters from; train and held out share none."""
BY_STATUS = _RULES["by_status"]
"""Write -> the rule by which an order's status forbids it, the statuses that do not, and why."""
BEFORE_SHIPPING = frozenset(BY_STATUS["cancel_order"]["in"])


@dataclass(frozen=True, slots=True)
class Rules:
    """Return window in days by tier, most that is refunded without escalation (cents), categories
    sold finally; days that a parcel may be late, and the compensation (cents) beyond; the rules in
    force, and those of them that tools enforce. `today` is the day on which they are applied.
    """

    today: str
    window_days: Mapping[str, int]
    refund_limit_cents: int
    final_sale: tuple[str, ...]
    late_days: int
    compensation_cents: int
    in_force: frozenset[str]
    enforced: frozenset[str]

    def within_window(
        self,
        tier: str,
        delivered: str,
    ) -> bool:
        """R4: the last day of the window still counts."""
        days = days_since(delivered, self.today)

        return "R4" not in self.in_force or days <= self.window_days[tier]

    def is_final_sale(self, category: str) -> bool:
        """R8."""
        return "R8" in self.in_force and category in self.final_sale

    def is_late(
        self,
        promised: str,
        delivered: str | None,
    ) -> bool:
        """R12: delivered more days after the promised one than a parcel may be late."""
        return delivered is not None and days_since(promised, delivered) > self.late_days

    def above_limit(self, amount_cents: int) -> bool:
        """R6."""
        return "R6" in self.in_force and amount_cents > self.refund_limit_cents


def enforceable(in_force: int) -> list[str]:
    """Of that many rules in force, those that tools can hold, the first ones first."""
    return [rule for rule in ENFORCEABLE if rule in BY_WEIGHT[:in_force]]


def draw_rules(
    rng: Random,
    today: str,
    categories: tuple[str, ...],
    variant: str,
    in_force: int,
    share: float,
) -> Rules:
    """Draws the parameters of one world, of whose rules tools enforce a share."""
    drawn = VALUES[variant]
    days = rng.choice(drawn["window"])
    more = {"bronze": 0, **{tier: rng.choice(drawn[tier]) for tier in TIERS[1:]}}

    return Rules(
        today,
        window_days={tier: days + later for tier, later in more.items()},
        refund_limit_cents=rng.choice(drawn["refund_limit"]) * 100,
        final_sale=tuple(sorted(rng.sample(categories, rng.choice((1, 2))))),
        late_days=rng.choice(drawn["late_days"]),
        compensation_cents=rng.choice(drawn["compensation"]) * 100,
        in_force=frozenset(BY_WEIGHT[:in_force]),
        enforced=frozenset(enforceable(in_force)[: round(share * in_force)]),
    )


def days_since(earlier: str, later: str) -> int:
    """Whole days between two ISO dates."""
    return (date.fromisoformat(later) - date.fromisoformat(earlier)).days


STORE_CREDIT = "store_credit"
Call = tuple[str, Mapping[str, Any]]
"""A tool and its arguments."""
Forbidden = Iterator[tuple[str, str]]
"""Rules, each with the reason why it forbids a call."""


@dataclass(frozen=True, slots=True)
class Deed:
    """A call about an order, and the order as it stands before it.

    `own` are the accounts of the person who asks: none where nobody was verified, None where nobody
    knows. `tier` is that of the one who would return the order, `on_file` are the addresses on the
    file of its customer: None where nobody knows.
    """

    rules: Rules
    tool: str
    arguments: Mapping[str, Any]
    order: Shown
    own: Collection[str] | None
    tier: str | None
    on_file: Collection[str] | None


def forbidding(
    known: Known,
    rules: Rules,
    call: Call,
    own: Collection[str] | None,
    order: Shown | None = None,
) -> Forbidden:
    """The rules in force that forbid the call of a person who has these accounts, with what is
    known of its order, or with the order as it is now.

    A rule that asks for an argument which was not given, or for what nobody knows, says nothing.
    """
    tool, arguments = call
    order = order or known.orders[arguments["order_id"]]
    giver = order["customer_id"]
    recipient = order["recipient_id"]
    back_by = recipient if recipient in (own or ()) else giver
    tier = known.files[back_by]["tier"] if back_by in known.files else None
    rows = known.files[giver]["addresses"] if giver in known.files else None
    on_file = None if rows is None else {row["address_id"] for row in rows}
    deed = Deed(rules, tool, arguments, order, own, tier, on_file)
    found = (*_always(deed), *(_BY_TOOL[tool](deed) if tool in _BY_TOOL else ()))

    return ((rule, why) for rule, why in found if rule in rules.in_force)


def _always(deed: Deed) -> Forbidden:
    """R3, R7, R9, R11 by the order's status; R10: nothing is done with an order of which the person
    is neither customer nor recipient.
    """
    row = BY_STATUS.get(deed.tool)
    order = deed.order
    order_id = order["order_id"]

    if row is not None and order["status"] not in row["in"]:
        yield row["rule"], f"order {order_id} is {order['status']}; {row['why']}"

    if deed.own and not {order["customer_id"], order["recipient_id"]} & set(deed.own):
        yield "R10", f"{deed.tool} on {order_id}, an order of {order['customer_id']}"


def _changed(deed: Deed) -> Forbidden:
    """R11: an order is sent to an address on the file of its customer; R7: lines are modified once;
    R9: an order takes one coupon.
    """
    order = deed.order
    order_id = order["order_id"]
    address_id = deed.arguments.get("address_id")

    match deed.tool:
        case "change_address":
            if address_id and deed.on_file is not None and address_id not in deed.on_file:
                yield "R11", f"{address_id} is not an address of this order's customer"
        case "modify_lines" if order["modified"]:
            yield "R7", f"order {order_id} has been modified once already"
        case "apply_coupon" if order["coupon"] is not None:
            yield "R9", f"order {order_id} has a coupon already"


def _returned(deed: Deed) -> Forbidden:
    """R15, R4, R8: a gift comes back through its recipient, within the window, no final sale."""
    order = deed.order
    named = deed.arguments.get("lines")
    recipient = order["recipient_id"]
    delivered = order["delivered"]

    if recipient is not None and deed.own is not None and recipient not in deed.own:
        yield "R15", "the order was a gift; only its recipient, once verified, can return it"

    is_known = deed.tier is not None and delivered is not None

    if is_known and not deed.rules.within_window(str(deed.tier), delivered):
        yield "R4", f"order {order['order_id']} came {delivered}; the window is over"

    for line in numbered(order, named if isinstance(named, list) else []):
        if deed.rules.is_final_sale(line["category"]):
            yield "R8", f"line {line['line']} was a final sale"


def _refunded(deed: Deed) -> Forbidden:
    """R5, R15, R12, R6: where a refund may go, and how much it may be.

    Money to credit for an order of which nothing came back is a compensation.
    """
    order = deed.order
    rules = deed.rules
    to = deed.arguments.get("to")
    order_id = order["order_id"]

    if to not in (None, order["payment_id"], STORE_CREDIT):
        yield "R5", f"refunds of order {order_id} go to {order['payment_id']} or {STORE_CREDIT}"

    if to not in (None, STORE_CREDIT) and order["recipient_id"] is not None:
        yield "R15", f"order {order_id} was a gift; its refund goes to {STORE_CREDIT}"

    cents = round((order["refunded"] + amount_of(deed.arguments)) * 100)

    if to == STORE_CREDIT and not any(line["status"] != "ordered" for line in order["lines"]):
        nothing_back = f"there is no return of {order_id}, and"

        if not rules.is_late(order["promised"], order["delivered"]):
            yield "R12", f"{nothing_back} it was not late enough"
        elif cents > rules.compensation_cents:
            yield "R12", f"{nothing_back} a compensation is {dollars(rules.compensation_cents)}"

    if rules.above_limit(cents):
        yield "R6", f"{dollars(cents)} for order {order_id} is above the limit; escalate it"


def amount_of(arguments: Mapping[str, Any]) -> float:
    """The amount of a refund; 0 where a transcript of another maker holds none."""
    amount = arguments.get("amount")

    return amount if isinstance(amount, int | float) else 0


_BY_TOOL: Mapping[str, Callable[[Deed], Forbidden]] = {
    "change_address": _changed,
    "modify_lines": _changed,
    "apply_coupon": _changed,
    "create_return": _returned,
    "issue_refund": _refunded,
}
"""What forbids a call beside the order's status, and whose order it is."""
