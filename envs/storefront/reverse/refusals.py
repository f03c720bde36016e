"""The request that has to be denied where a tool refused a write by a rule; and the draws in which
any request is looked for.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from random import Random

from synth.envs.storefront.reverse.matters import Matter, Write
from synth.envs.storefront.tasks.intents import Draw, Intent
from synth.envs.storefront.tasks.pair_templates import PAIRS
from synth.envs.storefront.tasks.pairs import Pair, off_file
from synth.envs.storefront.tasks.requests import MAKERS, destinations
from synth.envs.storefront.tasks.returns import cards
from synth.envs.storefront.tools.schemas import STORE_CREDIT
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.rules import above_limit, refused_by_status
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.reverse import NoGoal

MOST_DRAWS = 400
"""A request that one draw in 30 makes is missed in one of 10^5 cases; a return has 3 ways, 2
destinations, and one set of lines or all.
"""


def draws(draw: Draw, name: str) -> Iterator[Draw]:
    """The draw again and again, its words by `name`."""
    return (replace(draw, rng=Random(f"{name}/{at}")) for at in range(MOST_DRAWS))


def named(draw: Draw, matter: Matter) -> Draw:
    """The draw with words for the order and for one of the items that it was done with; for several
    items, such as need none.
    """
    order_id = str(matter.order_id)
    numbers = [number for write in matter.writes for number in write.arguments.get("lines", ())]
    plain = {"description_share": 0.0} if len(numbers) > 1 else {}
    spoken = replace(draw, config=draw.config.model_copy(update=plain))
    referent = spoken.refer(order_id, [f"{order_id}.{number}" for number in numbers])
    return replace(draw, referent=referent)


def denied_wish(matter: Matter, draw: Draw, name: str) -> Intent | NoGoal:
    """The request that has to be denied where a tool refused a write by a rule: one side of a
    minimal pair whose one fact is the world's own.

    In the pair's other world the fact is otherwise and the request can be done; where a second rule
    forbids it there, there is no goal.
    """
    (write,), base, order_id = matter.writes, draw.base, str(matter.order_id)
    order = base.orders.get(order_id)
    known = f"{write.rule} {write.tool}" in PAIRS["refused"]
    if order is None or order["customer_id"] != draw.customer_id or not known:
        return NoGoal(f"denied_otherwise:{write.rule}")
    for pair in _pairs(write, base, order_id):
        if pair.facts(base, refused=True) or not pair.is_feasible(base, draw.customer_id):
            continue
        allowing = replace(draw, base=pair.allowed(base), config=_honest(draw, pair))
        for drawn in draws(allowing, name):
            state = drawn.rng.getstate()
            if _asks_for(write, MAKERS[pair.asks](named(drawn, matter), order_id), base):
                drawn.rng.setstate(state)
                return pair.intent(named(drawn, matter), refused=True)
    return NoGoal(f"two_rules_or_no_words:{write.rule}")


def _honest(draw: Draw, pair: Pair) -> StorefrontConfig:
    """Without claims where those of the rule are about another fact than the pair's."""
    claimed = {"R7": "modified", "R9": "status"}.get(pair.rule, "")
    honest = {} if pair.path.endswith(claimed) else {"false_claims": 0.0}
    return draw.config.model_copy(update=honest)


def _pairs(write: Write, base: BaseWorld, order_id: str) -> Iterator[Pair]:
    """Pairs that a refused write may be one side of."""
    order, made, rule = base.orders[order_id], write.arguments, str(write.rule)
    own, late_days = order["customer_id"], base.rules.late_days + 1
    values = {"$today": base.today, "$card": made.get("to")}
    if rule == "R12":
        late = date.fromisoformat(order["delivered"]) - timedelta(days=late_days)
        values["$late"] = late.isoformat()
    if rule == "R5" and (
        made["to"] not in cards(base, own) or above_limit(base.rules, order["total_cents"])
    ):
        return
    for row in PAIRS["refused"].get(f"{rule} {write.tool}", ()):
        now, allowing = order[row["column"]], row["allowing"]
        if order["status"] in row["in"] and now not in made.values():
            path = f"orders/{order_id}/{row['column']}"
            yield Pair(rule, order_id, row["asks"], path, now, values.get(allowing, allowing))
    if rule == "R8" and len(made["lines"]) == 1:
        line_key = f"{order_id}.{made['lines'][0]}"
        sold = {row["category"] for row in base.tables["products"].values()}
        allowing = min(sold - set(base.rules.final_sale))
        path = f"products/{base.variant(line_key)['product_id']}/category"
        yield Pair(rule, order_id, "return", path, base.product(line_key)["category"], allowing)
    if write.tool == "change_address" and refused_by_status("address", order) is None:
        wanted = base.addresses[str(made["address_id"])]["city"]
        if wanted not in {base.addresses[key]["city"] for key in base.addresses_of[own]}:
            cities = sorted(destinations(base, order_id))
            found = (off_file(base, order_id, city, city, wanted) for city in cities)
            yield from filter(None, found)


def _asks_for(write: Write, intent: Intent, base: BaseWorld) -> bool:
    """Whether a request, could it be done, would be done by this write."""
    made, rows = write.arguments, intent.required
    order_id = made["order_id"]
    lines = {row.where["id"]: row.where.get("sku") for row in rows if row.table == "lines"}
    match write.tool:
        case "change_address":
            wanted = base.addresses[made["address_id"]]
            if wanted["customer_id"] == base.orders[order_id]["customer_id"]:
                return bool(rows[0].where["address_id"] == made["address_id"])
            return bool((intent.request.wanted or intent.details["city"]) == wanted["city"])
        case "modify_lines":
            return lines == {f"{order_id}.{at}": sku for at, sku in made["lines"].items()}
        case "apply_coupon":
            return any(row.where.get("coupon") == made["code"] for row in rows)
        case "create_return":
            return lines.keys() == {f"{order_id}.{number}" for number in made["lines"]}
        case "issue_refund" if made["to"] != STORE_CREDIT:
            return bool(intent.request.pay_to == base.tables["payments"][made["to"]]["last4"])
    return True
