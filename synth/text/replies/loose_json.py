"""JSON as models write it: a comma at the end, single quotes, Python's words, comments, bare keys,
line breaks in texts, a brace that is missing at the very end, punctuation in full width (：，｛｝).

Each has one meaning only; what has two raises. A sign in full width may be JSON's or a text's: of
both readings that one counts which leaves fewer quotes within texts. json-repair was weighed and
not taken: it makes something of any text (words become an empty text, a text that is cut off a
whole one), so that a reply that says nothing could not be told from an answer.
"""

import json
import re
from typing import Any

_SPACE = re.compile(r"(?:\s+|//[^\n]*|#[^\n]*|/\*.*?\*/)+", re.DOTALL)
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
_WORD = re.compile(r"[A-Za-z_][\w\-]*")
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "「": "」", "『": "』", "＂": "＂"}
_LATIN = {sign: sign for sign in "{}[]:,"}
_WIDE = {"{": "{｛", "}": "}｝", "[": "[［", "]": "]］", ":": ":：", ",": ",，、"}
"""Each sign of JSON -> all that are read as it."""
_CLOSES, _CLOSES_WIDE = (
    re.compile(rf"\s*(?:[{re.escape(signs)}]|\Z|\n|//|#)") for signs in (",:}]", ",:}]，：｝］、")
)
"""What stands behind a quote that ends a text; behind any other one the text goes on."""
_HAS_WIDE = re.compile("[｛［：，、]")
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
DEEPEST = 60


class LooseJSONError(ValueError):
    """A text is no JSON, however loosely it is read; `position` is where it stops to be."""

    def __init__(self, what: str, position: int) -> None:
        super().__init__(f"{what} at character {position}")
        self.position = position


def loose_json(text: str, begin: int = 0) -> tuple[Any, int]:
    """The value that begins there, and where it ends. Raises `LooseJSONError`."""
    readers = [_Reader(text, wide=False)]
    if _HAS_WIDE.search(text, begin) is not None:
        readers.append(_Reader(text, wide=True))

    found, why = list[tuple[int, tuple[Any, int]]](), list[LooseJSONError]()
    for reader in readers:
        try:
            read = reader.value(reader.past_space(begin), 0)
        except LooseJSONError as error:
            why.append(error)
        else:
            found.append((reader.quotes_within, read))

    if not found:
        raise why[0]
    fewest = min(quotes for quotes, _ in found)
    best = [read for quotes, read in found if quotes == fewest]
    if best[0] != best[-1]:
        raise LooseJSONError("two readings", begin)

    return best[0]


class _Reader:
    """Reads one text, from left to right."""

    def __init__(self, text: str, *, wide: bool) -> None:
        self.text = text
        self.quotes_within = 0
        self._signs = _WIDE if wide else _LATIN
        self._closes = _CLOSES_WIDE if wide else _CLOSES

    def _stands(self, sign: str, position: int) -> bool:
        """Whether a sign of JSON stands there."""
        return self.text.startswith(tuple(self._signs[sign]), position)

    def past_space(self, position: int) -> int:
        """Where the text goes on after white space and comments."""
        space = _SPACE.match(self.text, position)
        return position if space is None else space.end()

    def value(self, position: int, depth: int) -> tuple[Any, int]:
        """Any value, and where it ends."""
        sign = self.text[position : position + 1]
        if depth > DEEPEST:
            raise LooseJSONError("too many brackets in each other", position)
        if self._stands("{", position):
            return self._object(position, depth)
        if self._stands("[", position):
            return self._list(position, depth)
        if sign in _QUOTES:
            return self._string(position)
        return self._scalar(position)

    def _scalar(self, position: int) -> tuple[Any, int]:
        number = _NUMBER.match(self.text, position)
        if number is not None:
            written = number[0].removeprefix("+")
            whole = written.lstrip("-").isdigit()
            return (int(written) if whole else float(written)), number.end()

        word = _WORD.match(self.text, position)
        if word is None or word[0].lower() not in _WORDS:
            raise LooseJSONError("no value", position)
        return _WORDS[word[0].lower()], word.end()

    def _object(self, position: int, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        more = False
        position = self.past_space(position + 1)
        while not self._stands("}", position):
            if position >= len(self.text) and found and not depth and not more:
                return found, position  # the last brace is missing, and nothing else
            key, position = self._key(position)
            if key in found:
                raise LooseJSONError(f"the key {key[:40]!r} stands twice", position)
            found[key], ends = self.value(position, depth + 1)
            position = self._next(ends, "}")
            more = any(sign in self.text[ends:position] for sign in self._signs[","])
        return found, position + 1

    def _key(self, position: int) -> tuple[str, int]:
        """A key with its colon, and where its value begins."""
        word = _WORD.match(self.text, position)
        if word is not None:
            key, position = word[0], word.end()
        elif self.text[position : position + 1] in _QUOTES:
            key, position = self._string(position)
        else:
            raise LooseJSONError("no key", position)

        position = self.past_space(position)
        if not self._stands(":", position):
            raise LooseJSONError("no colon behind a key", position)
        return key, self.past_space(position + 1)

    def _list(self, position: int, depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        position = self.past_space(position + 1)
        while not self._stands("]", position):
            one, position = self.value(position, depth + 1)
            found.append(one)
            position = self._next(position, "]")
        return found, position + 1

    def _next(self, position: int, closing: str) -> int:
        """Where the next member begins, or the bracket closes: behind a comma, or in a new line."""
        after = self.past_space(position)
        if self._stands(",", after):
            return self.past_space(after + 1)
        in_new_line = "\n" in self.text[position:after]
        if self._stands(closing, after) or after >= len(self.text) or in_new_line:
            return after
        raise LooseJSONError("no comma between two values", after)

    def _string(self, begin: int) -> tuple[str, int]:
        """A text between quotes; one that stands in it ends it only where a text can end."""
        closing, parts, position = _QUOTES[self.text[begin]], list[str](), begin + 1
        while position < len(self.text):
            sign = self.text[position]
            if sign == "\\":
                escape = _ESCAPE.match(self.text, position)
                if escape is None:
                    break
                parts.append(_meant(escape[0]))
                position = escape.end()
            elif sign == closing and self._closes.match(self.text, position + 1):
                return "".join(parts), position + 1
            else:
                self.quotes_within += sign == closing
                parts.append(sign)
                position += 1
        raise LooseJSONError("a text that is not closed", begin)


def _meant(escape: str) -> str:
    """What an escape stands for; one that JSON does not have stands for its own sign."""
    try:
        return str(json.loads(f'"{escape}"'))
    except ValueError:
        return escape[1:]
