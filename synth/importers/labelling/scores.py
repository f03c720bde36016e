"""Scores that the sources hold, as verdicts: one whose name says a verdict, and whose values over
the whole import are all yes or no, is what the source declares. All others stay scores, also one
with a name that anything may have (`label`), unless it says the verdict in words.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

import msgspec
from msgspec.structs import replace

from synth.importers.chats.words import GENERAL, VERDICTS
from synth.importers.records import Imported, ImportedLabel, ImportSettings, first_inside
from synth.importers.verdicts import is_verdict_word, verdict
from synth.schemas import Outcome, settle

DECLARED = "verdict_of_score"
"""Metric of the rows that say which score a verdict came from."""
PREFIX = "scores."
"""How `--column success=` names a score."""
_OPEN = (Outcome.UNKNOWN, Outcome.TRUNCATED)


class ScoreSeen(msgspec.Struct):
    """A score over the import: how many trajectories have it, whether all its values are yes or no,
    and whether the source says so in words (`pass`, `incorrect`) each time.
    """

    trajectories: int = 0
    binary: bool = True
    in_words: bool = True


class ScoreVerdicts:
    """Which score is the verdict, decided when the first one is met: `entries` reads the sources
    once more, unless the user has said which it is.
    """

    def __init__(self, entries: Callable[[], Iterable[Any]], settings: ImportSettings) -> None:
        self._entries = entries
        self._settings = settings
        stated = settings.columns.get("success", "")
        self._stated = stated.removeprefix(PREFIX) if stated.startswith(PREFIX) else None
        self.met: Counter[str] = Counter()
        """Trajectories by the scores that were met."""

    @cached_property
    def seen(self) -> dict[str, ScoreSeen]:
        """Every score of the sources."""
        found: dict[str, ScoreSeen] = {}
        for entry in self._entries():
            if isinstance(entry, Imported):
                for name, marks in _scores(entry).items():
                    one = found.setdefault(name, ScoreSeen())
                    one.trajectories += 1
                    one.binary = one.binary and all(map(_is_binary, marks))
                    one.in_words = one.in_words and all(_worded(mark) for mark in marks)
        return found

    @cached_property
    def chosen(self) -> str | None:
        """The score that is the verdict; None where none is."""
        if "success" in self._settings.columns:
            return self._stated
        binary = [name for name, one in self.seen.items() if one.binary]
        sure = [one for one in binary if _spelt(one) not in GENERAL or self.seen[one].in_words]
        named = [name for word in VERDICTS for name in sure if _spelt(name) == word]
        alone = len(self.seen) == 1 and binary and self.seen[binary[0]].in_words
        return next(iter(named), binary[0] if alone else None)

    def on(self, entry: Imported) -> Imported:
        """The attempt with the verdict that its score says, where it has none of its own."""
        scores = _scores(entry)
        if not scores:
            return entry
        self.met.update(scores.keys())
        marks = scores.get(self.chosen or "", [])
        before = entry.trajectory
        if not marks or before.outcome not in _OPEN or before.fault is not None:
            return entry

        last = marks[-1]  # of several traces of one conversation, the last one's
        passed = _said(last) if _is_binary(last) else self._settings.passed(last.value)
        if passed is None:
            return entry
        told = ImportedLabel(DECLARED, float(passed), None, {"score": last.metric})
        outcome = settle(before.termination, passed, None)
        return replace(
            entry,
            trajectory=replace(before, outcome=outcome),
            marks=(*entry.marks, told),
        )

    def notes(self) -> Iterator[str]:
        """What a person must know of the scores that were met."""
        if not self.met:
            return
        if self.chosen is not None and self.met[self.chosen]:
            number = self.met[self.chosen]
            yield (
                f"verdict  score {self.chosen!r} ({number:,} trajectories); "
                "--column success=- leaves it a score"
            )
        elif self._stated is not None:
            known = ", ".join(map(repr, self.met))
            yield f"verdict  no trajectory has the score {self._stated!r}; there are {known}"
        if "success" in self._settings.columns:
            return
        for name, one in self.seen.items():
            alike = self.chosen is None or _spelt(name) in VERDICTS
            if one.binary and alike and name != self.chosen:
                yield (
                    f"verdict  score {name!r} ({one.trajectories:,} trajectories, all yes or no) "
                    f"could be one: --column success={PREFIX}{name}"
                )


def _scores(entry: Imported) -> dict[str, list[ImportedLabel]]:
    """The scores of the whole, by what the source calls them."""
    found: dict[str, list[ImportedLabel]] = {}
    for mark in entry.marks:
        if mark.score is not None:
            found.setdefault(mark.score, []).append(mark)
    return found


def _spelt(name: str) -> str:
    """A name as our words are written: `isResolved`, `Is resolved` -> `is_resolved`."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", parted.lower()).strip("_")


def _words(mark: ImportedLabel) -> str | None:
    found: str | None = first_inside(mark.detail, ("label", "stringValue"), str)
    return found


def _worded(mark: ImportedLabel) -> bool:
    return is_verdict_word(_words(mark))


def _said(mark: ImportedLabel) -> bool | None:
    """What a score says. Raises `ValueError` where it is neither yes nor no, or contradicts its own
    words.
    """
    words = _words(mark)
    told = None if words is None else verdict(words)
    counted = verdict(mark.value)
    if None not in (told, counted) and told != counted:
        raise ValueError(f"{mark.value} is not {words}")
    return counted if told is None else told


def _is_binary(mark: ImportedLabel) -> bool:
    try:
        return _said(mark) is not None
    except ValueError:
        return False
