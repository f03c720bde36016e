"""Values that were found in a trajectory, taken out of other texts that speak of it: details of
scores, skill texts, tooltips.
"""

import re
from collections.abc import Mapping

from synth.text.redaction.edits import Mark, without
from synth.text.redaction.findings import found_in
from synth.text.secrets.finder import Finder


class QuotedValues:
    """Knows values with what shall stand there instead, whatever case their letters have; a
    `finder` looks for more.
    """

    def __init__(self, values: Mapping[str, str], finder: Finder | None = None) -> None:
        self._words = {value.casefold(): words for value, words in values.items()}
        longest_first = sorted(values, key=len, reverse=True)
        self._pattern = (
            re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE) if values else None
        )
        self._finder = finder

    def out_of(self, text: str) -> str:
        """The text without them; what was JSON still is."""
        marks = [
            Mark(*hit.span(), self._words.get(hit[0].casefold(), "[REDACTED]"))
            for hit in self._hits(text)
        ]
        if self._finder is not None:
            marks += [
                Mark(span.start, span.end, f"[REDACTED:{span.kind}]")
                for span in found_in(text, self._finder)
            ]
        return without(text, marks) if marks else text

    def _hits(self, text: str) -> "list[re.Match[str]]":
        return [] if self._pattern is None else list(self._pattern.finditer(text))
