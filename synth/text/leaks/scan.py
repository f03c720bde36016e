"""The scan: what a guided agent wrote, called and chose against its guidance and what it was shown.

The rules are those of rigor.md, provenance and leakage.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import msgspec

from synth.schemas import SYSTEM_NAME, Observation, Source, Trajectory, Turn
from synth.text.leaks.canary import betrayed, canary_of, without_canary
from synth.text.leaks.keys import BREAK, is_field, without_keys
from synth.text.leaks.literals import is_one_name, literals
from synth.text.leaks.references import RECENT, failed, reference
from synth.text.provenance import ProvenanceReport, provenance
from synth.text.provenance.dates import as_date, computed_date
from synth.text.provenance.objects import SMALL
from synth.text.provenance.seen import Seen
from synth.text.word_runs import Run, runs, words_in

WORDS = 8
"""Length of a run of words that is a copy (methods.md A3)."""
_FEWEST = 4
"""Words of a guidance that is a run as a whole."""
_DIGITS = re.compile(r"(?<!\d)(?!(?:19|20)\d\d(?!\d))\d{3,}")
"""Digits that may be a part of an identifier; a year names nothing."""
_DEEPEST = 30
CANARY = "canary"
COPIED, REFERENCE, LITERAL = "copied_text", "reference_to_help", "literal_of_guidance"
ARGUMENT, CHOICE = "unjustified_argument", "unjustified_choice"


class Leak(msgspec.Struct, frozen=True):
    """One trace of help in a turn: its kind, and the words or value that show it; `weak`: a single
    word, which a guided agent may also have used by chance.
    """

    kind: str
    turn: int
    what: str
    weak: bool = False


def leaks(
    trajectory: Trajectory,
    guidance: str | None = None,
    *,
    since: int | None = None,
) -> tuple[Leak, ...]:
    """Every trace of help in the turns from `since` on (else from the pivot on), in their order.

    `guidance` is what was whispered (the trajectory's own, where it is not given). A run of 8
    words, or a literal, is a leak where it stands in the guidance and in no message that the
    exported transcript shows before the turn: system prompt, tools, users, tool answers, and the
    agent's turns before `since`. An argument without a source, and an entity that nothing singled
    out, are leaks where the guidance holds the value: what it does not hold the agent has made up
    or guessed by itself, which the filter `provenance` tells.
    """
    first = since if since is not None else trajectory.pivot_turn or 0
    whispered = guidance if guidance is not None else trajectory.guidance or ""
    found = list(_canary(trajectory, whispered, first))
    whispered = without_canary(whispered)
    found += _of_guidance(trajectory, whispered, first)
    report = provenance(trajectory) if whispered.strip() else None
    found += _of_values(report, whispered, first) if report else ()

    return tuple(sorted(found, key=lambda leak: leak.turn))


def _canary(trajectory: Trajectory, whispered: str, first: int) -> Iterator[Leak]:
    """The mark of the guidance, in what a turn says or in what it was answered."""
    mark = canary_of(whispered)
    if mark is None:
        return

    # of what came before the guidance nothing can stem from it
    for turn in (one for one in trajectory.turns if one.index >= first):
        told = [*authored(turn), *(one.content for one in turn.observations)]
        if betrayed("\n".join(told), {mark}):
            yield Leak(CANARY, turn.index, mark)


def _of_values(report: ProvenanceReport, whispered: str, first: int) -> Iterator[Leak]:
    """Arguments and choices that the transcript does not explain, and the guidance does."""
    told = Seen()
    told.show(None, "guidance", whispered)
    # a person's yes to the one that the agent had named tells nothing apart: the agent may have
    # been told which one to name
    guessed = [choice for choice in report.choices if choice.unjustified]
    whispered_digits = frozenset(_DIGITS.findall(whispered))

    for kind, ones in ((ARGUMENT, report.unjustified), (CHOICE, guessed)):
        for one in ones:
            # "the order that ends in 7730" tells O-917730
            part = kind == ARGUMENT and any(run in str(one.value) for run in whispered_digits)
            told_it = told.first(one.value) or told.first_respelled(one.value) or part
            if one.turn >= first and told_it and not _stands_everywhere(one.value):
                yield Leak(kind, one.turn, f"{one.tool}.{one.path}={one.value}")


def _stands_everywhere(value: object) -> bool:
    """Whether a value is a small whole number, which any guidance may hold."""
    text = str(value)
    return text.isdigit() and int(text) < SMALL


def _of_guidance(trajectory: Trajectory, whispered: str, first: int) -> Iterator[Leak]:
    """Copied text, references to help, literals."""
    shown = _Shown.before(whispered)
    shown.show(None, "system", trajectory.system_prompt or "")
    shown.show(None, "tools", json.dumps(trajectory.tools, ensure_ascii=False))
    for observation in trajectory.opening:
        shown.observe(None, observation)

    for turn in trajectory.turns:
        texts = list(authored(turn))
        if turn.index >= first:
            lately = trajectory.turns[max(0, turn.index - RECENT) : turn.index]
            yield from shown.leaks(turn, texts, lately)
        else:
            for text in texts:
                shown.show(turn.index, "agent", text)

        for call in turn.tool_calls:
            shown.seen.wrote(call.arguments)

        for observation in turn.observations:
            shown.observe(turn.index, observation)


class _Shown:
    """What the agent was shown, and the runs of the guidance that stood nowhere in it."""

    def __init__(self, unseen: set[Run], named: frozenset[str]) -> None:
        self.unseen, self.named, self.seen = unseen, named, Seen()

    @classmethod
    def before(cls, whispered: str) -> Self:
        """Of a guidance, when nothing has been shown yet; names of members that it quotes apart."""
        told = without_keys(whispered)
        parts = list(map(words_in, told.split(BREAK)))
        # all of a guidance that is shorter is one run
        count = sum(map(len, parts))
        length = count if _FEWEST <= count < WORDS else WORDS
        return cls({run for words in parts for run in runs(words, length)}, literals(told))

    def show(self, turn: int | None, source: str, content: str, *, error: bool = False) -> None:
        """Adds a text that the agent was shown."""
        self.seen.show(turn, source, content, error=error)
        self.unseen -= _shared([content], self.unseen)

    def observe(self, turn: int | None, observation: Observation) -> None:
        """Adds what somebody said to the agent, or a tool answered."""
        source = "system" if observation.name == SYSTEM_NAME else observation.source.value
        error = observation.error and observation.source is Source.TOOL
        self.show(turn, source, observation.content, error=error)

    def leaks(self, turn: Turn, texts: Sequence[str], lately: Sequence[Turn]) -> Iterator[Leak]:
        """The leaks of what a turn wrote; `lately` are the turns before it."""
        copied = min(_shared(texts, self.unseen), default=None)
        if copied is not None:
            yield Leak(COPIED, turn.index, " ".join(copied))

        spoken = _reference(turn, texts, lately)
        if spoken is not None and not any(
            spoken.casefold() in piece.folded for piece in self.seen.pieces
        ):
            yield Leak(REFERENCE, turn.index, spoken)

        own = Seen()
        for text in texts:
            own.show(turn.index, "agent", text)

        for literal in sorted(self.named):
            said = own.first(literal) is not None
            other_word = is_one_name(literal) and not any(literal in text for text in texts)
            if said and not other_word and not self._knows(literal):
                yield Leak(LITERAL, turn.index, literal)

    def _knows(self, literal: str) -> bool:
        """Whether a literal was shown in some spelling, or is a date that follows from one."""
        for form in (literal, literal.replace("_", " ")):
            if self.seen.first(form) or self.seen.first_respelled(form):
                return True

        day = as_date(literal)
        shown = [piece.folded for piece in self.seen.pieces if not piece.error]

        return day is not None and computed_date(day, shown, ()) is not None


def _reference(turn: Turn, texts: Sequence[str], lately: Sequence[Turn]) -> str | None:
    """The first words of a turn that speak of help or of an attempt that the transcript lacks."""
    failure = any(map(failed, lately))
    called = {call.name for before in lately for call in before.tool_calls}
    again = not called.isdisjoint(call.name for call in turn.tool_calls)
    found = (reference(text, failed_recently=failure, again=again) for text in texts)
    return next(filter(None, found), None)


def _shared(texts: Iterable[str], wanted: set[Run]) -> set[Run]:
    """Those of the wanted runs, all of one length, that stand in one of the texts."""
    length = len(next(iter(wanted), ()))
    found = (runs(words_in(text), length) for text in (texts if wanted else ()))

    return {run for of_text in found for run in of_text if run in wanted}


def authored(turn: Turn) -> Iterator[str]:
    """Text, thought, and the names and arguments of calls.

    Of arguments these are the values, with keys that are values; all of it where it is no JSON.
    """
    yield from filter(None, (turn.content, turn.thought))

    for call in turn.tool_calls:
        yield call.name
        if call.parse_error is None:
            yield from _leaves(call.parsed(), 0)
        else:
            yield call.arguments


def _leaves(value: Any, depth: int) -> Iterator[str]:
    """The scalars of a JSON value as texts, with keys that are values themselves."""
    if isinstance(value, dict | list) and depth < _DEEPEST:
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _leaves(entry, depth + 1)

        if isinstance(value, dict):
            yield from (key for key in value if not is_field(key))
    elif value is not None and not isinstance(value, bool):
        yield str(value)
