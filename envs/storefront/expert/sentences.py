"""Sentences of customers, read: what a text of data/wordings.yaml says once its places are filled.

A pattern is made of each wording, so that a new wording is read without a line of code.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from synth.envs.storefront.customer.customer import DETAILS, YES
from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.catalogue import COLOURS, NOUNS

WORDS = texts("wordings")
Said = dict[str, Any]
"""Fields of a request, as far as words say them."""
_PLACE = re.compile(r"\\\{(\w*)\\\}")
_COLOUR, _NOUN = "|".join(COLOURS), "|".join(sorted(NOUNS, key=len)[::-1])
_AN_ITEM = rf"(?:(?:{_COLOUR}) )?(?:{_NOUN})(?: in size \w+)?"
_ITEM = re.compile(rf"(?:(?P<colour>{_COLOUR}) )?(?P<noun>{_NOUN})(?: in size (?P<size>\w+))?")
_PLACES = {
    "item": _AN_ITEM,
    "where": " from .+?| in .+?| that I ordered",
    "note": ".+",
    "order_id": r"\S+?",
}
"""What can stand in the places of a wording; in all others, anything."""
_WANTED = {"exchange": _COLOUR, "coupon": r"\S+?"}
"""What is wanted, by kind of request; a city may be any."""
_KIND_OF_WORDING = {"former_price": "price_query"} | dict.fromkeys(
    ("return_all", "gift_return", "gift_return_of"), "return"
)
"""Wordings that are not called after their kind of request."""


def pattern(wording: str, **places: str) -> re.Pattern[str]:
    """What a wording looks like when its places are filled, by default with anything short."""

    def place(found: re.Match[str]) -> str:
        name = found[1] or "value"

        return f"(?P<{name}>{places.get(name, '.+?')})"

    return re.compile(_PLACE.sub(place, re.escape(wording)))


def kind_of(name: str) -> str:
    """The kind of request that a wording is for."""
    return _KIND_OF_WORDING.get(name, name.removesuffix("_missing"))


@lru_cache(maxsize=1)
def wordings() -> Sequence[tuple[str, re.Pattern[str]]]:
    """Every wording of a request, by its name, each followed by whatever else is said."""
    found = []

    for name, of_variant in WORDS["requests"].items():
        for wording in (text for every in of_variant.values() for text in every):
            places = _PLACES | {"wanted": _WANTED.get(kind_of(name), ".+?")}
            core = pattern(wording, **places)
            found.append((name, re.compile(rf"{core.pattern}(?P<rest>(?: .+)?)")))

    return found


def item(text: str) -> Said | None:
    """An item: its noun, with a colour and a size where they are said."""
    found = _ITEM.fullmatch(text)

    return None if found is None else {k: v for k, v in found.groupdict().items() if v}


def order(text: str) -> Said | None:
    """An order, by its id, by an item in it, by the one before, or by whom it was placed for."""
    for name, phrase in WORDS["phrases"].items():
        found = pattern(phrase, order_id=r"\S+").fullmatch(text)

        if found is None:
            continue
        if name == "by_id":
            return {"order_id": found["order_id"]}
        if name == "gift_for":
            return {"gift_for": found["person"]}

        inside = item(found["item"])

        if inside is None or "colour" not in inside or "size" in inside:
            continue
        if name == "after":
            return {"after": (inside["colour"], inside["noun"])}

        return inside

    return None


def where(text: str) -> Said | None:
    """Where an item is: nothing of it where it was just ordered."""
    if text == " that I ordered":
        return {}

    return next((order(text[len(at) :]) for at in (" from ", " in ") if text.startswith(at)), None)


def added(kind: str, text: str, wanted: str | None) -> Said | None:
    """What is said after a request; None where something of it is not understood."""
    said: Said = {}

    while text:
        found = next(
            (
                (fields, match)
                for words, fields in _additions(kind, wanted)
                if (match := words.match(text)) is not None
            ),
            None,
        )

        if found is None:
            return None

        fields, match = found
        value = match.groupdict()
        given = {**said.get("given", {}), **_filled(fields.get("given", {}), value)}
        said |= _filled(fields, value) | ({"given": given} if given else {})
        text = text[match.end() :]

    return said


def _filled(fields: Mapping[str, Any], value: Mapping[str, str]) -> Said:
    """Fields with what was found in their places; a number where one is meant."""
    filled = {
        name: value[field[1:]] if isinstance(field, str) and field[:1] == "=" else field
        for name, field in fields.items()
    }

    return filled | ({"least": float(filled["least"])} if "least" in filled else {})


def _additions(kind: str, wanted: str | None) -> Iterator[tuple[re.Pattern[str], Said]]:
    """What can be said after a request of a kind, and the fields that it sets; `=x` stands for
    what was found in place x.
    """
    condition = dict(WORDS["conditions"].get(kind, {}))

    if condition:
        words = condition.pop("words").replace("{wanted}", str(wanted))
        least = {"least": "=least"} if "{least}" in words else {}
        yield pattern(words, least=r"\d+"), {**condition, **least}

    yield pattern(WORDS["tell_total"]), {"tell_total": True}
    yield pattern(WORDS["my_card"]), {"pay_to": "card"}
    yield pattern(WORDS["that_card"], last4=r"\d+"), {"pay_to": "=last4"}
    yield from ((pattern(claim), {}) for claim in WORDS["claims"].values())
    yield pattern(f" {YES}"), {"given": {"confirmation": "yes"}}

    for name, words in DETAILS.items():
        if isinstance(words, str):
            yield pattern(f" {words}", value=r"[^.]+?"), {"given": {name: "=value"}}
        else:
            for value, text in words.items():
                yield pattern(f" {text}"), {"given": {name: value}}
