"""What a person's words, and repetitions of either side, say of a conversation."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from synth.filters.signals.matching import Message, Phrases, message, trigrams
from synth.filters.signals.patterns import LISTS, PHRASES, STOP_WORDS
from synth.filters.signals.rows import Signal, SignalRow

BASELINE_TURNS = 5
DRAG_PER_TURN = 0.25
LEAST_EFFICIENCY = 0.5
LOOK_BACK = 2
EXACT, NEAR = 0.95, 0.85
LEAST_REPEATED_TOKENS = 5
REPHRASE_WITHIN = 3
CAPITALS, LEAST_CAPITALS = 0.8, 10
_LOUD = re.compile(r"\?{2,}|!{2,}|[?!]{3,}")
_LISTS = Phrases(PHRASES)


def forget() -> None:
    """Empties what is remembered between trajectories, for measurements."""
    _LISTS.forget()
    _trigrams.cache_clear()


def interaction(rows: Sequence[SignalRow]) -> Iterator[Signal]:
    """Misalignment, stagnation, disengagement and satisfaction."""
    spoken = [
        (row, message(row.text)) for row in rows if row.role in ("human", "agent") and row.text
    ]
    humans = [(row, said) for row, said in spoken if row.role == "human"]
    yield from _misalignment(humans)
    yield from _dragging(rows)
    yield from _repetition(spoken)
    for row, said in humans:
        yield from _disengagement(row, said)
        found = _LISTS.first(said.tokens)
        name = next(
            (name for name in ("gratitude", "confirmation", "success") if name in found), None
        )
        if name is not None:
            yield Signal(f"satisfaction.{name}", row.at, row.turn, what=found[name])


def _misalignment(humans: Sequence[tuple[SignalRow, Message]]) -> Iterator[Signal]:
    before: tuple[SignalRow, Message] | None = None
    for row, said in humans:
        found = _LISTS.first(said.tokens)
        name = next(
            (name for name in ("correction", "rephrase", "clarification") if name in found), None
        )
        if name is not None:
            yield Signal(f"misalignment.{name}", row.at, row.turn, what=found[name])
        elif (
            before is not None
            and row.at - before[0].at <= REPHRASE_WITHIN
            and _said_again(said, before[1])
        ):
            yield Signal(
                "misalignment.rephrase", row.at, row.turn, 0.8, "says again what was said before"
            )
        before = (row, said)


def _said_again(said: Message, before: Message) -> bool:
    """At least four content words each, at most half of them new, three quarters of the smaller set
    shared; no confirmation.
    """
    if min(len(said.tokens), len(before.tokens)) < 3 or opens_with(
        said.text, LISTS.confirming_openings
    ):
        return False
    mine, theirs = set(said.tokens) - STOP_WORDS, set(before.tokens) - STOP_WORDS
    if min(len(mine), len(theirs)) < 4 or len(mine - theirs) / len(mine) > 0.5:
        return False
    return len(mine & theirs) / min(len(mine), len(theirs)) >= 0.75


def _dragging(rows: Sequence[SignalRow]) -> Iterator[Signal]:
    turns = sum(row.role == "human" for row in rows)
    efficiency = (
        1.0 if turns <= BASELINE_TURNS else 1 / (1 + DRAG_PER_TURN * (turns - BASELINE_TURNS))
    )
    if efficiency < LEAST_EFFICIENCY:
        yield Signal(
            "stagnation.dragging", rows[-1].at, rows[-1].turn, 1 - efficiency, f"{turns} user turns"
        )


def _repetition(spoken: Sequence[tuple[SignalRow, Message]]) -> Iterator[Signal]:
    """Trigrams of characters against the same side's last two messages."""
    earlier: dict[str, list[Message]] = {"human": [], "agent": []}
    for row, said in spoken:
        skipped = row.role == "human" and opens_with(said.text, LISTS.positive_openings)
        if not skipped and len(said.tokens) >= LEAST_REPEATED_TOKENS:
            for before in earlier[row.role][-LOOK_BACK:]:
                if (
                    len(before.tokens) >= LEAST_REPEATED_TOKENS
                    and (similar := _similarity(said.tokens, before.tokens)) >= NEAR
                ):
                    yield Signal(
                        "stagnation.repetition",
                        row.at,
                        row.turn,
                        similar,
                        "exact" if similar >= EXACT else "near",
                    )
                    break
        earlier[row.role].append(said)


def _disengagement(row: SignalRow, said: Message) -> Iterator[Signal]:
    letters = sum(map(str.isalpha, said.text))
    if letters >= LEAST_CAPITALS and sum(map(str.isupper, said.text)) >= CAPITALS * letters:
        yield Signal("disengagement.negative", row.at, row.turn, what="capitals")
    if _LOUD.search(said.text) and not opens_with(said.text, LISTS.positive_openings):
        yield Signal("disengagement.negative", row.at, row.turn, what="punctuation")
    found = _LISTS.first(said.tokens)
    for name in ("escalation", "quit"):
        if name in found:
            yield Signal(f"disengagement.{name}", row.at, row.turn, what=found[name])
    if "profanity" in found:
        yield Signal("disengagement.negative", row.at, row.turn, what=found["profanity"])
    elif "complaint" in found and "escalation" not in found:
        yield Signal("disengagement.negative", row.at, row.turn, what=found["complaint"])


def opens_with(text: str, openings: tuple[str, ...]) -> bool:
    """Whether a text begins with one of the words, or with a longer word that does."""
    return text.lstrip().lower().startswith(openings)


def _similarity(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """Jaccard of the trigrams of what the tokens spell."""
    if one == other:
        return 1.0
    first, second = _trigrams(one), _trigrams(other)
    if min(len(first), len(second)) < NEAR * max(len(first), len(second)):
        return 0.0
    shared = len(first & second)
    both = len(first) + len(second) - shared
    return shared / both if both else 1.0


@lru_cache(maxsize=4096)
def _trigrams(tokens: tuple[str, ...]) -> frozenset[str]:
    return trigrams(" ".join(tokens))
