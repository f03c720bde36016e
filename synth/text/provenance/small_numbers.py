"""Small whole numbers stand everywhere: where one proves something."""

import re
from collections.abc import Set

from synth.text.provenance.arguments import Argument
from synth.text.provenance.forms import number_word
from synth.text.provenance.objects import SMALL, stem
from synth.text.provenance.quantities import AMOUNT_NAME, QUANTITY_KEYS
from synth.text.provenance.seen import Seen, stands

_ITEM = re.compile(r"(?<=\n)\d+[.)]\s")
_NONE = re.compile(r"\b(?:no|none|not|without|zero|don't)\b", re.IGNORECASE)
_ONE = re.compile(rf"\bone (?:{'|'.join(one.rstrip('s') for one in QUANTITY_KEYS)})\b")
_BEFORE = re.compile(r"([a-z_]+)\W{0,2}$")
_AFTER = re.compile(r" {0,2}([a-z_]+)")


def small(argument: Argument) -> int | None:
    """A whole number below 100, also as text.

    None for others, and for amounts, which are judged like any number.
    """
    value = argument.value
    if isinstance(value, bool) or AMOUNT_NAME.search(argument.name):
        return None

    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 3:
        return int(value)

    return value if isinstance(value, int) and 0 <= value < SMALL else None


def proven(argument: str, number: int, seen: Seen, beside: Set[str], names: Set[str]) -> bool:
    """Whether a small number stands where it says something about an argument of this name.

    That is under a key of the name in an answer; as a place in a list of an entity of the same call
    (`beside`); in instructions after the name ("line 2"), where no answer has such a key; or in a
    person's words. There the number of a list's item ("2. Cancel it") counts only in a text that
    speaks of the name ("I have two requests"), and not where another argument's name (`names` holds
    the stems of all) stands beside it ("request 3" and "3 requests" are no lines). Numbers under
    other keys, and those that answers repeat from their calls, count nowhere. Who names a thing and
    says no quantity means one.
    """
    name = stem(argument)
    if number == 1 and argument.lower() in QUANTITY_KEYS:
        return True

    known = seen.objects.numbers_of.get(name)
    longest = max((seen.objects.length_of.get(one, 0) for one in beside), default=0)
    if number in (known or ()) or 1 <= number <= longest:
        return True

    if any(_says(text, number, name, names - {name}) for text in seen.heard("user")):
        return True

    if known is not None:
        return False

    named = re.compile(rf"\b{re.escape(name)}s?\W{{0,2}}{number}(?!\w|[.,]\d)", re.IGNORECASE)

    return any(map(named.search, seen.heard("system", "environment")))


def _says(text: str, number: int, name: str, others: Set[str]) -> bool:
    """Whether a number stands in a text, in digits or words; "no" and "none" say 0."""
    folded = text.casefold()
    word = number_word(number)

    if (
        (number == 0 and _NONE.search(text))
        or (number == 1 and _ONE.search(folded))
        or (word is not None and stands(folded, word, number=False))
    ):
        return True

    speaks_of_it = re.search(rf"\b{re.escape(name)}", text, re.IGNORECASE) is not None

    for found in re.finditer(rf"(?<![\w.,$\-/]){number}(?!\w|[.,]\d)", folded):
        before = _BEFORE.search(folded, max(0, found.start() - 30), found.start())
        after = _AFTER.match(folded, found.end())
        of_another = any(beside and stem(beside[1]) in others for beside in (before, after))
        if not of_another and (speaks_of_it or not _ITEM.match(folded, found.start())):
            return True

    return False
