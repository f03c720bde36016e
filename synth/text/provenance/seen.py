"""What the agent had seen so far, piece by piece, and where a value stands in it first.

Texts are searched, not tokenised: an episode has thousands of tokens and some dozen arguments, and
`str.find` reads a gigabyte per second.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from synth.schemas import Scalar
from synth.text.provenance.forms import loosely, number_word, respelled, written
from synth.text.provenance.objects import Objects
from synth.text.provenance.report import Sighting

_TOUCHED = {
    "word": (re.compile(r"@\Z"), re.compile(r"@")),
    "code": (re.compile(r"(?:@|[^\W_]-)\Z"), re.compile(r"@|-[^\W_]")),
    "number": (re.compile(r"(?:@|[^\W_]-|\d[./:])\Z"), re.compile(r"@|-\d|[./:]\d")),
}
"""What makes a text a part of something longer: an address, an identifier, a date, a number."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One text that the agent was shown; `asked` are the arguments of the call that it answers.

    `error` marks texts that may only echo what the agent wrote itself.
    """

    turn: int | None
    source: str
    content: str
    folded: str
    error: bool = False
    asked: str = ""
    written: int = 0
    """How many calls the agent had made by then."""


_folded_once = lru_cache(maxsize=256)(str.casefold)


class Seen:
    """Pieces in the order in which they came, and what the agent had written in its calls."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.written: list[str] = []
        self._found: dict[tuple[Scalar, str], Sighting] = {}
        self._searched: dict[tuple[Scalar, str], int] = {}
        self._objects, self._read = Objects(), 0

    def show(
        self,
        turn: int | None,
        source: str,
        content: str,
        *,
        error: bool = False,
        asked: str = "",
    ) -> None:
        """Adds a text; system prompts are folded once for all trajectories that share them."""
        folded = _folded_once(content) if source == "system" else content.casefold()
        self.pieces.append(Piece(turn, source, content, folded, error, asked, len(self.written)))

    def wrote(self, arguments: str) -> None:
        """Adds the agent's own arguments: an error that repeats them shows nothing."""
        self.written.append(arguments.casefold())

    @property
    def objects(self) -> Objects:
        """The answers of tools, read as JSON when somebody asks for them."""
        for piece in self.pieces[self._read :]:
            if piece.source.startswith("tool:") and not piece.error:
                self._objects.read(piece.content, piece.asked)

        self._read = len(self.pieces)

        return self._objects

    @property
    def shown(self) -> list[str]:
        """The folded texts that are no errors."""
        return [piece.folded for piece in self.pieces if not piece.error]

    def heard(self, *sources: str) -> list[str]:
        """The texts of some sources."""
        return [piece.content for piece in self.pieces if piece.source in sources]

    def first(self, value: Scalar) -> Sighting | None:
        """Where the value itself stands first, to the letter.

        Case, white space and the way numbers are written do not count.
        """
        key = (value, type(value).__name__)

        if key not in self._found:
            # the pieces before were searched when the value was last asked for
            pieces = self.pieces[self._searched.get(key, 0) :]
            self._searched[key] = len(self.pieces)
            found = self._first_of(written(*key), pieces)
            if found is None:
                return None

            self._found[key] = Sighting(found.turn, found.source)

        return self._found[key]

    def first_respelled(self, value: Scalar) -> Sighting | None:
        """Where it stands in another spelling.

        That is with synonyms, with other separators, as a number word, or with all of its words in
        one text.
        """
        text = value if isinstance(value, str) else ""
        word = number_word(value)
        spellings = respelled(text) if text else (word,) if word is not None else ()
        found = self._first_of([(one, False) for one in spellings], self.pieces)
        if found is not None:
            return Sighting(found.turn, found.source, "spelling")

        pattern = loosely(text)

        for piece in self.pieces:
            match = None if pattern is None else pattern.search(piece.folded)
            if match is not None and self._counts(piece, match[0], number=False):
                return Sighting(piece.turn, piece.source, "separators")

        words = [(one, one.isdigit()) for one in text.casefold().replace(",", " ").split()]

        for piece in self.pieces if len(words) > 1 else ():
            if all(self._stands_in(piece, *one) for one in words):
                return Sighting(piece.turn, piece.source, "its words")

        return None

    def _first_of(self, texts: Iterable[tuple[str, bool]], pieces: Iterable[Piece]) -> Piece | None:
        """The first piece in which one of the texts stands."""
        found = (piece for piece in pieces if any(self._stands_in(piece, *text) for text in texts))
        return next(found, None)

    def _stands_in(self, piece: Piece, text: str, number: bool) -> bool:
        """Whether a piece shows a text, and did not only repeat the agent."""
        found = stands(piece.folded, text, number=number)
        return found and self._counts(piece, text, number=number)

    def _counts(self, piece: Piece, text: str, *, number: bool) -> bool:
        """Whether a piece is no error, or one that says what the agent had not written itself."""
        before = self.written[: piece.written]
        echoed = (stands(arguments, text, number=number) for arguments in before)
        return not piece.error or not any(echoed)


def stands(folded: str, text: str, *, number: bool) -> bool:
    """Whether a text stands in another by itself.

    That is not within a longer word, number, date, identifier or email address.
    """
    at = folded.find(text)
    while at >= 0 and not _alone(folded, at, at + len(text), number):
        at = folded.find(text, at + 1)

    return at >= 0


def _alone(folded: str, start: int, end: int, number: bool) -> bool:
    """Whether nothing beside a found text makes it a part of something longer."""
    before, after = folded[max(0, start - 2) : start], folded[end : end + 2]
    if _is_letter(before[-1:]) and folded[start].isalnum():
        return before in ("\\n", "\\t")  # a line break as JSON escapes it

    if _is_letter(after[:1]) and folded[end - 1].isalnum():
        return False

    has_digit = any(map(str.isdigit, folded[start:end]))
    left, right = _TOUCHED["number" if number else "code" if has_digit else "word"]

    return left.search(before) is None and right.match(after) is None


def _is_letter(sign: str) -> bool:
    """Whether a sign continues a word."""
    return sign.isalnum() or sign == "_"
