"""The rules by which a world answers an agent: every call is answered once, by its id, and nothing
else is called an answer.

A model server refuses a transcript that breaks them, a chat template renders it as another
conversation, and a trainer learns from that.
docs/your-environment.md has the rules as a table.
"""

from collections import Counter
from collections.abc import Collection, Sequence

import msgspec

from synth.schemas.canonical import valid_text
from synth.schemas.trajectory import Observation, Source, ToolCall


class Violation(msgspec.Struct, frozen=True):
    """A rule that was broken, under a short stable name, and what broke it."""

    rule: str
    what: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.what}"


def opening_violation(observations: Sequence[Observation]) -> Violation | None:
    """What is wrong with the observations before the first turn: nothing has been called yet."""
    for at, given in enumerate(observations):
        if given.source is Source.TOOL:
            return Violation(
                "answer_without_call",
                f"observations[{at}] is a tool's, and nothing was called before the first turn",
            )
    return _unasked(observations)


def answer_violation(
    calls: Sequence[ToolCall], observations: Sequence[Observation]
) -> Violation | None:
    """The first rule that the answers to a turn with these calls break, or None.

    A call that does not parse is answered too; parallel calls may be answered in any order; a turn
    that calls one id twice gets two
    answers with it. What users and the world itself say beside that comes after the tools' answers.
    """
    asked = Counter(_stored(call.call_id) for call in calls)
    names = {(_stored(call.call_id), _stored(call.name)) for call in calls}
    by_tools = [(at, one) for at, one in enumerate(observations) if one.source is Source.TOOL]
    given = Counter(_stored(one.call_id) for _, one in by_tools if one.call_id is not None)
    for place, (at, one) in enumerate(by_tools):
        where, call_id = f"observations[{at}]", _stored(one.call_id or "")
        if not calls:
            return Violation("answer_without_call", f"{where} is a tool's, and the turn calls none")
        if one.call_id is None:
            return Violation(
                "no_call_id",
                f"{where} is a tool's and has no call_id; the turn calls {_shown(asked)}",
            )
        if call_id not in asked:
            return Violation(
                "unknown_call_id",
                f"{where} answers {_shown([call_id])}; the turn calls {_shown(asked)}",
            )
        if given[call_id] > asked[call_id]:
            return Violation(
                "answered_twice", f"{where}: {given[call_id]} answers to {_shown([call_id])}"
            )
        if one.name is not None and (call_id, _stored(one.name)) not in names:
            called = [name for known, name in names if known == call_id]
            return Violation(
                "wrong_name",
                f"{where} is named {_shown([one.name])}; {_shown([call_id])} calls "
                f"{_shown(called)}",
            )
        if at > place:
            return Violation(
                "answer_out_of_place", f"{where} is a tool's and comes after what others say"
            )
    unasked = _unasked(observations)
    open_ids = asked - given
    return unasked or (
        Violation("unanswered", f"no answer to {_shown(open_ids)}") if open_ids else None
    )


def _unasked(observations: Sequence[Observation]) -> Violation | None:
    """What no world may say of an observation, whatever was called."""
    for at, given in enumerate(observations):
        if given.source is not Source.TOOL and given.call_id is not None:
            return Violation(
                "wrong_source",
                f"observations[{at}] has a call_id, and its source is {given.source.value}",
            )
        if given.wording is not None or given.planted is not None:
            return Violation(
                "engine_field",
                f"observations[{at}] sets `wording` or `planted`, which the engine alone writes",
            )
    return None


def _stored(text: str) -> str:
    """As a ledger holds it."""
    return text if text.isascii() else valid_text(text)


def _shown(texts: Collection[str]) -> str:
    return ", ".join(repr(text[:80]) for text in sorted(texts)[:4]) + (
        ", ..." if len(texts) > 4 else ""
    )
