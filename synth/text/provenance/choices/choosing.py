"""Choice provenance, a heuristic: whether the entity that an agent acted on was singled out."""

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any

from synth.text.provenance.choices.description import Words, known, known_by_answers, sentences
from synth.text.provenance.dates import as_date
from synth.text.provenance.objects import Group, Objects
from synth.text.provenance.seen import Seen, stands

Chosen = tuple[int, int, str]
"""(siblings in view, candidates that nothing tells apart, why)."""
_UNDESCRIBED = "no sentence describes it"
_SUPERLATIVES_WORDS = (
    "cheapest lowest smallest shortest earliest oldest minimum highest largest biggest "
    "longest latest newest maximum"
)
_SUPERLATIVES = frozenset(_SUPERLATIVES_WORDS.split())
_RELATIONS_WORDS = "after before next previous following preceding"
_RELATIONS = frozenset(_RELATIONS_WORDS.split())


def judged(seen: Seen, identifier: str, beside: Set[str], also_taken: Set[str]) -> Chosen | None:
    """None where the value stands beside no other.

    Singled out (one candidate) is an entity that a person named by its identifier; that an answer
    about another entity of the same call (`beside`) refers to; or that fits some sentence better
    than its siblings do: the words that the sentence shares with what is known of it stand in no
    sibling's. To a sentence belongs what is known of the entity beside (the size of the item that
    is exchanged). "The cheapest" singles out an extreme, "next after the one with ..." a neighbour
    by date of the one described. `also_taken`: siblings that the same tool was called for as well,
    which are no rivals. Else the candidates are the fewest that a sentence leaves, and all siblings
    where no sentence fits.
    """
    objects, heard = seen.objects, seen.heard("user")
    groups = {
        frozenset(group): group for group in objects.groups_of.get(identifier, ()) if len(group) > 1
    }
    if not groups:
        return None

    siblings = max(map(len, groups))
    folded = identifier.casefold().removeprefix("#")
    if any(stands(text.casefold(), folded, number=folded.isdigit()) for text in heard):
        return siblings, 1, "named by a person"

    if not objects.related.get(identifier, set()).isdisjoint(beside):
        return siblings, 1, "referred to by another argument"

    fields = [_Field(objects, identifier, group, also_taken) for group in groups.values()]
    best = fields[0]

    for said in _sentences(objects, heard, beside):
        for field in fields:
            field.hear(said)

        best = min(fields, key=lambda field: field.fewest)
        if best.fewest == 1:
            break

    return siblings, best.fewest, best.why


def _sentences(
    objects: Objects, heard: Iterable[str], beside: Set[str]
) -> Iterator[Sequence[Words]]:
    """What persons said; each sentence with the most fitting of what is known of the entities
    beside, then with any of it.
    """
    described = [*dict.fromkeys(words for text in heard for words in sentences(text))]
    yield described
    about = [
        *dict.fromkeys(one for name in sorted(beside) for one in known_by_answers(objects, name))
    ]
    fullest = [
        (words, max(about, key=lambda one: len(one & words), default=Words()))
        for words in described
    ]
    yield [words | best for words, best in fullest if best & words]
    yield [words | one for words in described for one in about]


class _Field:
    """One group of siblings, and the fewest of them that what was said leaves."""

    def __init__(
        self, objects: Objects, identifier: str, group: Group, also_taken: Set[str]
    ) -> None:
        self._own = known(objects, identifier, group[identifier])
        self._rivals = {
            name: known(objects, name, entry)
            for name, entry in group.items()
            if name != identifier and name not in also_taken
        }
        self._identifier, self._group = identifier, group
        self._tried: set[Words] = set()
        self.fewest = 1 + len(self._rivals)
        self.why = _UNDESCRIBED if self._rivals else "all siblings were taken"

    def hear(self, described: Iterable[Words]) -> None:
        """Takes sentences in, until one singles the entity out."""
        for words in described:
            if self.fewest == 1:
                return

            matched = max((leaf & words for leaf in self._own), key=len, default=Words())

            if words & _SUPERLATIVES and _is_extreme(self._identifier, self._group):
                self.fewest, self.why = 1, "the extreme that was asked for"
            elif words & _RELATIONS and self._is_next_to_described(words, len(matched)):
                self.fewest, self.why = 1, "next to one that was described"
            elif matched and matched not in self._tried:
                self._tried.add(matched)
                left = 1 + sum(
                    any(matched <= leaf for leaf in one) for one in self._rivals.values()
                )
                if left < self.fewest or self.why == _UNDESCRIBED:
                    self.fewest, self.why = left, f"described as {' '.join(sorted(matched))}"

    def _is_next_to_described(self, words: Words, own: int) -> bool:
        """Whether a sibling that the sentence fits better is its neighbour."""
        return any(
            _are_adjacent(self._identifier, name, self._group)
            for name, leaves in self._rivals.items()
            if any(len(leaf & words) > own for leaf in leaves)
        )


def _column(group: Group, field: str, kind: type) -> dict[str, Any]:
    """Identifier -> value of a field, of the entities that have it."""
    return {
        name: entry[field]
        for name, entry in group.items()
        if isinstance(entry, dict) and type(entry.get(field)) is kind
    }


def _fields(group: Group, identifier: str) -> Iterator[tuple[str, Any]]:
    """The fields of an entity with their values."""
    own = group[identifier]
    return iter(own.items() if isinstance(own, dict) else ())


def _are_adjacent(identifier: str, other: str, group: Group) -> bool:
    """Whether two entities follow each other by one of their dates."""
    for field, value in _fields(group, identifier):
        if as_date(value) is not None:
            dates = _column(group, field, str)
            days = sorted({*dates.values()})
            if other in dates and abs(days.index(value) - days.index(dates[other])) == 1:
                return True

    return False


def _is_extreme(identifier: str, group: Group) -> bool:
    """Whether an entity alone has the least or greatest of its numbers, dates and times."""
    for field, value in _fields(group, identifier):
        kind = type(value)
        is_time = kind is str and (":" in value or "-" in value)

        if kind in (int, float) or is_time:
            others = [
                one for name, one in _column(group, field, kind).items() if name != identifier
            ]
            if others and not min(others) <= value <= max(others):
                return True

    return False
