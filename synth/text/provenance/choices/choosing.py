"""Choice provenance, a heuristic: of several entities side by side, was the one that the agent
acted on singled out?
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field

from synth.text.provenance.choices.description import Words, known, sentences
from synth.text.provenance.dates import as_date
from synth.text.provenance.objects import Group, Objects
from synth.text.provenance.seen import stands

Judged = tuple[int, int, str]
"""(siblings in view, candidates that nothing tells apart, why)."""
_NOTHING: Words = frozenset()
_UNDESCRIBED = "no sentence describes it"
_SUPERLATIVE_WORDS = (
    "cheapest lowest smallest shortest earliest oldest minimum highest largest biggest "
    "longest latest newest maximum"
)
_SUPERLATIVES = frozenset(_SUPERLATIVE_WORDS.split())
_RELATIONS = frozenset({"after", "before", "next", "previous", "following", "preceding"})


def judged(
    objects: Objects, heard: Sequence[str], identifier: str, beside: Set[str], also_taken: Set[str]
) -> Judged | None:
    """None where the value stands beside no other.

    Singled out (one candidate) is an entity that a person named by its identifier; that an answer
    about another entity of the same
    call (`beside`) refers to; or that fits some sentence better than its siblings do: the words
    that the sentence shares with what is
    known of it stand in no sibling's. To a sentence belongs what is known of the entity beside (the
    size of the item that is
    exchanged). "The cheapest" singles out an extreme, "next after the one with ..." a neighbour by
    date of the one described.
    `also_taken`: siblings that the same tool was called for as well, which are no rivals. Else the
    candidates are the fewest that a
    sentence leaves, and all siblings where no sentence fits.
    """
    groups = {
        frozenset(group): group for group in objects.groups_of.get(identifier, ()) if len(group) > 1
    }
    if not groups:
        return None
    siblings = max(map(len, groups))
    folded = identifier.casefold().removeprefix("#")
    if any(stands(text.casefold(), folded, number=folded.isdigit()) for text in heard):
        return siblings, 1, "named by a person"
    if objects.related.get(identifier, _NOTHING) & beside:
        return siblings, 1, "referred to by another argument"
    fields = [_Field(objects, identifier, group, also_taken) for group in groups.values()]
    described = list(dict.fromkeys(words for text in heard for words in sentences(text)))
    best = _heard(fields, described)
    if best.fewest > 1:
        about = list(
            dict.fromkeys(
                leaf
                for name in sorted(beside)
                if name in objects.described
                for leaf in known(objects, name, {})
            )
        )
        best = _heard(fields, _with_fullest(described, about))
        if best.fewest > 1:
            best = _heard(fields, (words | leaf for words in described for leaf in about))
    return siblings, best.fewest, best.why


def _heard(fields: Sequence["_Field"], described: Iterable[Words]) -> "_Field":
    """The group in which these sentences leave the fewest."""
    kept = list(described)
    for choice in fields:
        choice.hear(kept)
    return min(fields, key=lambda choice: choice.fewest)


def _with_fullest(described: Sequence[Words], about: Sequence[Words]) -> list[Words]:
    """Sentences, each with the one of these objects that shares most words with it."""
    fullest = (
        (words, max(about, key=lambda leaf: len(leaf & words), default=_NOTHING))
        for words in described
    )
    return [words | best for words, best in fullest if best & words]


@dataclass(slots=True)
class _Field:
    """One group of siblings, and the fewest of them that what was said leaves."""

    objects: Objects
    identifier: str
    group: Group
    also_taken: Set[str]
    rivals: list[str] = field(init=False)
    fewest: int = field(init=False)
    why: str = field(init=False)
    _facts: dict[str, list[Words]] = field(default_factory=dict)
    _tried: set[Words] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.rivals = [
            name for name in self.group if name != self.identifier and name not in self.also_taken
        ]
        self.fewest = 1 + len(self.rivals)
        self.why = _UNDESCRIBED if self.rivals else "all siblings were taken"

    def hear(self, described: Iterable[Words]) -> None:
        """Takes sentences in, until one singles the entity out."""
        own = self._known(self.identifier)
        for words in described:
            if self.fewest == 1:
                return
            matched = max((leaf & words for leaf in own), key=len, default=_NOTHING)
            if words & _SUPERLATIVES and _extreme(self.identifier, self.group):
                self.fewest, self.why = 1, "the extreme that was asked for"
            elif words & _RELATIONS and self._next_to_described(words, len(matched)):
                self.fewest, self.why = 1, "next to one that was described"
            elif matched and matched not in self._tried:
                self._tried.add(matched)
                fitting = sum(
                    any(matched <= leaf for leaf in self._known(name)) for name in self.rivals
                )
                if 1 + fitting < self.fewest or self.why == _UNDESCRIBED:
                    self.fewest, self.why = 1 + fitting, f"described as {' '.join(sorted(matched))}"

    def _known(self, name: str) -> list[Words]:
        if name not in self._facts:
            self._facts[name] = known(self.objects, name, self.group[name])
        return self._facts[name]

    def _next_to_described(self, words: Words, own: int) -> bool:
        """Whether a sibling that the sentence fits better is its neighbour."""
        better = (
            name
            for name in self.rivals
            if any(len(leaf & words) > own for leaf in self._known(name))
        )
        return any(_adjacent(self.identifier, name, self.group) for name in better)


def _adjacent(identifier: str, other: str, group: Group) -> bool:
    """Whether two entities follow each other by one of their dates."""
    own = group[identifier]
    for name, value in own.items() if isinstance(own, dict) else ():
        if as_date(value) is not None:
            days = sorted(
                {
                    entry[name]
                    for entry in group.values()
                    if isinstance(entry, dict) and isinstance(entry.get(name), str)
                }
            )
            day = group[other].get(name) if isinstance(group[other], dict) else None
            if day in days and abs(days.index(value) - days.index(day)) == 1:
                return True
    return False


def _extreme(identifier: str, group: Group) -> bool:
    """Whether an entity alone has the least or greatest value of one of its numbers, or of its
    dates and times.
    """
    own = group[identifier]
    for name, value in own.items() if isinstance(own, dict) else ():
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float | str)
            or (isinstance(value, str) and ":" not in value and "-" not in value)
        ):
            continue
        others = [
            entry[name]
            for key, entry in group.items()
            if key != identifier
            and isinstance(entry, dict)
            and type(entry.get(name)) is type(value)
        ]
        if others and not min(others) <= value <= max(others):
            return True
    return False
