"""Takes values that were found in a trajectory out of other texts that speak of it.

Such are the details of scores, skill texts, tooltips.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from synth.text.redaction.edits import Mark, without
from synth.text.redaction.findings import found_in
from synth.text.secrets.finder import Finder, Span

FoundIn = Callable[[str, Finder], Sequence[Span]]


class QuotedValues:
    """Knows values, whatever case their letters have, and what shall stand there instead.

    A `finder` looks for more, by `found`: who asks of many texts that are alike may remember what
    it says.
    """

    def __init__(
        self, values: Mapping[str, str], finder: Finder | None = None, found: FoundIn = found_in
    ) -> None:
        self._words = {value.casefold(): words for value, words in values.items()}
        longest_first = sorted(values, key=len, reverse=True)
        # without values, what no text holds
        pattern = "|".join(map(re.escape, longest_first)) or r"(?!)"
        self._pattern = re.compile(pattern, re.IGNORECASE)
        self._finder, self._found = finder, found

    def out_of(self, text: str) -> str:
        """The text without them; what was JSON still is."""
        marks = [
            Mark(*hit.span(), self._words.get(hit[0].casefold(), "[REDACTED]"))
            for hit in self._pattern.finditer(text)
        ]
        for span in () if self._finder is None else self._found(text, self._finder):
            marks.append(Mark(span.start, span.end, f"[REDACTED:{span.kind}]"))

        return without(text, marks)
