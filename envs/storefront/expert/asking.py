"""What the expert says to the customer while it works: questions for details, a yes before money
moves, denials.
"""

from synth.envs.storefront.customer.consent import NOTHING, stated
from synth.envs.storefront.customer.script import WANTED_FIELD, Request
from synth.envs.storefront.expert.plan import Call, Plan

ASSUMED = {
    "reason": "changed_mind",
    "method": "mail",
    "refund_to": "original",
    "confirmation": "no",
}
"""What is taken where the customer was not asked, or did not know."""
_QUESTIONS = {
    "reason": "What is the reason?",
    "method": "How do you want to send it back: drop it off, have it picked up, or by mail?",
    "refund_to": "Should the refund go to the original payment method or to store credit?",
    "colour": "Which colour would you like?",
    "city": "To which city shall it go?",
    "coupon": "Which coupon do you have?",
    "item": "Which item do you mean?",
    "street": "In which street is it?",
    "card": "Which card do you mean?",
}


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
                "message": f"Request {number}: {_QUESTIONS[field]}",
                "request": number,
            },
        )
        for field in fields
        if (field, number) not in plan.belief.asked and field not in request.given
    ]


def confirming(plan: Plan, request: Request, what: str) -> list[Call]:
    """The question for a yes, until there is one to this: a yes to an exchange is none to the
    cancellation that takes its place.
    """
    agreed = (
        stated(what) <= plan.belief.agreed.get(request.number, NOTHING)
        or request.given.get("confirmation") == "yes"
    )
    overheard = "ignores_change" in plan.wrong and request.number in plan.belief.declined
    if "skips_confirmation" in plan.wrong or agreed or overheard:
        return []
    message = f"Request {request.number}: I am going to {what}. Shall I go ahead?"
    return [
        ("ask_customer", {"field": "confirmation", "message": message, "request": request.number})
    ]


_WHY = {
    "R1": "I could not verify who you are",
    "R3": "the order has left the warehouse",
    "R4": "the return window is over",
    "R5": "the order was not paid with that card",
    "R7": "the order cannot be modified again",
    "R8": "it was a final sale",
    "R9": "it takes a valid coupon, and a pending order that has none",
    "R10": "the order belongs to somebody else",
    "R11": "the order has left the warehouse",
    "R11 file": "that address is not on your file",
    "R12": "it did not come late enough",
    "R15": "it was a gift, which only its recipient can return",
}


def forbids(plan: Plan, rule: str) -> bool:
    """Whether the planner holds to a rule; `never_denies` holds to none that stands in the way of a
    wish.
    """
    return rule in plan.rules.in_force and "never_denies" not in plan.wrong


def denial(plan: Plan, request: Request, rule: str, *, about: str = "") -> list[Call]:
    """The denial with its rule, once; `about` says which part of a rule with several it is."""
    if request.number in plan.belief.denied:
        return []
    why = _WHY.get(f"{rule} {about}".strip(), f"rule {rule} forbids it")
    return [
        (
            "deny",
            {
                "request": request.number,
                "rule_id": rule,
                "message": f"Request {request.number}: I cannot do this, because {why}.",
            },
        )
    ]
