"""What a lesson tells that nobody else has told: its numbers, names and rare words in whatever form
they come back.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

import msgspec

from synth.text.data_files import read
from synth.text.leaks.content import LABEL, is_advice, stems_of
from synth.text.leaks.keys import without_keys
from synth.text.leaks.spelled import MONTHS, atoms
from synth.text.paraphrase.masking import WORD, stem, words_of

_CODE = re.compile(r"(?<!\w)(?:[^\W\d_]+[-#]?\d[^\W_]*|\d+[^\W\d_][^\W_]*)(?!\w)")
_NAMED_PART = re.compile(r"\b(?:start|begin|end)\w* (?:with|in|on) [\"'“`]?(\w{2,})", re.IGNORECASE)
_ABOUT = re.compile(
    r"\b(?:about|around|roughly|some|nearly|almost|approximately|circa|over|under|below|above|close"
    r" to|little)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_DAYS = MONTHS.keys() | frozenset(
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
)
_TELLING = frozenset({"n:", "d:", "t:"})
NEAR = 0.05
"""How far a number may be off that is called an approximation."""
_LEAST_STEM = 3
_LEAST_PART, _LEAST_ELSEWHERE = 3, 4
"""Signs of a part that can tell which code it is of: a lesson has few, a check many."""


class _EverydayStems(msgspec.Struct, frozen=True):
    stems: str


@cache
def everyday() -> frozenset[str]:
    """Stems that agents use unasked."""
    return frozenset(read("data/leaks/everyday.yaml", _EverydayStems).stems.split())


@cache
def _related() -> Mapping[str, Sequence[str]]:
    """Stem -> stems near it in meaning, as an encoder has them (`data/leaks/related.txt`)."""
    text = (files("synth") / "data" / "leaks" / "related.txt").read_text(encoding="utf-8")
    return {first: others for first, *others in map(str.split, text.splitlines())}


class Facts(msgspec.Struct, frozen=True):
    """Of a text: its numbers (`spelled.atoms`), the words of names, codes; and stems near one of
    its rare ones in meaning, with those that they are near to; `words`: all stems of its facts.
    `elsewhere`: codes that something else holds which nobody was shown.
    """

    numbers: frozenset[str]
    names: frozenset[str]
    codes: frozenset[str]
    near: Mapping[str, Sequence[str]]
    words: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()

    def with_codes(self, codes: frozenset[str]) -> "Facts":
        """With codes that something else has told."""
        return msgspec.structs.replace(self, elsewhere=codes)


def folded(word: str) -> str:
    """A word without case and accents: Edelweiß, EDELWEISS -> edelweiss."""
    bare = unicodedata.normalize("NFKD", word.casefold())
    return "".join(sign for sign in bare if not unicodedata.combining(sign))


def facts_of(lesson: str) -> Facts:
    """What a lesson tells; of its advice only numbers, names and codes."""
    lesson = without_keys(lesson)
    told = [one for one in _SENTENCE.split(lesson) if not is_advice(one)]
    stems = {stem(word) for sentence in told for word in words_of(sentence)}

    rare = frozenset(one for one in stems if len(one) >= _LEAST_STEM) - everyday()
    years = {f"n:{atom[4:]}" for atom in atoms(lesson) if re.fullmatch(r"n:(?:19|20)[1-9]\d", atom)}

    near = dict[str, list[str]]()
    for one in sorted(rare):
        for other in _related().get(one, ()):
            near.setdefault(other, []).append(one)

    names, codes = frozenset(_names(lesson)), codes_of(lesson)
    return Facts(
        atoms(lesson) | years,
        names,
        codes,
        near,
        frozenset[str]().union(*map(stems_of, told)),
    )


def codes_of(text: str) -> frozenset[str]:
    """Letters and digits in one word, without what stands between them: O-9173 -> o9173."""
    return frozenset(re.sub(r"[-#]", "", one).casefold() for one in _CODE.findall(text))


def _names(text: str) -> Iterator[str]:
    """The words of names: capitals within a sentence, and no word all of capitals."""
    for sentence in _SENTENCE.split(text):
        line = LABEL.sub("", sentence, count=1)
        for found in WORD.finditer(line):
            word = found[1]
            name = word[:1].isupper() and not word.isupper() and len(word) > 2
            day = word.casefold() in _DAYS
            if name and found.start() > 0 and not day and stem(word) not in everyday():
                yield folded(word)


class Shown:
    """What everybody can know so far. Read only where a text tells something of a lesson, which is
    seldom: transcripts are long.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self.said: list[str] = []
        """What users and tools said, without what stands before every episode of its kind."""

    def show(self, text: str, *, said: bool = True) -> None:
        """Adds what the system, a user or a tool said, or the agent before it had help."""
        self._texts.append(text)
        self.said += [text] if said else []

    def told_by(self, lesson: Facts, text: str) -> str | None:
        """The first number, name or code in a text that the lesson tells and nothing else; None."""
        said = atoms(text)
        # months, places in an order and small counts come by in anything that is said
        telling = (one for one in said & lesson.numbers if one[:2] in _TELLING)
        for number in sorted(one for one in telling if f"o:{one[2:]}" not in said):
            if not self.has_number(number):
                return number

        for word in words_of(text):
            if folded(word) in lesson.names and not self._has(word):
                return word

        return self._part_of(lesson, said, text) or self._about(lesson, said, text)

    def has_stem(self, one: str) -> bool:
        """Whether a stem stands in what was shown."""
        return any(one in stems_of(text) for text in self._texts)

    def has_number(self, atom: str) -> bool:
        """Whether a number (`spelled.atoms`) was shown."""
        return any(atom in atoms(text) for text in self._texts)

    def _has(self, word: str) -> bool:
        """Whether a word was shown in any form."""
        return any(
            folded(word) == folded(one) or stem(word) == stem(one) or word == stem(one)
            for text in self._texts
            for one in words_of(text)
        )

    def _part_of(self, lesson: Facts, said: frozenset[str], text: str) -> str | None:
        """The beginning or end of a code or a long number that the lesson alone has."""
        named = {one.casefold() for one in _NAMED_PART.findall(text)}
        parts = codes_of(text) | named | {one[2:] for one in said if one.startswith("d:")}
        hidden = lesson.codes | {one[2:] for one in lesson.numbers if one.startswith("d:")}

        for part in sorted(parts):
            least = 0 if part in named else _LEAST_PART
            of = hidden if len(part) >= least else frozenset()
            of |= lesson.elsewhere if len(part) >= max(least, _LEAST_ELSEWHERE) else frozenset()
            known = any(code.startswith(part) or code.endswith(part) for code in of)
            if known and not self._spells(part):
                return part

        return None

    def _spells(self, part: str) -> bool:
        """Whether some signs stand in what was shown, within longer words too."""
        return any(part in re.sub(r"[-#]", "", text.casefold()) for text in self._texts)

    def _about(self, lesson: Facts, said: frozenset[str], text: str) -> str | None:
        """A number near one that the lesson alone has, where it is called an approximation."""
        near = [_near(number, lesson) for number in sorted(said) if number.startswith("n:")]
        if not any(near) or _ABOUT.search(text) is None:
            return None

        shown = frozenset[str]().union(*map(atoms, self._texts))
        hidden = (one for ones in near for one in ones if not {one, *said} & shown)
        return next(hidden, None)


def _near(said: str, lesson: Facts) -> list[str]:
    """The numbers of a lesson from 20 on that one comes near to."""
    value = float(said[2:])
    hidden = [
        one for one in sorted(lesson.numbers) if one.startswith("n:") and float(one[2:]) >= 20
    ]
    return [one for one in hidden if abs(float(one[2:]) - value) <= NEAR * float(one[2:])]
