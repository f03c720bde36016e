"""The scan: what a guided agent wrote, called and chose against its guidance and what it was shown
(rigor.md, provenance and leakage).
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from synth.schemas.messages import SYSTEM_NAME
from synth.schemas.trajectory import Observation, Source, Trajectory, Turn
from synth.text.leaks.literals import is_one_name, literals
from synth.text.leaks.references import RECENT, failed, reference
from synth.text.provenance import provenance
from synth.text.provenance.dates import as_date, computed_date
from synth.text.provenance.effect import Effectful
from synth.text.provenance.seen import Seen

WORDS = 8
"""Length of a run of words that is a copy (methods.md A3)."""
_WORD = re.compile(r"\w+")
Run = tuple[str, ...]
_DEEPEST = 30
COPIED, REFERENCE, LITERAL = "copied_text", "reference_to_help", "literal_of_guidance"
ARGUMENT, CHOICE = "unjustified_argument", "unjustified_choice"


class Leak(msgspec.Struct, frozen=True):
    """One trace of help in a turn: its kind, and the words or value that show it."""

    kind: str
    turn: int
    what: str


def leaks(
    trajectory: Trajectory,
    guidance: str | None = None,
    *,
    since: int | None = None,
    effectful: Effectful | None = None,
) -> tuple[Leak, ...]:
    """Every trace of help in the turns from `since` on (the pivot, where it is not given), in their
    order.

    `guidance` is what was whispered (the trajectory's own, where it is not given). A run of 8
    words, or a literal, is a leak where it
    stands in the guidance and in no message that the exported transcript shows before the turn:
    system prompt, tools, users, tool answers,
    and the agent's turns before `since`. Arguments and choices are judged as `synth.text.provenance`
    does, whoever whispered.
    """
    first = since if since is not None else trajectory.pivot_turn or 0
    whispered = guidance if guidance is not None else trajectory.guidance or ""
    found = [
        *_of_guidance(trajectory, whispered, first),
        *_of_choices(trajectory, first, effectful),
    ]
    return tuple(sorted(found, key=lambda leak: leak.turn))


def _of_guidance(trajectory: Trajectory, whispered: str, first: int) -> Iterator[Leak]:
    """Copied text, references to help, literals."""
    seen, unseen = Seen(), _runs(whispered)
    named = literals(whispered)
    unseen -= _show(seen, unseen, None, "system", trajectory.system_prompt or "")
    unseen -= _show(seen, unseen, None, "tools", json.dumps(trajectory.tools, ensure_ascii=False))
    for observation in trajectory.opening:
        unseen -= _observe(seen, unseen, None, observation)
    for turn in trajectory.turns:
        texts = list(_authored(turn))
        if turn.index >= first:
            lately = trajectory.turns[max(0, turn.index - RECENT) : turn.index]
            yield from _in_turn(turn, texts, seen, unseen, named, lately)
        else:
            for text in texts:
                unseen -= _show(seen, unseen, turn.index, "agent", text)
        for call in turn.tool_calls:
            seen.wrote(call.arguments)
        for observation in turn.observations:
            unseen -= _observe(seen, unseen, turn.index, observation)


def _in_turn(
    turn: Turn,
    texts: list[str],
    seen: Seen,
    unseen: set[tuple[str, ...]],
    named: frozenset[str],
    lately: Sequence[Turn],
) -> Iterator[Leak]:
    copied = min(_shared(texts, unseen), default=None)
    if copied is not None:
        yield Leak(COPIED, turn.index, " ".join(copied))
    failure = any(map(failed, lately))
    again = bool(
        {call.name for before in lately for call in before.tool_calls}
        & {call.name for call in turn.tool_calls}
    )
    spoken = next(
        (
            words
            for text in texts
            if (words := reference(text, failed_recently=failure, again=again)) is not None
        ),
        None,
    )
    if spoken is not None and not any(spoken.casefold() in piece.folded for piece in seen.pieces):
        yield Leak(REFERENCE, turn.index, spoken)
    own = Seen()
    for text in texts:
        own.show(turn.index, "agent", text)
    for literal in sorted(named):
        if own.first(literal) is None or (
            is_one_name(literal) and not any(literal in text for text in texts)
        ):
            continue
        if not _known(literal, seen):
            yield Leak(LITERAL, turn.index, literal)


def _known(literal: str, seen: Seen) -> bool:
    """Whether a literal stood in what the agent was shown, in some spelling, or is a date that
    follows from one that did.
    """
    if any(
        seen.first(form) or seen.first_respelled(form)
        for form in {literal, literal.replace("_", " ")}
    ):
        return True
    day = as_date(literal)
    return (
        day is not None
        and computed_date(
            day, [piece.folded for piece in seen.pieces if not piece.error], frozenset()
        )
        is not None
    )


def _observe(
    seen: Seen, unseen: set[tuple[str, ...]], turn: int | None, observation: Observation
) -> set[tuple[str, ...]]:
    source = observation.source.value if observation.name != SYSTEM_NAME else "system"
    return _show(
        seen,
        unseen,
        turn,
        source,
        observation.content,
        error=observation.error and observation.source is Source.TOOL,
    )


def _show(
    seen: Seen,
    unseen: set[tuple[str, ...]],
    turn: int | None,
    source: str,
    content: str,
    *,
    error: bool = False,
) -> set[tuple[str, ...]]:
    """Shows a text to the agent; the runs of the guidance that stand in it."""
    seen.show(turn, source, content, error=error)
    return _shared([content], unseen) if unseen else set()


def _of_choices(trajectory: Trajectory, first: int, effectful: Effectful | None) -> Iterator[Leak]:
    """Arguments of effectful calls that stood nowhere, and entities that nothing told apart from
    their siblings.

    A person's yes to the one that the agent had named tells nothing apart: the agent may have been
    told which one to name.
    """
    report = provenance(trajectory, effectful=effectful)
    for finding in report.unjustified:
        if finding.turn >= first:
            yield Leak(ARGUMENT, finding.turn, f"{finding.tool}.{finding.path}={finding.value}")
    for choice in report.choices:
        if choice.unjustified and choice.turn >= first:
            yield Leak(CHOICE, choice.turn, f"{choice.tool}.{choice.path}={choice.value}")


def _runs(text: str, length: int = WORDS) -> set[Run]:
    """All runs of that many words, without case and punctuation; a shorter text of at least 4 words
    is one run.
    """
    words = _WORD.findall(text.casefold())
    if 4 <= len(words) < length:
        return {tuple(words)}
    return {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}


def _shared(texts: Iterable[str], wanted: set[Run]) -> set[Run]:
    """Those of the wanted runs that stand in one of the texts."""
    lengths = {len(run) for run in wanted}
    found: set[Run] = set()
    for text in texts:
        words = _WORD.findall(text.casefold())
        for length in lengths:
            found.update(
                run
                for at in range(len(words) - length + 1)
                if (run := tuple(words[at : at + length])) in wanted
            )
    return found


def _authored(turn: Turn) -> Iterator[str]:
    """Text, thought, and of every call the values of its arguments with keys that are values, or
    the text where it is no JSON object.
    """
    if turn.content:
        yield turn.content
    if turn.thought:
        yield turn.thought
    for call in turn.tool_calls:
        yield call.name
        if call.parse_error is None:
            yield from _leaves(call.parsed(), 0)
        else:
            yield call.arguments


def _leaves(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, dict | list) and depth < _DEEPEST:
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _leaves(entry, depth + 1)
        if isinstance(value, dict):
            yield from (key for key in value if not key.replace("_", "").isalpha())
    elif value is not None and not isinstance(value, bool):
        yield str(value)
