"""How a value follows from what was seen, by a computation that its kind allows."""

from synth.text.provenance.arguments import Argument
from synth.text.provenance.dates import as_date, computed_date, days_between
from synth.text.provenance.quantities import QUANTITY_KEYS, computed, may_be_computed, quantities
from synth.text.provenance.seen import Seen


def computation(argument: Argument, seen: Seen) -> str | None:
    """The computation in words: of a list its parts, of a date, of a number; None where none is."""
    value = argument.value
    if value == 1 and argument.name.lower() in QUANTITY_KEYS:
        return "one, since no other number was said"

    day = as_date(value)

    if day is None and isinstance(value, str):
        return "list" if _is_list(value, seen) else None

    prose = [piece.folded for piece in seen.pieces if not piece.source.startswith("tool:")]
    documents = seen.objects.documents
    if day is not None:
        return computed_date(day, seen.shown, quantities(documents, prose).counts)

    if not isinstance(value, int | float) or not may_be_computed(argument.name):
        return None

    words = [text for text in seen.shown if text[:1] not in ("{", "[")]
    known = quantities(documents, [*prose, *words])
    how = computed(value, argument.name, known, one_of_several="[" in argument.path)
    if how is None and isinstance(value, int) and days_between(value, seen.shown):
        return "days between"

    return how


def _is_list(value: str, seen: Seen) -> bool:
    """Whether a text has several parts between commas, all of which were seen."""
    parts = [part.strip() for part in value.split(",")]
    return len(parts) > 1 and all(part and seen.first(part) for part in parts)
