"""Where the values that an agent says come from: ids, codes, dates, amounts and large numbers that
nothing had shown are inventions.
"""

import re
from collections.abc import Iterator
from functools import cached_property

from synth.envs.storefront.check.episode_view import EpisodeView
from synth.envs.storefront.tools.schemas import rule_texts
from synth.envs.storefront.tools.transcript import leaves

_DATE = r"\d{4}-\d\d-\d\d"
_VALUE = re.compile(
    rf"\b{_DATE}\b|\b[A-Z]{{1,2}}-\d+(?:\.\d+)*\b|\b[A-Z]{{3,}}\d+\b"
    r"|(?<![\w.-])\d[\d,]*(?:\.\d+)?\b"
)
_SMALL = 100
"""Numbers below it are said of days, hours and counts."""


class ShownValues:
    """The values that an episode has shown, turn by turn."""

    def __init__(self, view: EpisodeView) -> None:
        self._view = view

    def invented(self, words: str, turn: int) -> Iterator[str]:
        """Yields the values in words that nothing had shown up to a turn."""
        for value in dict.fromkeys(_values(words)):
            if self._first.get(value, turn + 1) > turn:
                yield value

    @cached_property
    def _first(self) -> dict[str, int]:
        """The first turn in which a value was shown, -1 for what was there before."""
        view = self._view
        rules = " ".join(rule_texts(view.base.rules).values())
        known = f"{view.opening} {rules} {view.base.rules.today}"
        first = dict.fromkeys(_values(known, every=True), -1)

        for event in view.events:
            shown = [event.text] if event.kind in ("heard", "failed") else []

            if event.kind == "call":
                shown += [str(leaf) for leaf in leaves(event.result)]
                shown += [str(leaf) for leaf in leaves(event.arguments.get("arguments", {}))]

            for value in _values(" ".join(shown), every=True):
                first.setdefault(value, event.turn)

        return first


def _values(text: str, *, every: bool = False) -> Iterator[str]:
    """The values of a text that need a source, or all that can be one; numbers in one form."""
    for found in _VALUE.findall(text):
        if every and re.fullmatch(_DATE, found):
            # "June 4, 2026" is shown by 2026-06-04
            yield found[:4]
        if not found[0].isdigit() or "-" in found:
            yield found
            continue

        number = float(found.replace(",", ""))

        if every or number >= _SMALL or "." in found:
            yield f"{number:g}"
