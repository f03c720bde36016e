"""Writes a data set of any kind in any form: rows in, one at a time; a folder and a report out."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from synth.exporters.card import card
from synth.exporters.control_tokens import as_the_flow_says, guarded, marking
from synth.exporters.dataset_folder import DatasetFolder
from synth.exporters.kind import Form, Kind, NotRepresentableError, RowSettings, Spelling, as_key
from synth.exporters.notes import deciding, losses, notes, remedial_setting, why_empty
from synth.exporters.registry import form_of, forms_of, kind_of
from synth.exporters.tally import ExportCounts, identity_of
from synth.ledger.ledger import Ledger
from synth.schemas.errors import ConfigError
from synth.set_aside import UNHANDLED

Rows = Callable[[ExportCounts], Iterable[Any]]
MOST_REASONS = 3
"""That are told one after the other of an export without rows."""


class ExportReport(msgspec.Struct, frozen=True):
    """What was written, and what was not: `filtered` by filter and reason, `left_out` by the
    export's own reasons.

    `masked` counts turns without loss by reason, `unsaid` rows by what the form has no place for;
    `loss` is the size of what carries loss,
    in `loss_unit`; `losses` are those of the notes that name what the form has no place for;
    `control_tokens`
    counts rows by token and place, whatever became of them; `empty` says why there are no rows, and
    so
    no data set.
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
    losses: tuple[str, ...] = ()
    control_tokens: Counter[str] = msgspec.field(default_factory=Counter)
    empty: str | None = None


Announce = Callable[[ExportReport], None]
"""Told what an export comes to before any of it stands in the folder: `written` is empty still."""


def _silent(report: ExportReport) -> None:
    pass


def export(
    kind: str,
    ledger: Ledger,
    folder: DatasetFolder,
    settings: RowSettings,
    say: Spelling = as_key,
    announce: Announce = _silent,
    unfinished: str | None = None,
) -> ExportReport:
    """A data set of a kind from a ledger; `unfinished`: what of the run is not through. Raises
    `ConfigError` for an unknown kind.
    """
    found, settings = kind_of(kind), as_the_flow_says(settings, ledger)
    return write(
        found, lambda tally: found.rows(ledger, tally), folder, settings, say, announce, unfinished
    )


def write(
    kind: Kind,
    rows: Rows,
    folder: DatasetFolder,
    settings: RowSettings,
    say: Spelling = as_key,
    announce: Announce = _silent,
    unfinished: str | None = None,
) -> ExportReport:
    """Writes the rows to a folder that the form's consumer reads; memory is bounded by the shard.

    Without a single row nothing is written, and what stands in the folder stays. Raises
    `ConfigError` for an unknown form, and for what
    the folder must not replace.
    """
    tally = tally_for(kind, rows, settings, say)
    tally.unfinished = unfinished
    return write_records(tally, records(rows(tally), tally.form, tally), rows, folder, announce)


def write_records(
    tally: ExportCounts,
    written: Iterable[dict[str, Any]],
    rows: Rows,
    folder: DatasetFolder,
    announce: Announce = _silent,
) -> ExportReport:
    """Writes records aside as they come; then says what they come to, and what the form lost of
    them; then puts all in its place.
    """
    kind, form, settings = tally.kind, tally.form, tally.settings
    with folder:
        folder.write(written, form, settings.rows_per_shard)
        for name, made in tally.beside.items() if tally.rows else ():
            if blob := made():
                folder.add(name, blob)
        if tally.rows:
            folder.refuse()
        report = _report(tally, rows)
        announce(report)
        if tally.rows:
            described = {
                "kind": kind.name,
                "form": form.name,
                "settings": settings.model_dump(mode="json"),
                **tally.summary(),
            }
            report = msgspec.structs.replace(
                report, written=folder.commit(card(tally, folder.files), described)
            )
    return report


def _report(tally: ExportCounts, rows: Rows) -> ExportReport:
    alike = ("rows", "left_out", "filtered", "masked", "unsaid", "control_tokens")
    counted: dict[str, Any] = {name: getattr(tally, name) for name in alike}
    counted |= {name: tally.counts[name] for name in ("trained_turns", "unparsed_calls")}
    counted["loss"], counted["loss_unit"] = tally.loss()
    return ExportReport(
        **counted,
        written=(),
        notes=tuple(notes(tally)),
        losses=tuple(losses(tally)),
        empty=None if tally.rows else why_empty([*_remedied(tally, rows)]),
    )


def _remedied(tally: ExportCounts, rows: Rows) -> Iterator[ExportCounts]:
    """An export without rows, then the same with the setting that takes in what it left out, while
    that gives no rows either.

    Each candidate is counted under its first reason, behind which others stand. The ledger is read
    again for each.
    """
    yield tally
    for _ in range(MOST_REASONS - 1):
        found = deciding(tally)
        remedy = None if found is None else remedial_setting(found[0])
        if remedy is None or getattr(tally.settings, remedy[0]) == remedy[1]:
            return
        tally = tally.with_setting(*remedy)
        if any(True for _ in records(rows(tally), tally.form, tally)):
            return
        yield tally


def tally_for(
    kind: Kind, rows: Rows, settings: RowSettings, say: Spelling = as_key
) -> ExportCounts:
    """An empty tally, in the form that the rows are to be written in: with `unroll: auto` they are
    looked at once before.
    """
    form = marking(form_of(kind.name, settings.form), settings)
    if settings.unroll == "whole":
        return ExportCounts(kind, settings, form, say)
    if form.per_turn is None:
        can = [
            name for name in forms_of(kind.name) if form_of(kind.name, name).per_turn is not None
        ]
        raise ConfigError(
            f"form {form.name} of {kind.name} cannot be written per turn; "
            f"{', '.join(can) or 'no form of it'} can"
        )
    if settings.unroll == "auto":
        from synth.exporters.proof.template import served_template
        from synth.exporters.proof.turns import all_prefixes_stay

        tally = ExportCounts(kind, settings, form.per_turn, say)
        whole = (one.row for one in guarded(rows(tally), tally))
        if all_prefixes_stay(whole, served_template(settings.student or "")):
            return ExportCounts(kind, settings, form, say)
    return ExportCounts(kind, settings, form.per_turn, say, per_turn=True)


def records(rows: Iterable[Any], form: Form, tally: ExportCounts) -> Iterator[dict[str, Any]]:
    """The rows as the form writes them; what it has no place for is left out and counted, what it
    loses of a row is counted.

    A row that it cannot write is set aside.
    """
    for found in guarded(rows, tally):
        try:
            record = form.mark(form.record(found.row), found.done == "neutralise")
            unsaid = form.unsaid(found.row)
            tally.count(found.row)
        except NotRepresentableError as error:
            tally.leaves(f"{form.name}:{error.reason}")
            continue
        except UNHANDLED as error:
            tally.aside.add(identity_of(found.row), error)
            continue
        tally.count_control_tokens(found.done)
        tally.unsaid.update(unsaid)
        yield record
    tally.settle()
