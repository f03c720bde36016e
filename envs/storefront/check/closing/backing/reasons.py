"""Why something was denied or handed over, and how that is told; and the policy told in general:
"coupons are for pending orders". That is borne out by the rules that something was denied by, where
what is said to be allowed is, and what is said to be forbidden.
"""

import re
from collections.abc import Callable, Sequence

from synth.envs.storefront.check.closing.backing.said import known_words, pattern, patterns
from synth.envs.storefront.check.ground import EpisodeGround
from synth.envs.storefront.check.mentions import places_of

_OF_ANYTHING = re.compile(r"\b(?:no longer|any ?more|any longer|once|(?<!a )gifts?|late|valid)\b")
"""Words of reasons that may be said of anything."""
_PARTS = re.compile(r"([,;:]\s+|\s[\u2013\u2014-]\s|\s(?:and|but|so|because|since)\s)")
_OF_A_RULE = ("about", "allows", "forbids")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def grounds(ground: EpisodeGround) -> frozenset[str]:
    """The rules by which something was denied or handed over; of the rule of addresses what forbade
    it: "R11" that the order had left, "R11 file" that the place is not on the customer's file.
    """
    found = ground.grounds
    if "R11" not in found:
        return found

    asked = ground.asked.requests
    why = set[str]()
    for one in ground.view.calls("deny"):
        if one.arguments.get("rule_id") == "R11":
            places = places_of(asked.get(str(one.arguments.get("request")), ""), ground.view.base)
            if not places or is_on_file(ground, places):
                why.add("R11")
            if not places or not is_on_file(ground, places):
                why.add("R11 file")

    return (found - {"R11"}) | why


def reasons(ground: EpisodeGround) -> list[re.Pattern[str]]:
    """How the reasons are told by which something was denied, or handed over."""
    why = grounds(ground)
    told = [words for rule, words in patterns("reasons").items() if rule in why]

    return [*told, pattern("not_on_file")] if "R11 file" in why else told


def is_another_reason(text: str, ground: EpisodeGround) -> bool:
    """Whether a text tells reasons of the policy's, and none by which something was denied."""
    text = _OF_ANYTHING.sub(" ", text)
    every = {**patterns("reasons"), "R11 file": pattern("not_on_file")}
    told = {rule for rule, words in every.items() if words.search(text)}

    return bool(told) and told.isdisjoint(grounds(ground))


def is_on_file(ground: EpisodeGround, places: Sequence[str]) -> bool:
    """Whether one address of the customer's is all of these places."""
    tables, base = ground.view.base.tables, ground.view.base
    owners = ground.view.own or {str(tables["orders"][key]["customer_id"]) for key in ground.shown}
    rows = [tables["addresses"][key] for one in owners for key in base.addresses_of.get(one, ())]

    return any(
        all(place in f"{row['street']} {row['city']} {row['zip']}".lower() for place in places)
        for row in rows
    )


def without_rules(sentence: str, ground: EpisodeGround, marked: Callable[[str], str]) -> str:
    """A sentence without those of its parts that tell a rule, and rightly; `marked` puts marks in
    the place of what a text names.
    """
    if not pattern("in_general").search(sentence.lower()):
        return sentence

    parts = _PARTS.split(sentence)
    at = 0
    while at < len(parts):
        for size in (3, 1):
            if _tells_a_rule(marked("".join(parts[at : at + size])), ground):
                # the joint behind it, else the one before it
                del parts[at : at + size + 1]
                if at >= len(parts) and parts:
                    parts.pop()
                break
        else:
            at += 2

    return "".join(parts)


def is_a_rule(text: str) -> bool:
    """Whether a text speaks in general, of nothing in particular."""
    general, particular = pattern("in_general").search(text), pattern("in_particular").search(text)
    return bool(general) and not particular


def tells_another_rule(text: str) -> bool:
    """Whether a text that is none of the rules tells when something is allowed, or forbidden."""
    when = zip(*(patterns("policy", part).values() for part in _OF_A_RULE), strict=True)
    return is_a_rule(text) and any(
        about.search(text) and (allows.search(text) or forbids.search(text))
        for about, allows, forbids in when
    )


def _tells_a_rule(text: str, ground: EpisodeGround) -> bool:
    """Whether a text that speaks in general says of a rule what is so."""
    if not is_a_rule(text):
        return False

    forbids = pattern("negated").search(text) is not None
    for rule in grounds(ground) & patterns("policy", "about").keys():
        about, allows, none = (patterns("policy", part)[rule] for part in _OF_A_RULE)
        said, other = (none, allows) if forbids else (allows, none)
        if about.search(text) and said.search(text) and not other.search(said.sub(" ", text)):
            rest = said.sub(" ", about.sub(" ", pattern("negated").sub(" ", text)))
            if {*_WORD.findall(rest)} <= known_words() | {"only", "each", "every", "all"}:
                return True

    return False
