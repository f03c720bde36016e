"""Small whole numbers stand everywhere: where one proves something."""

import re
from collections.abc import Sequence, Set

from synth.text.provenance.arguments import Argument
from synth.text.provenance.computation import AMOUNT_NAME
from synth.text.provenance.forms import number_word
from synth.text.provenance.objects import SMALL, Objects, stem
from synth.text.provenance.seen import stands

_ITEM = re.compile(r"(?<=\n)\d+[.)]\s")
_NONE = re.compile(r"\b(?:no|none|not|without|zero|don't)\b", re.IGNORECASE)
_BEFORE = re.compile(r"([a-z_]+)\W{0,2}$")
_AFTER = re.compile(r" {0,2}([a-z_]+)")


def small(argument: Argument) -> int | None:
    """A whole number below 100, also as text; None for others, and for amounts, which are judged
    like any number.
    """
    value = argument.value
    if isinstance(value, bool) or AMOUNT_NAME.search(argument.name):
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 3:
        return int(value)
    return value if isinstance(value, int) and 0 <= value < SMALL else None


def proven(
    argument: str,
    number: int,
    objects: Objects,
    beside: Set[str],
    others: Set[str],
    instructions: Sequence[str],
    heard: Sequence[str],
) -> bool:
    """Whether a small number stands where it says something about an argument of this name.

    That is under a key of the name in an answer; as a place in a list of an entity of the same call
    (`beside`); in the `instructions`
    after the name ("line 2"), where no answer has such a key; or in a person's words. There the
    number of a list's item ("2. Cancel it")
    counts only in a text that speaks of the name ("I have two requests"), and not where another
    argument's name (`others`) stands beside
    it ("request 3" and "3 requests" are no lines). Numbers under other keys, and those that answers
    repeat from their calls, count
    nowhere.
    """
    known = objects.numbers_of.get(stem(argument))
    if known is not None and number in known:
        return True
    if (
        1
        <= number
        <= max((objects.length_of.get(identifier, 0) for identifier in beside), default=0)
    ):
        return True
    labels = others - {stem(argument)}
    if any(_says(text, number, argument, labels) for text in heard):
        return True
    named = re.compile(
        rf"\b{re.escape(stem(argument))}s?\W{{0,2}}{number}(?!\w|[.,]\d)", re.IGNORECASE
    )
    return known is None and any(named.search(text) for text in instructions)


def _says(text: str, number: int, argument: str, labels: Set[str]) -> bool:
    """Whether a number stands in a text, in digits or words; "no" and "none" say 0."""
    if number == 0 and _NONE.search(text):
        return True
    word = number_word(number)
    folded = text.casefold()
    if word is not None and stands(folded, word, number=False):
        return True
    items_count = _speaks_of(text, argument)
    for found in re.finditer(rf"(?<![\w.,$\-/]){number}(?!\w|[.,]\d)", folded):
        beside = (
            _BEFORE.search(folded, max(0, found.start() - 30), found.start()),
            _AFTER.match(folded, found.end()),
        )
        if (items_count or _ITEM.match(folded, found.start()) is None) and not any(
            word and stem(word[1]) in labels for word in beside
        ):
            return True
    return False


def _speaks_of(text: str, argument: str) -> bool:
    return re.search(rf"\b{re.escape(stem(argument))}", text, re.IGNORECASE) is not None
