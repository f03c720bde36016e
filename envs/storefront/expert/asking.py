"""What the expert says to the customer while it works: questions for details, a yes before money
moves, denials.
"""

from collections.abc import Mapping
from typing import Any

from synth.envs.storefront.customer.script import WANTED_FIELD, Request
from synth.envs.storefront.expert.plan import Call, Plan
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.event_log import act

ASSUMED = {
    "reason": "changed_mind",
    "method": "mail",
    "refund_to": "original",
    "confirmation": "no",
}
"""What is taken where the customer was not asked, or did not know."""
WORDS: Mapping[str, Any] = texts("expert")


def known(plan: Plan, request: Request, field: str) -> str | None:
    """A detail that the customer gave, at once or when asked."""
    return plan.belief.answers.get((request.number, field)) or request.given.get(field)


def detail(plan: Plan, request: Request, field: str) -> str:
    """A detail, or what is usual."""
    return known(plan, request, field) or ASSUMED[field]


def wanted(plan: Plan, request: Request) -> str | None:
    """The colour, city or coupon that is wanted, where it was said."""
    return request.wanted or known(plan, request, WANTED_FIELD[request.kind])


def asking(plan: Plan, request: Request, *fields: str) -> list[Call]:
    """Questions for details that are open; `skips_confirmation` asks none."""
    return [] if "skips_confirmation" in plan.wrong else questions(plan, request, *fields)


def asking_what(plan: Plan, request: Request) -> list[Call]:
    """The question for what the customer left out."""
    return (
        [] if request.wanted is not None else questions(plan, request, WANTED_FIELD[request.kind])
    )


def questions(plan: Plan, request: Request, *fields: str) -> list[Call]:
    """Questions for details that were not asked for yet."""
    number = request.number
    return [
        (
            "ask_customer",
            {
                "field": field,
                "message": WORDS["question"].format(
                    number=number, question=WORDS["questions"][field]
                ),
                "request": number,
            },
        )
        for field in fields
        if (field, number) not in plan.belief.asked and field not in request.given
    ]


def confirming(plan: Plan, request: Request, call: Call) -> list[Call]:
    """The question for the customer's agreement to a write, until there is one to this very
    write.
    """
    write, arguments = call
    agreed = act(write, arguments) in plan.belief.agreed
    given = request.given.get("confirmation") == "yes"
    overheard = "ignores_change" in plan.wrong and request.number in plan.belief.declined
    if "skips_confirmation" in plan.wrong or agreed or given or overheard:
        return []
    made = {"request": request.number, "write": write, "arguments": arguments}
    return [("confirm_with_customer", made)]


def forbids(plan: Plan, rule: str) -> bool:
    """Whether the planner holds to a rule; `never_denies` holds to none that stands in the way of a
    wish.
    """
    return rule in plan.rules.in_force and "never_denies" not in plan.wrong


def denial(plan: Plan, request: Request, rule: str, *, about: str = "") -> list[Call]:
    """The denial with its rule, once; `about` says which part of a rule with several it is."""
    if request.number in plan.belief.denied:
        return []
    why = WORDS["why"].get(f"{rule} {about}".strip(), WORDS["otherwise"].format(rule=rule))
    return [
        (
            "deny",
            {
                "request": request.number,
                "rule_id": rule,
                "message": WORDS["denial"].format(number=request.number, why=why),
            },
        )
    ]
