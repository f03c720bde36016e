"""Whether a text refuses to do what it was asked for: kinds of words in many languages
(data/refusals/words.yaml), which of them stand together, and weights that were fitted to wordings
of several authors and to what real agents said (data/refusals/weights.yaml).
"""

import itertools
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from synth.text.data_files import read
from synth.text.replies.frames import unframed
from synth.text.word_signs import odds_by, worded

LONGEST = 600
"""Characters of a refusal: what goes on for longer has something else to say."""
SENTENCES = 4
"""A refusal, with its reasons, stands at the beginning."""
FROM = 0.5
"""Log odds from which a text refuses: of near misses that were not fitted 0 of 100 reach it."""
NEAR = 40
"""Characters between two words that say something together."""
_QUOTED = re.compile(
    r"\"[^\"]*\"|“[^”]*”|「[^」]*」|«[^»]*»|`[^`]*`|(?<!\w)'(?:[^']|(?<=\w)'(?=\w))*'(?!\w)"
)
_QUOTE = "”"
"""Stands for what somebody else said."""
_END = re.compile(r"(?<=[.!?])\s+|(?<=[。!?])\s*|\n+")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WITHIN_WORDS = re.compile(f"[\u0600-\u06ff{_UNSPACED}]")
"""Scripts whose words have no spaces between them, or hold others'."""
_LETTER = rf"[^\W{_UNSPACED}]"
"""What a word of another script does not end before."""
Words = Mapping[str, Mapping[str, str]]


def refuses(text: str) -> bool:
    """Whether a short text, no data, says that its writer will not do what is asked, for a reason
    that is not the task's.
    """
    text = bare(text)
    if not text or len(text) > LONGEST or text.startswith(("{", "[")):
        return False

    return log_odds(text) >= FROM


@lru_cache(maxsize=1024)
def log_odds(text: str) -> float:
    """How likely it is by its signs that a text refuses, in nats."""
    return odds_by("data/refusals/weights.yaml", signs(text))


def bare(text: str) -> str:
    """A text without thinking, frames and emphasis, its punctuation as in Latin scripts."""
    text = unframed(text).replace("’", "'").replace("**", "")
    return unicodedata.normalize("NFKC", text).strip()


def signs(text: str) -> frozenset[str]:
    """What is seen in a bare text: kinds of words, those that stand together, and words."""
    text, found, everywhere = _QUOTED.sub(_QUOTE, text), set[str](), set[str]()

    for place, sentence in enumerate(_sentences(text)):
        spots = sorted(_spots(sentence))
        kinds = {kind for _, kind in spots}
        everywhere |= kinds
        found |= {f"{one}&{other}" for one, other in itertools.combinations(sorted(kinds), 2)}
        found |= {f"1:{kind}" for kind in kinds if place == 0}
        found |= {
            f"{one}>{other}"
            for (here, one), (there, other) in itertools.combinations(spots, 2)
            if one != other and there - here <= NEAR
        }
        found |= _worded(sentence)
        found |= {"asks"} if "?" in sentence else set()

    pairs = itertools.combinations(sorted(everywhere), 2)
    found |= {"digit"} if re.search(r"\d", text) else set()
    found |= {"quote"} if _QUOTE in text else set()

    return frozenset(found | everywhere | {f"{one}+{other}" for one, other in pairs})


def _sentences(text: str) -> list[str]:
    """The first sentences; one of a word or two ("No.", "Hmm.") belongs to the next."""
    found = [one for one in _END.split(text) if one.strip()]
    if len(found) > 1 and len(found[0].split()) <= 2:
        found = [f"{found[0]} {found[1]}", *found[2:]]

    return found[:SENTENCES]


def _spots(sentence: str) -> Iterator[tuple[int, str]]:
    """Where words of which kind stand."""
    for kind, pattern in _kinds().items():
        for match in pattern.finditer(sentence):
            yield match.start(), kind


def _worded(sentence: str) -> frozenset[str]:
    """The words of a sentence by their stems, and those next to each other, where it is English or
    written like it: other languages' are too few to learn from.
    """
    words = _WORD.findall(sentence) if sentence.isascii() else []
    return worded([word.casefold() for word in words])


@cache
def _kinds() -> Mapping[str, re.Pattern[str]]:
    """What the words of each kind are found by."""
    words: Words = read("data/refusals/words.yaml", dict[str, dict[str, str]])
    return {kind: _pattern(", ".join(of.values())) for kind, of in words.items()}


def _pattern(words: str) -> re.Pattern[str]:
    """Any of these words, the longest first."""
    listed = sorted({one for word in words.split(",") if (one := word.strip())}, key=_by_length)
    within = [_expression(one, r"\s*") for one in listed if _WITHIN_WORDS.search(one)]
    whole = [_expression(one, r"\s+") for one in listed if not _WITHIN_WORDS.search(one)]
    words_alone = rf"(?<!{_LETTER})(?:{'|'.join(whole)})(?:(?<=')|(?!{_LETTER}))"

    return re.compile("|".join([words_alone, *within]), re.IGNORECASE)


def _by_length(word: str) -> tuple[int, str]:
    return -len(word), word


def _expression(word: str, space: str) -> str:
    """`*` is any end of a word, `...` up to five words."""
    parts = re.split(r"\s*\.\.\.\s*", word)
    plain = [re.escape(one).replace(r"\*", r"\w*").replace(r"\ ", space) for one in parts]

    return r"\s+(?:\S+\s+){0,5}?".join(plain)
