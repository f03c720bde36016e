"""What the customer takes plain words for: which fields they ask for, and about which request."""

import re
from collections.abc import Iterator, Sequence

from envs.storefront.told import windows

WHICH_ONE = "which_one"
"""A question that names no field: whichever of the things that fit is meant."""
_ASKS = re.compile(
    r"\?|\blet me know\b|\btell me\b|\b(?:please|kindly)(?: also)? "
    r"(?:confirm|provide|give|tell|share|send|let me know|state|specify|choose|pick|verify|say|enter|reply)\b"
)
_AGREE = re.compile(
    r"\bgo ahead\b|\bproceed\b|^(?!.*\b(?:which|what|where|how|why)\b).*\b(?:(?:shall|should) i|(?:would you like|do you want) me to)\b"
    r"|\bdo you (?:agree|approve)\b"
    r"|\bconfirm (?:that|this|you\b|if|whether|to\b|the (?:cancell?ation|return|refund|exchange|change))"
    r"|\b(?:is|are|does|would) (?:that|this|it|you|these|all this|everything)\b.{0,30}"
    r"\b(?:ok|okay|fine|correct|right|all right|happy|sure|good)\b"
)
_AGREE_IF_NOTHING_ELSE = re.compile(r"\bconfirm\b|\b(?:may|can|could) i (?!ask|have|know|get|help|assist|offer|do (?:any|some)thing)")
"""Words that ask for a yes where no detail is asked for: "please confirm your email" wants the email."""
_FIELDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("anything_else", re.compile(r"anything else|something else|further help|(?:any|help).{0,20}\bmore\b.{0,20}(?:can|help|need)")),
    ("email", re.compile(r"e-?mail")),
    ("phone", re.compile(r"\b(?:tele)?phone\b")),
    ("zip", re.compile(r"\bzip\b|postal|postcode")),
    ("reason", re.compile(r"\breason\b|\bwhy\b")),
    ("method", re.compile(r"drop|pick(?:ed)?[ -]?up|by mail|return method|how .{0,60}(?:return|send|back)\b")),
    ("refund_to", re.compile(r"store credit|refund method|original payment|(?:where|how) .{0,40}refund")),
    ("colour", re.compile(r"(?:which|what) (?:\w+ )?colou?r")),
    (
        "address",
        re.compile(r"(?:which|what) (?:of (?:the|your|these) )?(?:\w+ )?(?:address|city)|where (?!.*refund).{0,40}\b(?:go|sen[dt])\b"),
    ),
    ("street", re.compile(r"(?:which|what) street")),
    ("card", re.compile(r"which (?:\w+ )?card|which of (?:the|your) cards|last (?:four|4) digits")),
    ("item", re.compile(r"which (?:\w+ )?item|which of the items|which of them")),
    ("coupon", re.compile(r"(?:which|what) coupon|coupon code")),
    ("order", re.compile(r"which (?:\w+ )?orders?\b|order (?:number|id)")),
    (WHICH_ONE, re.compile(r"which (?:of (?:these|those)|ones?)\b")),
    ("name", re.compile(r"your name|full name")),
)
_NUMBER = re.compile(r"\brequest (?:no\.? ?|number |#)?(\d{1,2})\b")
_LISTED = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])")

Asked = tuple[str, int | None]
"""A field, and the number of the request that it is asked for."""


def understood(text: str, nouns: Sequence[str] = ()) -> list[Asked]:
    """What a message asks for, in its order; `nouns` are what the customer spoke of: "which lamp" asks which one.

    A request that was named holds for the sentences after it; a list belongs to the question before it.
    """
    return list(dict.fromkeys(_understood(text.lower(), nouns)))


def _understood(text: str, nouns: Sequence[str]) -> Iterator[Asked]:
    number: int | None = None
    in_list = False
    for window in windows(text):
        named = _NUMBER.search(window)
        number = int(named[1]) if named else number
        opens = window.rstrip().endswith(":") and "?" in text
        asking = _ASKS.search(window) is not None or opens or (in_list and _LISTED.match(window) is not None)
        in_list = asking and (in_list or window.rstrip().endswith(":"))
        if asking:
            yield from ((field, number) for field in _fields(window, nouns))


def _fields(window: str, nouns: Sequence[str]) -> list[str]:
    fields = [field for field, pattern in _FIELDS if pattern.search(window)]
    if not fields and any(re.search(rf"\bwhich (?:\w+ )?{re.escape(noun)}", window) for noun in nouns):
        fields = [WHICH_ONE]
    agrees = _AGREE.search(window) or (not fields and _AGREE_IF_NOTHING_ELSE.search(window))
    return ["confirmation", *fields] if agrees and "anything_else" not in fields else fields
