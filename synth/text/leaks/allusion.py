"""Sentences that allude to help, or to an attempt that their reader knows nothing of, in any words.

Kinds of words are looked for (`data/leaks/words.yaml`), and which of them stand together; weights
that were fitted to wordings and to real trajectories say what that means.
"""

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache

import msgspec

from synth.text.data_files import read
from synth.text.word_signs import kinds_by_word, odds_by, worded

_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+|\\n|(?<=:)\s+(?=[-*A-Z])")
_CLAUSE = re.compile(r"(?<=,)\s+|\s+[-–—(]\s*")
_LET = re.compile(r"\blet(?: me| us|'s) (?:know )?", re.IGNORECASE)
"""An offer ("let me know") says nothing of what somebody knows."""
LEAST, MOST = 3, 30
"""Words of a sentence that says anything, and of one that is read as a whole."""
FROM = 0.3
"""Log odds from which a sentence is for a judge. Of an author whom the fit has not seen .62 to .80
of the references reach it, and .01 to .07 of the sentences of harmless turns; of real unguided
agents' sentences that were fitted to .002 do.
"""
_ENDS = frozenset({"before", "already", "once"})


class Kinds(msgspec.Struct, frozen=True):
    """`data/leaks/words.yaml`: words by kind, and which kinds are looked for together."""

    kinds: Mapping[str, str]
    pairs: Sequence[tuple[str, str, int]]
    together: Sequence[tuple[str, ...]]
    explained: frozenset[str]
    of_calls: frozenset[str]


@cache
def _known() -> tuple[Kinds, Mapping[str, frozenset[str]], frozenset[str]]:
    """The file, the kinds of each word, and the words that a transcript may explain."""
    found = read("data/leaks/words.yaml", Kinds)
    kinds = kinds_by_word(found.kinds)
    explained = frozenset(word for word, told in kinds.items() if told & found.explained)

    return found, kinds, explained


def sentences(text: str) -> list[str]:
    """The sentences of a text that say anything, and the clauses of very long ones: in a list of
    many things kinds of words stand together by chance.
    """
    found = _SENTENCE.split(text)
    parts = (_CLAUSE.split(one) if len(one.split()) > MOST else [one] for one in found)
    return [part for of in parts for part in of if len(part.split()) >= LEAST]


@lru_cache(maxsize=4096)
def explained_by(text: str) -> frozenset[str]:
    """The words of a text that explain later ones: who was shown a note may speak of a note."""
    return frozenset(map(_plain, _WORD.findall(text))) & _known()[2]


def signs(sentence: str, shown: Collection[str] = (), *, failed: bool = False) -> frozenset[str]:
    """What is seen in a sentence: kinds of words, and those that stand together.

    `shown`: words that the transcript explains; `failed`: a call of the agent's own failed lately.
    """
    file, kinds, _ = _known()
    words = _WORD.findall(_LET.sub(" ", sentence))
    found, left = list[frozenset[str]](), list[str]()

    for at, word in enumerate(words):
        plain = _plain(word)
        # within a sentence a capital makes it a name, of an album for one
        name = at > 0 and word[0].isupper() and plain not in _SELF
        of = kinds.get(plain, frozenset())
        if name or plain in shown or (failed and of & file.of_calls):
            plain, of = "", frozenset()
        found.append(of)
        left.append(plain)

    seen = frozenset[str]().union(*found)
    near = {f"{a}>{b}" for a, b, within in file.pairs if _near(found, a, b, within)}
    both = {"&".join(group) for group in file.together if seen.issuperset(group)}

    return seen | near | both | _of_form(sentence, words, seen) | worded(left)


_SELF = frozenset({"i", "i've", "i'm", "i'd", "i'll"})


def _of_form(sentence: str, words: Sequence[str], seen: frozenset[str]) -> frozenset[str]:
    """Signs that are no kinds of words."""
    plain = [_plain(word) for word in words]
    told = {
        "asks": "?" in sentence,
        "alone": "self" in seen and "speaker" not in seen,
        "ends before": bool(plain) and plain[-1] in _ENDS,
        "this time": any(
            one == "this" and later in ("time", "round", "attempt", "try", "retry")
            for one, later in itertools.pairwise(plain)
        ),
    }
    return frozenset(sign for sign, held in told.items() if held)


def _near(found: Sequence[frozenset[str]], one: str, other: str, within: int) -> bool:
    """Whether one kind stands at most so many words before another."""
    return any(
        one in here and any(other in later for later in found[at + 1 : at + 1 + within])
        for at, here in enumerate(found)
    )


def _plain(word: str) -> str:
    return word.casefold().replace("’", "'")


def alludes(sentence: str, shown: Collection[str] = (), *, failed: bool = False) -> bool:
    """Whether a sentence seems to allude to help or to another attempt, and the transcript does not
    explain every word by which it does.
    """
    seen = signs(sentence, shown, failed=failed)
    if odds_by("data/leaks/weights.yaml", seen) < FROM:
        return False

    explained = (shown or failed) and signs(sentence) & _known()[0].explained
    return not explained or bool(seen & _known()[0].explained)
