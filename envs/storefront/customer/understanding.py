"""What the customer takes plain words for: which fields they ask for, and about which request."""

import re
from collections.abc import Iterator, Sequence

from synth.envs.storefront.customer.consent import ANY, NOTHING, Actions, leave, stated
from synth.envs.storefront.customer.told import windows

CONFIRMATION = "confirmation"
OFFER = "offer"
"""A question for leave to do what is no write: to look something up, to pass somebody on."""
WHICH_ONE = "which_one"
"""A question that names no field: whichever of the things that fit is meant."""
_ASKS = re.compile(
    r"\?|\blet me know\b|\btell me\b|\b(?:please|kindly)(?: also)? "
    r"(?:confirm|provide|give|tell|share|send|let me "
    r"know|state|specify|choose|pick|verify|say|enter|reply)\b"
)
_FIELDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "anything_else",
        re.compile(
            r"anything else|something else|further "
            r"help|(?:any|help).{0,20}\bmore\b.{0,20}(?:can|help|need)"
        ),
    ),
    ("email", re.compile(r"e-?mail")),
    ("phone", re.compile(r"\b(?:tele)?phone\b|\bnumber to reach\b")),
    ("zip", re.compile(r"\bzip\b|postal|postcode")),
    ("reason", re.compile(r"\breason\b|\bwhy\b")),
    (
        "method",
        re.compile(
            r"drop|pick(?:ed)?[ -]?up|by mail|return method|how .{0,60}(?:return|send|back)\b"
        ),
    ),
    (
        "refund_to",
        re.compile(r"store credit|refund method|original payment|(?:where|how) .{0,40}refund"),
    ),
    ("colour", re.compile(r"(?:which|what) (?:\w+ )?colou?r(?! (?:is|was|has|does)\b)")),
    (
        "address",
        re.compile(
            r"(?:which|what) (?:of (?:the|your|these) )?(?:\w+ )?(?:address|city)"
            r"|where (?!.*refund).{0,40}\b(?:go|sen[dt]|ship\w*|deliver\w*)\b"
        ),
    ),
    ("street", re.compile(r"(?:which|what) street")),
    ("card", re.compile(r"which (?:\w+ )?card|which of (?:the|your) cards|last (?:four|4) digits")),
    ("item", re.compile(r"which (?:\w+ )?item|which of the items|which of them")),
    ("coupon", re.compile(r"(?:which|what) coupon|coupon code")),
    (
        "order",
        re.compile(
            r"which (?:\w+ )?orders?\b|order (?:number|id|date)\b"
            r"|\bwhen (?:did you|was it|was that|was the order).{0,20}\b(?:order|place|b[uo])"
            r"|\b(?:mean|want|is it|was it|about) (?:order )?o-\d+.{0,20}\bor\b"
        ),
    ),
    (WHICH_ONE, re.compile(r"which (?:of (?:these|those)|ones?)\b")),
    ("name", re.compile(r"your name|full name")),
)
_ONE_OF_TWO = re.compile(
    r"\b(?:is|was) (?:it|that) (?:the|a) .+ or |\bdo you mean .+ or "
    r"|\b(?:the )?first (?:one )?or (?:the )?second\b|\bwhich of (?:the|them|your)\b"
    r"|\b(?:what|which) colou?r (?:is|was|has|does)\b"
)
"""Questions for one of several, where no field is named."""
_IDENTITY = frozenset({"email", "phone", "zip", "name"})
_NUMBER = re.compile(r"\brequest (?:no\.? ?|number |#)?(\d{1,2})\b")
_LISTED = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])")

Asked = tuple[str, int | None]
"""A field, and the number of the request that it is asked for."""


def understood(text: str, nouns: Sequence[str] = ()) -> list[Asked]:
    """What a message asks for, in its order; `nouns` are what the customer spoke of: "which lamp"
    asks which one.

    A request that was named holds for the sentences after it; a list belongs to the question before
    it.
    """
    asked = list(
        dict.fromkeys(
            (field, number)
            for fields, _, number in _understood(text.lower(), nouns)
            for field in fields
        )
    )
    return [question for question in asked if question[0] != OFFER] or asked


def proposed(text: str, *, for_a_yes: bool = False) -> Actions:
    """The writes that a yes to a message is a yes to; `for_a_yes`: the message was sent as a
    question for one.
    """
    asked = [actions for _, actions, _ in _understood(text.lower(), ()) if actions is not None]
    if for_a_yes and not asked:
        return stated(text.lower()) or ANY
    return NOTHING.union(*asked)


def _understood(
    text: str, nouns: Sequence[str]
) -> Iterator[tuple[list[str], Actions | None, int | None]]:
    """The fields that each question is for, what it asks leave for, and the number of its
    request.
    """
    number: int | None = None
    in_list = False
    before = NOTHING
    for window in windows(text):
        named = _NUMBER.search(window)
        number = int(named[1]) if named else number
        opens = window.rstrip().endswith(":")
        asking = (
            _ASKS.search(window) is not None
            or (opens and "?" in text)
            or (in_list and _LISTED.match(window) is not None)
        )
        in_list = asking and (in_list or opens)
        if asking:
            fields = _fields(window, nouns)
            closed = "anything_else" in fields or _IDENTITY.intersection(fields)
            actions = (
                None
                if closed
                else leave(window, before | (stated(text) if opens else NOTHING), bare=not fields)
            )
            if actions is not None:
                fields = [CONFIRMATION if actions else OFFER, *fields]
            yield fields or _one_of(window), actions, number
        before |= stated(window)


def _fields(window: str, nouns: Sequence[str]) -> list[str]:
    fields = [field for field, pattern in _FIELDS if pattern.search(window)]
    if not fields and any(
        re.search(rf"\bwhich (?:\w+ )?{re.escape(noun)}", window) for noun in nouns
    ):
        return [WHICH_ONE]
    return fields


def _one_of(window: str) -> list[str]:
    return [WHICH_ONE] if _ONE_OF_TWO.search(window) else []
