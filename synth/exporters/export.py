"""Writes a data set of any kind in any form: rows in, one at a time; a folder and a report out."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from schemas.errors import ConfigError
from synth.exporters.card import card
from synth.exporters.dataset_folder import DatasetFolder
from synth.exporters.kind import Form, Kind, UnsayableError
from synth.exporters.notes import notes, why_empty
from synth.exporters.registry import form_of, forms_of, kind_of
from synth.exporters.settings import RowSettings
from synth.exporters.spelling import Spelling, as_key
from synth.exporters.tally import Tally
from synth.ledger.ledger import Ledger

Rows = Callable[[Tally], Iterable[Any]]


class ExportReport(msgspec.Struct, frozen=True):
    """What was written, and what was not: `filtered` by filter and reason, `left_out` by the export's own reasons.

    `masked` counts turns without loss by reason, `unsaid` rows by what the form has no place for; `loss` is the size of what carries loss,
    in `loss_unit`; `empty` says why there are no rows, and so no data set.
    """

    rows: int
    written: tuple[str, ...]
    left_out: Counter[str]
    filtered: Counter[str]
    notes: tuple[str, ...]
    trained_turns: int = 0
    masked: Counter[str] = msgspec.field(default_factory=Counter)
    unparsed_calls: int = 0
    unsaid: Counter[str] = msgspec.field(default_factory=Counter)
    loss: int = 0
    loss_unit: str = "characters"
    empty: str | None = None


def export(kind: str, ledger: Ledger, folder: DatasetFolder, settings: RowSettings, say: Spelling = as_key) -> ExportReport:
    """A data set of a kind from a ledger. Raises `ConfigError` for an unknown kind or form."""
    found = kind_of(kind)
    return write(found, lambda tally: found.rows(ledger, tally), folder, settings, say)


def write(kind: Kind, rows: Rows, folder: DatasetFolder, settings: RowSettings, say: Spelling = as_key) -> ExportReport:
    """Writes the rows to a folder that the form's consumer reads; memory is bounded by the shard.

    Without a single row nothing is written, and what stands in the folder stays. Raises `ConfigError` for an unknown form, and for what
    the folder must not replace.
    """
    tally = tally_for(kind, rows, settings, say)
    return write_records(tally, records(rows(tally), tally.form, tally), folder)


def write_records(tally: Tally, written: Iterable[dict[str, Any]], folder: DatasetFolder) -> ExportReport:
    """Writes records as they come, and then, with what the tally has counted by then, card and manifest."""
    kind, form, settings = tally.kind, tally.form, tally.settings
    names: tuple[str, ...] = ()
    with folder:
        folder.write(written, form, settings.rows_per_shard)
        if tally.rows:
            for name, made in tally.beside.items():
                if blob := made():
                    folder.add(name, blob)
            described = {"kind": kind.name, "form": form.name, "settings": settings.model_dump(mode="json"), **tally.summary()}
            names = folder.commit(card(tally, folder.files), described)
    counts = tally.counts
    return ExportReport(
        rows=tally.rows,
        written=names,
        left_out=tally.left_out,
        filtered=tally.filtered,
        notes=tuple(notes(tally)),
        trained_turns=counts["trained_turns"],
        masked=tally.masked,
        unparsed_calls=counts["unparsed_calls"],
        unsaid=tally.unsaid,
        loss=counts["loss_tokens"] or counts["loss_characters"],
        loss_unit="tokens" if counts["loss_tokens"] else "characters",
        empty=None if tally.rows else why_empty(tally),
    )


def tally_for(kind: Kind, rows: Rows, settings: RowSettings, say: Spelling = as_key) -> Tally:
    """An empty tally, in the form that the rows are to be written in: with `unroll: auto` they are looked at once before."""
    form = form_of(kind.name, settings.form)
    if settings.unroll == "whole":
        return Tally(kind, settings, form, say)
    if form.per_turn is None:
        can = [name for name in forms_of(kind.name) if form_of(kind.name, name).per_turn is not None]
        raise ConfigError(f"form {form.name} of {kind.name} cannot be written per turn; {', '.join(can) or 'no form of it'} can")
    if settings.unroll == "auto":
        from synth.exporters.proof.prefixes import all_prefixes_stay
        from synth.exporters.proof.template import served_template

        if all_prefixes_stay(rows(Tally(kind, settings, form.per_turn, say)), served_template(settings.student or "")):
            return Tally(kind, settings, form, say)
    return Tally(kind, settings, form.per_turn, say, per_turn=True)


def records(rows: Iterable[Any], form: Form, tally: Tally) -> Iterator[dict[str, Any]]:
    """The rows as the form writes them; what it has no place for is left out and counted, what it loses of a row is counted."""
    for row in rows:
        try:
            record = form.record(row)
        except UnsayableError as error:
            tally.leaves(f"{form.name}:{error.reason}")
            continue
        tally.count(row)
        tally.unsaid.update(form.unsaid(row))
        yield record
