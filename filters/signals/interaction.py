"""What a person's words, and repetitions of either side, say of a conversation.

- `misalignment`: a person corrects the agent, says the same in other words, or does not follow.
- `stagnation`: the conversation drags on, or either side says again what it said before.
- `disengagement`: a person asks for somebody else, gives up, or is angry: by words, capitals or
  marks.
- `satisfaction`: a person thanks, agrees, or says that it worked.

The lists stand in `signals.yaml`, the numbers here: both are those of the published rules.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from synth.filters.signals.matching import Phrases, TokenizedText, message, trigrams
from synth.filters.signals.patterns import KINDS, LISTS, PHRASES, STOP_WORDS
from synth.filters.signals.rows import Signal, SignalRow

BASELINE_TURNS = 5
"""Messages of a person that a conversation may take before it drags."""
DRAG_PER_TURN = 0.25
LEAST_EFFICIENCY = 0.5
LOOK_BACK = 2
"""Messages of the same side that a repetition is looked for in."""
EXACT, NEAR = 0.95, 0.85
LEAST_REPEATED_TOKENS = 5
REPHRASE_WITHIN = 3
"""Rows between a message and the one that says it again."""
CAPITALS, LEAST_CAPITALS = 0.8, 10
"""Share of a message's letters, and how many it must have."""

_LOUD = re.compile(r"\?{2,}|!{2,}|[?!]{3,}")
"""Marks that nobody sets in a calm message."""
_PHRASES = Phrases(PHRASES)


class _Spoken(msgspec.Struct, frozen=True):
    """A message of either side: where it stands, and what it says."""

    row: SignalRow
    said: TokenizedText

    @property
    def tokens(self) -> tuple[str, ...]:
        """Its words, as they are compared."""
        return self.said.tokens

    def opens_with(self, openings: tuple[str, ...]) -> bool:
        """With one of the words, or with a longer word that begins so."""
        return self.said.text.lstrip().lower().startswith(openings)

    def named(self, category: str) -> Signal | None:
        """The first kind of a category whose phrases match."""
        found = _PHRASES.first(self.tokens)
        name = next((name for name in KINDS[category] if name in found), None)
        return None if name is None else self.row.signal(f"{category}.{name}", found[name])


def forget() -> None:
    """Empties what is remembered between trajectories, for measurements of speed."""
    _PHRASES.forget()
    _trigrams.cache_clear()


def interaction(rows: Sequence[SignalRow]) -> Iterator[Signal]:
    """Misalignment, stagnation, disengagement and satisfaction, each by the order of the rows.

    A message that matches the words of a kind is not compared with the one before it.
    """
    spoken = [
        _Spoken(row, message(row.text))
        for row in rows
        if row.role in ("human", "agent") and row.text
    ]
    humans = [one for one in spoken if one.row.role == "human"]

    for before, one in zip([None, *humans], humans, strict=False):
        signal = one.named("misalignment")
        if signal is not None:
            yield signal
        elif before is not None and _said_again(one, before):
            yield one.row.signal("misalignment.rephrase", "says again what was said before", 0.8)

    yield from _dragging(rows)
    yield from _repetition(spoken)

    for one in humans:
        yield from _disengagement(one)
        signal = one.named("satisfaction")
        if signal is not None:
            yield signal


def _said_again(one: _Spoken, before: _Spoken) -> bool:
    """Whether a person says the same again in other words: soon after; at least four content words
    each, at most half of them new, three quarters of the smaller set shared; no confirmation.

    Who has to say it again was not understood.
    """
    if one.row.at - before.row.at > REPHRASE_WITHIN or one.opens_with(LISTS.confirming_openings):
        return False

    mine, theirs = set(one.tokens) - STOP_WORDS, set(before.tokens) - STOP_WORDS
    fewer = min(len(mine), len(theirs))
    if fewer < 4 or len(mine - theirs) / len(mine) > 0.5:
        return False

    return len(mine & theirs) / fewer >= 0.75


def _dragging(rows: Sequence[SignalRow]) -> Iterator[Signal]:
    """How many messages a person had to write, as 1 / (1 + .25 for each above five)."""
    turns = sum(row.role == "human" for row in rows)
    efficiency = 1 / (1 + DRAG_PER_TURN * max(turns - BASELINE_TURNS, 0))
    if efficiency < LEAST_EFFICIENCY:
        yield rows[-1].signal("stagnation.dragging", f"{turns} user turns", 1 - efficiency)


def _repetition(spoken: Sequence[_Spoken]) -> Iterator[Signal]:
    """Trigrams of characters against the same side's last two messages.

    A message repeats one other at most. What a person says in welcome is no repetition, and is
    still compared with what comes later.
    """
    earlier: dict[str, list[tuple[str, ...]]] = {"human": [], "agent": []}
    for one in spoken:
        before = earlier[one.row.role]

        welcome = one.row.role == "human" and one.opens_with(LISTS.positive_openings)
        compared = () if welcome else before[-LOOK_BACK:]

        for similar in (_similarity(one.tokens, other) for other in compared):
            if similar >= NEAR:
                what = "exact" if similar >= EXACT else "near"
                yield one.row.signal("stagnation.repetition", what, similar)
                break

        before.append(one.tokens)


def _similarity(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """Jaccard of the trigrams of what the tokens spell; 0 where either side has few tokens, and
    where the numbers of trigrams alone rule a repetition out.
    """
    if min(len(one), len(other)) < LEAST_REPEATED_TOKENS:
        return 0.0
    if one == other:
        return 1.0

    first, second = _trigrams(one), _trigrams(other)
    if min(len(first), len(second)) < NEAR * max(len(first), len(second)):
        return 0.0

    return len(first & second) / len(first | second)


@lru_cache(maxsize=4096)
def _trigrams(tokens: tuple[str, ...]) -> frozenset[str]:
    """Of what the tokens spell; a message is compared with the two before it, and two after."""
    return trigrams(" ".join(tokens))


def _disengagement(one: _Spoken) -> Iterator[Signal]:
    """Loudness first, then words; a message may show several."""
    text, found = one.said.text, _PHRASES.first(one.tokens)
    told = []
    letters = sum(map(str.isalpha, text))
    if letters >= LEAST_CAPITALS and sum(map(str.isupper, text)) >= CAPITALS * letters:
        told.append(("negative", "capitals"))

    if _LOUD.search(text) and not one.opens_with(LISTS.positive_openings):
        told.append(("negative", "punctuation"))

    told += [(name, found[name]) for name in ("escalation", "quit") if name in found]
    if "profanity" in found:
        told.append(("negative", found["profanity"]))
    elif "complaint" in found and "escalation" not in found:
        told.append(("negative", found["complaint"]))

    yield from (one.row.signal(f"disengagement.{name}", what) for name, what in told)
