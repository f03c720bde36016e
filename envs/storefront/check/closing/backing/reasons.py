"""Why something was denied or handed over, and how that is told."""

import re
from collections.abc import Sequence

from synth.envs.storefront.check.closing.backing.said import pattern, patterns
from synth.envs.storefront.check.ground import EpisodeGround
from synth.envs.storefront.check.mentions import places_of

_OF_ANYTHING = re.compile(r"\b(?:no longer|any ?more|any longer|once|(?<!a )gifts?|late|valid)\b")
"""Words of reasons that may be said of anything."""


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
