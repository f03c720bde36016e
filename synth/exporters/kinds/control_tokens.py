"""Rows whose texts hold control tokens: left out, neutralised and marked, or kept and told of;
every kind and form comes through here.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any

import msgspec

from synth.exporters.exact_json import plain_text
from synth.exporters.form import Column, Form, NotRepresentableError
from synth.exporters.kind import ControlTokenPolicy, RowSettings, identity_of, lineage_of
from synth.exporters.kinds.whispered import CANARY, shows_canary
from synth.exporters.tally import ExportCounts
from synth.ledger.ledger import StoredLedger
from synth.schemas import Source, Trajectory
from synth.text.control_tokens import (
    ControlTokens,
    KeyCollisionError,
    control_tokens,
    found,
    neutralising,
)

RESULT_WITHOUT_ID = "tool_result_without_id"
RESULT_WITHOUT_CALL = "tool_result_without_call"
CALL_WITHOUT_RESULT = "call_without_tool_result"
BROKEN_LINKS = (RESULT_WITHOUT_ID, RESULT_WITHOUT_CALL, CALL_WITHOUT_RESULT)
FILTER = "control_tokens"
"""The filter whose decision an export goes by where it has no policy of its own, and the reason of
what is left out.
"""
COLUMN = "neutralised"
"""In rows that have a place for it: whether its texts were changed."""
SIDE_FILE = f"{COLUMN}.jsonl"
"""Beside lines whose readers take no other keys than their own: the numbers of those rows, from
0.
"""


def broken_link(trajectory: Trajectory) -> str | None:
    """The first broken link by name, or None; calls of the last turn may stand unanswered, because
    the episode ended there.

    A result may come turns after its call. Imports link what their source tells by order alone;
    whatever has no id after that has none.
    """
    # nothing was called before the opening
    if any(observation.source is Source.TOOL for observation in trajectory.opening):
        return RESULT_WITHOUT_CALL

    waiting: list[tuple[int, str]] = []

    for at, turn in enumerate(trajectory.turns):
        waiting += [(at, call.call_id) for call in turn.tool_calls]

        for answered in (o.call_id for o in turn.observations if o.source is Source.TOOL):
            if not answered:
                return RESULT_WITHOUT_ID

            # ids may come again: the earliest open call is the one that is answered
            call = next((one for one in waiting if one[1] == answered), None)
            if call is None:
                return RESULT_WITHOUT_CALL

            waiting.remove(call)

    early = any(at < len(trajectory.turns) - 1 for at, _ in waiting)

    return CALL_WITHOUT_RESULT if early else None


class Guarded(msgspec.Struct, frozen=True):
    """A row as it may be written, and what was done about control tokens in it: nothing where it
    has none.
    """

    row: Any
    done: ControlTokenPolicy | None = None


def as_the_flow_says(settings: RowSettings, ledger: StoredLedger) -> RowSettings:
    """The settings with a policy: their own, else that of the current flow's filter, else
    `drop`.
    """
    if settings.control_tokens is not None:
        return settings

    # of several such filters the last one saw what the others had let pass
    lines = [line.settings.get(FILTER) for line in ledger.state.stages.values()]
    actions = [line["action"] for line in lines if isinstance(line, Mapping) and "action" in line]

    return settings.model_copy(update={"control_tokens": actions[-1] if actions else "drop"})


def guarded(rows: Iterable[Any], tally: ExportCounts) -> Iterator[Guarded]:
    """The rows that may be written, one at a time; what was found is counted by token and place."""
    tokens = tokens_of(tally)

    if tally.policy == "neutralise" and tally.form.layout == "lines":
        tally.beside[SIDE_FILE] = lambda: b"".join(
            msgspec.json.encode({"row": number}) + b"\n" for number in tally.neutralised_rows
        )

    for row in rows:
        one = tally.made(identity_of(row), partial(_guarded, row, tally, tokens))
        if one is not None:
            yield one


def _guarded(row: Any, tally: ExportCounts, tokens: ControlTokens) -> Guarded | str | None:
    """The row as it may be written, or why it may not: its answers do not belong to its calls, or
    it holds control tokens or the canary of a whispered note.
    """
    lineage = lineage_of(row)
    broken = broken_link(lineage) if isinstance(lineage, Trajectory) else None
    if broken is not None:
        return broken

    if shows_canary(partial(tally.kind.texts, row, tally.form), tally.marks):
        return CANARY

    # looked at before all policies, since each tells what it has found
    hits, done = found(partial(tally.kind.texts, row, tally.form), tokens), tally.policy
    tally.control_tokens.update({f"{token} in {place}" for token, place in hits})
    if not hits or done == "keep":
        return Guarded(row, "keep" if hits else None)

    if done == "neutralise":
        try:
            row = tally.kind.texts(row, tally.form, neutralising(tokens))
        except (KeyCollisionError, NotRepresentableError):
            return f"{FILTER}:not_neutralised"

        # a token over two texts, one in what a world works with
        hits = found(partial(tally.kind.texts, row, tally.form), tokens)

    # left out by the first token that was found
    return ":".join((FILTER, *hits[0])) if hits else Guarded(row, "neutralise")


def tokens_of(tally: ExportCounts) -> ControlTokens:
    """The table's tokens, and those of the student's tokenizer and template where one is named and
    can be opened here.
    """
    if tally.settings.student is None or find_spec("transformers") is None:
        return control_tokens()

    from synth.exporters.template import own_tokens, served_template

    # a student may have tokens that no table knows
    return control_tokens(own_tokens(served_template(tally.settings.student)))


def marking(form: Form, settings: RowSettings) -> Form:
    """The form with a column that says which rows were neutralised, where the settings ask for that
    and the form has columns.
    """
    if settings.control_tokens != "neutralise":
        return form

    marks = (Column(COLUMN, "bool", lambda row: False),) if form.in_parquet else ()
    cuts = {name: marking(one, settings) for name, one in form.cuts.items()}

    return msgspec.structs.replace(form, cuts=cuts, columns=(*form.columns, *marks))


def marked(record: dict[str, Any], form: Form) -> dict[str, Any]:
    """A record whose texts were changed, which says so where it has a place: a column, ATIF in
    `extra.synth`, a session trace in its header.
    """
    if form.layout == "lines":
        return record
    if form.layout != "files":
        return {**record, COLUMN: True}

    # of a session the first line is the header; a document is one line
    head, line, rest = record["text"].partition("\n")
    document = json.loads(head)
    place = document["extra"]["synth"] if "extra" in document else document
    place[COLUMN] = True

    return {**record, "text": f"{plain_text(document)}{line}{rest}"}
