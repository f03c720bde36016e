"""Rows whose texts hold control tokens: left out, neutralised and marked, or kept and told of;
every kind and form comes through here.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any

import msgspec

from synth.exporters.forms.columns import Column, plain_text
from synth.exporters.kind import ControlTokenPolicy, Form, NotRepresentableError, RowSettings
from synth.exporters.tally import ExportCounts, identity_of
from synth.ledger.ledger import Ledger
from synth.schemas.trajectory import Source, ToolCall, Trajectory
from synth.text.control_tokens import (
    ControlTokens,
    Hit,
    KeyCollisionError,
    control_tokens,
    found,
    neutralising,
)

RESULT_WITHOUT_ID = "tool_result_without_id"
RESULT_WITHOUT_CALL = "tool_result_without_call"
CALL_WITHOUT_RESULT = "call_without_tool_result"


def broken_link(trajectory: Trajectory) -> str | None:
    """The first broken link by name, or None; calls of the last turn may stand unanswered, because
    the episode ended there.

    A result may come turns after its call. Imports link what their source tells by order alone;
    whatever has no id after that has none.
    """
    if any(observation.source is Source.TOOL for observation in trajectory.opening):
        return RESULT_WITHOUT_CALL
    waiting: list[tuple[int, ToolCall]] = []
    for at, turn in enumerate(trajectory.turns):
        waiting += [(at, call) for call in turn.tool_calls]
        for observation in turn.observations:
            if observation.source is not Source.TOOL:
                continue
            if not observation.call_id:
                return RESULT_WITHOUT_ID
            answered = next(
                (i for i, (_, call) in enumerate(waiting) if call.call_id == observation.call_id),
                None,
            )
            if answered is None:
                return RESULT_WITHOUT_CALL
            del waiting[answered]
    return (
        CALL_WITHOUT_RESULT
        if any(asked < len(trajectory.turns) - 1 for asked, _ in waiting)
        else None
    )


FILTER = "control_tokens"
"""The filter whose decision an export goes by where it has no policy of its own, and the reason of
what is left out.
"""
COLUMN = "neutralised"
"""In rows that have a place for it: whether its texts were changed."""
SIDE_FILE = f"{COLUMN}.jsonl"
"""Beside lines whose readers take no other keys than their own: the numbers of those rows, from 0.
"""


class Guarded(msgspec.Struct, frozen=True):
    """A row as it may be written, and what was done about control tokens in it: nothing where it
    has none.
    """

    row: Any
    done: ControlTokenPolicy | None = None


def as_the_flow_says(settings: RowSettings, ledger: Ledger) -> RowSettings:
    """The settings with a policy: their own, else that of the current flow's filter, else
    `drop`.
    """
    if settings.control_tokens is not None:
        return settings
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
        guarded_row = tally.aside.tried(identity_of(row), partial(_guarded, row, tally, tokens))
        if guarded_row is not None:
            yield guarded_row


def _guarded(row: Any, tally: ExportCounts, tokens: ControlTokens) -> Guarded | None:
    """The row as it may be written; None where it may not: its answers do not belong to its calls,
    or it holds control tokens.
    """
    if isinstance(row.lineage, Trajectory) and tally.leaves(broken_link(row.lineage)):
        return None
    hits = _found(row, tally, tokens)
    if not hits:
        return Guarded(row)
    tally.control_tokens.update({f"{token} in {place}" for token, place in hits})
    if tally.policy == "keep":
        return Guarded(row, "keep")
    if tally.policy == "drop":
        tally.leaves(_reason(hits))
        return None
    changed = _neutralised(row, tally, tokens)
    return None if changed is None else Guarded(changed, "neutralise")


def tokens_of(tally: ExportCounts) -> ControlTokens:
    """The table's tokens, and those of the student's tokenizer and template where one is named and
    can be opened here.
    """
    if tally.settings.student is None or find_spec("transformers") is None:
        return control_tokens()
    from synth.exporters.proof.template import own_tokens, served_template

    return control_tokens(own_tokens(served_template(tally.settings.student)))


def _found(row: Any, tally: ExportCounts, tokens: ControlTokens) -> list[Hit]:
    return found(lambda change: tally.kind.texts(row, tally.form, change), tokens)


def _neutralised(row: Any, tally: ExportCounts, tokens: ControlTokens) -> Any | None:
    """The row with no token left in it, or None where it cannot be had: a token over two texts, one
    in what a world works with.
    """
    try:
        changed = tally.kind.texts(row, tally.form, neutralising(tokens))
    except (KeyCollisionError, NotRepresentableError):
        tally.leaves(f"{FILTER}:not_neutralised")
        return None
    left = _found(changed, tally, tokens)
    return None if left and tally.leaves(_reason(left)) else changed


def _reason(hits: list[Hit]) -> str:
    token, place = hits[0]
    return f"{FILTER}:{token}:{place}"


def marking(form: Form, settings: RowSettings) -> Form:
    """The form with a place that says which rows were neutralised, where the settings ask for
    that.
    """
    if settings.control_tokens != "neutralise":
        return form
    per_turn = None if form.per_turn is None else marking(form.per_turn, settings)
    if form.layout == "lines":
        return msgspec.structs.replace(form, per_turn=per_turn)
    if form.layout == "files":
        return msgspec.structs.replace(form, mark=_in_file)
    return msgspec.structs.replace(
        form,
        per_turn=per_turn,
        columns=(*form.columns, Column(COLUMN, "bool", lambda row: False)),
        mark=lambda record, changed: {**record, COLUMN: changed},
    )


def _in_file(record: dict[str, Any], changed: bool) -> dict[str, Any]:
    """ATIF has `extra.synth` for it, a session trace its header."""
    if not changed:
        return record
    head, line, rest = record["text"].partition("\n")
    document = json.loads(head)
    if "extra" in document:
        document["extra"]["synth"][COLUMN] = True
    else:
        document[COLUMN] = True
    return {**record, "text": f"{plain_text(document)}{line}{rest}"}
