"""Brains of a model that plays the user: they find the line in the prompt, and say it well or
badly.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from synth.envs.storefront.customer.customer import LINES, PUSH_BACK, YES
from tests.synth.models.chat_brains import Body, Brain, called

ACCEPTED, GO_ON, NOT_YET_DONE, PHRASES, UNKNOWN = (
    LINES["accepted"],
    LINES["go_on"],
    LINES["not_yet_done"],
    LINES["details"],
    LINES["unknown"],
)

ASKS = "What you say next: "


def line_of(body: Body) -> str:
    """The line that a request is to word."""
    prompt = next(m["content"] for m in body["messages"] if m["role"] == "user")
    return str(
        next(part for part in prompt.split("\n") if part.startswith(ASKS)).removeprefix(ASKS)
    )


def tries(body: Body) -> int:
    """How many wordings the request shows as turned down: none, or the last one."""
    return sum(m["role"] == "assistant" for m in body["messages"])


def said(text: str) -> dict[str, Any]:
    """An assistant message."""
    return {"role": "assistant", "content": text}


def faithful(body: Body) -> dict[str, Any]:
    """Says the line after a greeting."""
    return said(f"Hello. {line_of(body)}")


_OTHER_WORDS = {
    YES: "Sure, go ahead please.",
    GO_ON: "Thanks, please carry on.",
    UNKNOWN: "Sorry, I really don't know.",
    ACCEPTED: "Okay, I see.",
    NOT_YET_DONE: "Hold on, you haven't done what I agreed to. Please do that first.",
    PUSH_BACK[0]: "Oh, that's disappointing. Really? Well, rules are rules I guess.",
    PUSH_BACK[1]: "I've been buying here for years, please make an exception!",
    PUSH_BACK[2]: "I insist, please get me your manager.",
    PHRASES["reason"]["changed_mind"]: "I simply changed my mind about it.",
    PHRASES["reason"]["found_cheaper"]: "Another shop has it cheaper.",
    PHRASES["reason"]["ordered_by_mistake"]: "That order was a mistake.",
    PHRASES["reason"]["delivery_too_late"]: "It would come too late for me.",
    PHRASES["method"]["drop_off"]: "I'd drop it off at a shop myself.",
    PHRASES["method"]["pickup"]: "Please pick it up at my place.",
    PHRASES["method"]["mail"]: "I'd send it by mail then.",
    PHRASES["refund_to"]["original"]: "Please refund it the same way I paid.",
    PHRASES["refund_to"]["store_credit"]: "Store credit is fine with me.",
}
_OTHER_FORMS = (
    (r"My email is (\S+)\.", r"You can reach me at \1."),
    (r"My (?:zip|phone) is (\S+)\.", r"It's \1."),
    (r"The one I placed on (\S+)\.", r"The order from \1."),
    (r"The one at (.+)\.", r"The address at \1, please."),
    (r"The one ending in (\d+)\.", r"The card that ends in \1."),
    (r"The (\w+) one\.", r"I mean the \1 one."),
    (r"In (\w+), please\.", r"I'd like it in \1."),
    (r"To my address in (\w+)\.", r"My \1 address, please."),
)


def in_other_words(body: Body) -> dict[str, Any]:
    """Says what the line says as somebody else would; lines of other forms as they are."""
    line = line_of(body)
    for pattern, other in _OTHER_FORMS:
        if re.fullmatch(pattern, line):
            return said(re.sub(pattern, other, line))
    return said(_OTHER_WORDS.get(line, line))


def asking_agent(body: Body) -> dict[str, Any]:
    """An agent at the support desk: asks for e-mail and phone, then in plain words for a yes, and
    ends the conversation.
    """
    done = sum(m["role"] == "assistant" for m in body["messages"])
    if done < 2:
        return called(
            "ask_customer",
            {"field": ("email", "phone")[done], "message": "May I have it?"},
            f"call_{done}",
        )
    return (
        said("Shall I go ahead?")
        if done == 2
        else called("finish", {"message": "Goodbye!"}, f"call_{done}")
    )


def moody() -> Brain:
    """Faithful, and never twice in the same words: the same request gets another reply each
    time.
    """
    calls = [0]

    def brain(body: Body) -> dict[str, Any]:
        calls[0] += 1
        return said(f"Hello{'!' * calls[0]} {line_of(body)}")

    return brain


def at_first(bad: Callable[[str], dict[str, Any]]) -> Brain:
    """Says each line badly, and well when it is asked again."""
    return lambda body: faithful(body) if tries(body) else bad(line_of(body))


def never_right(texts: Sequence[str]) -> Brain:
    """Says these in turn, whatever the line."""
    calls = [0]

    def brain(body: Body) -> dict[str, Any]:
        calls[0] += 1
        return said(texts[(calls[0] - 1) % len(texts)])

    return brain
