"""The texts of a chunk, each once; long ones by their beginning and their end."""

from typing import Any

TAIL_SHARE = 4
"""A quarter of what is left of a long text is its end: that is where errors stand."""


class Texts:
    """Texts by number. One longer than `longest` characters is [beginning, how many characters are
    left out, end].
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._numbers: dict[str, int] = {}
        self.packed: list[str | list[Any]] = []
        self.cut = 0

    def number(self, text: str | None) -> int | None:
        """The text's number, None of None."""
        if text is None:
            return None

        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.packed)
            self.packed.append(text if len(text) <= self._longest else self._shortened(text))

        return number

    def _shortened(self, text: str) -> list[Any]:
        self.cut += 1

        # errors stand at the end
        tail = self._longest // TAIL_SHARE
        return [text[: self._longest - tail], len(text) - self._longest, text[len(text) - tail :]]
