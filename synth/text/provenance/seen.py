"""What the agent had seen so far, piece by piece, and where a value stands in it first.

Texts are searched, not tokenised: an episode has thousands of tokens and some dozen arguments, and
`str.find` reads a gigabyte per second.
"""

from dataclasses import dataclass, field
from functools import lru_cache

from synth.schemas.check import Scalar
from synth.text.provenance.forms import loosely, number_word, respelled, written
from synth.text.provenance.report import Sighting

_WITHIN_NUMBERS = frozenset("./:")


@dataclass(frozen=True, slots=True)
class Piece:
    """One text that the agent was shown; `error` marks those that may only echo what the agent
    wrote itself.
    """

    turn: int | None
    source: str
    content: str
    folded: str
    error: bool = False


@lru_cache(maxsize=256)
def _folded_once(text: str) -> str:
    return text.casefold()


@dataclass(slots=True)
class Seen:
    """Pieces in the order in which they came, and what the agent itself had written in its
    calls.
    """

    pieces: list[Piece] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    _found: dict[tuple[Scalar, str], Sighting] = field(default_factory=dict)
    _searched: dict[tuple[Scalar, str], int] = field(default_factory=dict)

    def show(self, turn: int | None, source: str, content: str, *, error: bool = False) -> None:
        """Adds a text; system prompts are folded once for all trajectories that share them."""
        folded = _folded_once(content) if source == "system" else content.casefold()
        self.pieces.append(Piece(turn, source, content, folded, error))

    def wrote(self, arguments: str) -> None:
        """Adds the agent's own arguments: an error that repeats them shows nothing."""
        self.written.append(arguments.casefold())

    def first(self, value: Scalar) -> Sighting | None:
        """Where the value itself stands first, to the letter but for case, white space and the way
        numbers are written.
        """
        key = (value, type(value).__name__)
        if key in self._found:
            return self._found[key]
        start = self._searched.get(key, 0)
        self._searched[key] = len(self.pieces)
        needles = written(value, type(value).__name__)
        for piece in self.pieces[start:]:
            if any(
                stands(piece.folded, text, number=number)
                and self._counts(piece, text, number=number)
                for text, number in needles
            ):
                self._found[key] = Sighting(piece.turn, piece.source)
                return self._found[key]
        return None

    def first_respelled(self, value: Scalar) -> Sighting | None:
        """Where it stands in another spelling: synonyms, separators, all of its words in one text,
        number words.
        """
        if not isinstance(value, str):
            word = number_word(value)
            return self._first_of((word,)) if word is not None else None
        found = self._first_of(respelled(value))
        if found is None and (pattern := loosely(value)) is not None:
            for piece in self.pieces:
                if (match := pattern.search(piece.folded)) is not None and self._counts(
                    piece, match[0]
                ):
                    return Sighting(piece.turn, piece.source, "separators")
        words = value.casefold().replace(",", " ").split()
        if found is None and len(words) > 1:
            for piece in self.pieces:
                if all(
                    stands(piece.folded, word, number=word.isdigit()) and self._counts(piece, word)
                    for word in words
                ):
                    return Sighting(piece.turn, piece.source, "its words")
        return found

    def _first_of(self, texts: tuple[str, ...]) -> Sighting | None:
        for piece in self.pieces:
            for text in texts:
                if stands(piece.folded, text, number=False) and self._counts(piece, text):
                    return Sighting(piece.turn, piece.source, "spelling")
        return None

    def _counts(self, piece: Piece, text: str, *, number: bool = False) -> bool:
        """An error counts for what the agent had not written itself."""
        return not piece.error or not any(
            stands(arguments, text, number=number) for arguments in self.written
        )


def stands(folded: str, text: str, *, number: bool) -> bool:
    """Whether a text stands in another by itself: not within a longer word, number, date,
    identifier or email address.
    """
    at = folded.find(text)
    while at >= 0:
        if _alone(folded, at, at + len(text), number):
            return True
        at = folded.find(text, at + 1)
    return False


def _alone(folded: str, start: int, end: int, number: bool) -> bool:
    before, after = folded[start - 1 : start], folded[end : end + 1]
    if (before.isalnum() or before == "_") and folded[start].isalnum():
        return _after_escape(folded, start)
    if (after.isalnum() or after == "_") and folded[end - 1].isalnum():
        return False
    if before == "@" or after == "@":
        return False
    beyond_before, beyond_after = folded[start - 2 : start - 1], folded[end + 1 : end + 2]
    if before == "-" and beyond_before.isalnum() and (number or _has_digit(folded[start:end])):
        return False
    if (
        after == "-"
        and beyond_after.isalnum()
        and (beyond_after.isdigit() if number else _has_digit(folded[start:end]))
    ):
        return False
    if not number:
        return True
    return not (
        (before in _WITHIN_NUMBERS and beyond_before.isdigit())
        or (after in _WITHIN_NUMBERS and beyond_after.isdigit())
    )


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _after_escape(folded: str, start: int) -> bool:
    r"""Whether what stands before is the n or t of an escaped line break in JSON text (`\n42`)."""
    return folded[start - 1] in "nt" and folded[start - 2 : start - 1] == "\\"
