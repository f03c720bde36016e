"""How likely it is by its form and words that a sentence tells what a lesson alone had told.

Kinds of words say whether it plans, asks, supposes or asserts (`data/leaks/telling_kinds.yaml`);
what of it the lesson has, what was shown, and what neither, say of what. Weights were fitted to
turns by several authors and to sentences of real agents under lessons of other tasks.
"""

import re
from collections.abc import Iterator

from synth.text.leaks.content import EMPTY, kinds_of_form, stems_of
from synth.text.leaks.facts import Facts, Shown, everyday
from synth.text.leaks.spelled import atoms
from synth.text.word_signs import odds_by

_WORD = re.compile(r"[^\W\d_]*['’]?[^\W\d_]+")


FROM = 0.6
"""Log odds from which a sentence is suspected: of an author whom the fit has not seen about .45 to
.8 of the secrets reach it, and .06 to .15 of the harmless turns.
"""
_OF_LESSON = ("told>", "near>", "shared>", "number:")
_TOGETHER = (
    ("self", "look"),
    ("self", "plan"),
    ("self", "unsure"),
    ("self", "modal"),
    ("you", "look"),
    ("you", "modal"),
    ("third", "future"),
    ("be", "negation"),
    ("condition", "modal"),
    ("manners", "self"),
)


def telling_signs(sentence: str, lesson: Facts, shown: Shown) -> frozenset[str]:
    """What is seen in a sentence, by name."""
    return frozenset((*_of_form(sentence), *_of_words(sentence, lesson, shown)))


def _of_form(sentence: str) -> Iterator[str]:
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(sentence)]
    seen = [kinds_of_form().get(word, frozenset[str]()) - {EMPTY} for word in words]
    yield from (f"begins:{kind}" for kind in (seen[0] if seen else ()))

    kinds = frozenset[str]().union(*seen)
    yield from kinds
    yield from (f"{one}&{other}" for one, other in _TOGETHER if kinds >= {one, other})

    if "?" in sentence:
        yield "asks"
    yield from (f"words>{least}" for least in (8, 14, 20) if len(words) > least)


def _of_words(sentence: str, lesson: Facts, shown: Shown) -> Iterator[str]:
    """What stands in the lesson, in what was shown, and in neither."""
    stems = stems_of(sentence)
    known = frozenset(one for one in stems if shown.has_stem(one))
    told = (stems & lesson.words) - known
    rare = told - everyday()
    near = frozenset(one for one in stems - known - told if one in lesson.near)
    new = stems - known - told - near
    counts = {
        "known": len(known),
        "told": len(told),
        "rare": len(rare),
        "near": len(near),
        "new": len(new),
        "shared": len(stems & lesson.words & known),
    }
    for name, count in counts.items():
        yield from (f"{name}>{least}" for least in (0, 1, 3) if count > least)

    said = atoms(sentence)
    hidden = (one for one in said & lesson.numbers if not shown.has_number(one))
    yield from (f"number:{_kind_of(one)}" for one in hidden)
    if any(not shown.has_number(one) for one in said - lesson.numbers):
        yield "own number"


def _kind_of(atom: str) -> str:
    return atom[0] if atom[1:2] == ":" else "few"


def telling_odds(sentence: str, lesson: Facts, shown: Shown) -> float:
    """How likely it is by these signs that a sentence tells what the lesson told, in nats."""
    return _odds(telling_signs(sentence, lesson, shown))


def tells(sentence: str, lesson: Facts, shown: Shown) -> bool:
    """Whether a sentence that has to do with the lesson seems to tell what it told."""
    seen = telling_signs(sentence, lesson, shown)
    return any(sign.startswith(_OF_LESSON) for sign in seen) and _odds(seen) >= FROM


def _odds(seen: frozenset[str]) -> float:
    return odds_by("data/leaks/telling_weights.yaml", seen)
