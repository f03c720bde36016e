"""How the expert finds out who speaks: an account, and two verified factors."""

from typing import Any

from synth.envs.storefront.expert.asking import WORDS
from synth.envs.storefront.expert.plan import Call, Plan
from synth.envs.storefront.world.rules import NEEDED_FACTORS


def identified_or_calls(plan: Plan) -> tuple[str | None, list[Call]]:
    """The customer's id once two factors are verified, else the calls that lead there; neither
    where no way is left.
    """
    belief = plan.belief
    for customer_id in belief.accounts:
        if len(belief.verified.get(customer_id, ())) >= NEEDED_FACTORS:
            return customer_id, []
    for customer_id in belief.accounts:
        calls = _verifying(plan, customer_id)
        if calls:
            return None, calls
        if "first_match" in plan.wrong:
            return customer_id, []
    if belief.more_accounts is not None and "first_page" not in plan.wrong:
        return None, [("find_customer", belief.more_accounts)]
    return None, _finding(plan)


def _verifying(plan: Plan, customer_id: str) -> list[Call]:
    """The next factor to check; none for an account that a factor did not fit."""
    belief = plan.belief
    checks: list[Call] = []
    verified = belief.verified.get(customer_id, set())
    for factor in plan.strategy.identify_by:
        if factor not in belief.slots:
            return checks or [_question(factor)]
        value = belief.slots[factor]
        if value is None or factor in verified:
            continue
        call: Call = (
            "verify_identity",
            {"customer_id": customer_id, "factor": factor, "value": value},
        )
        if not plan.can(call):
            return []
        checks.append(call)
        if len(verified) + len(checks) >= NEEDED_FACTORS:
            return checks
    return checks


def _finding(plan: Plan) -> list[Call]:
    """The next search for an account, or the question that it needs."""
    belief = plan.belief
    for factor in plan.strategy.identify_by:
        if factor not in belief.slots:
            return [_question(factor)]
        value = belief.slots[factor]
        if value is None:
            continue
        arguments: dict[str, Any] = {factor: value}
        if factor == "zip":
            name = belief.slots.get("name")
            if name is None:
                continue
            arguments = {"name": name, "zip": value}
        if not belief.accounts and plan.can(("find_customer", arguments)):
            return [("find_customer", arguments)]
    return []


def _question(factor: str) -> Call:
    return (
        "ask_customer",
        {"field": factor, "message": WORDS["identify"].format(field=factor)},
    )
