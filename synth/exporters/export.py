"""Writes a data set of any kind in any form: rows in, one at a time; a folder and a report out."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import msgspec

from synth.exporters.card import card
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.form import Cut, Form, NotRepresentableError
from synth.exporters.kind import Kind, RowSettings, Spelling, as_key, identity_of
from synth.exporters.kinds.control_tokens import as_the_flow_says, guarded, marked, marking
from synth.exporters.kinds.whispered import marks_of
from synth.exporters.notes import deciding, losses, notes, remedial_setting, why_empty
from synth.exporters.registry import KINDS, form_of, kind_of
from synth.exporters.tally import ExportCounts
from synth.ledger.ledger import StoredLedger
from synth.schemas import ConfigError
from synth.set_aside import UNHANDLED

Rows = Callable[[ExportCounts], Iterable[Any]]
Records = Iterator[dict[str, Any]]
MOST_REASONS = 3
"""That are told one after the other of an export without rows."""


class ExportReport(msgspec.Struct, frozen=True):
    """What was written, and what was not: `filtered` by filter and reason, `left_out` by the
    export's own reasons.

    `masked` counts turns without loss by reason, `unsaid` rows by what the form has no place for;
    `loss` is the size of what carries loss, in `loss_unit`; `losses` are those of the notes that
    name what the form has no place for; `control_tokens` counts rows by token and place, whatever
    became of them; `empty` says why there are no rows, and so no data set.
    """

    rows: int
    written: tuple[str, ...]
    left_out: Counter[str]
    filtered: Counter[str]
    notes: tuple[str, ...]
    trained_turns: int
    masked: Counter[str]
    unparsed_calls: int
    unsaid: Counter[str]
    loss: int
    loss_unit: str
    losses: tuple[str, ...]
    control_tokens: Counter[str]
    empty: str | None


Announce = Callable[[ExportReport], None]
"""Told what an export comes to before any of it stands in the folder: `written` is empty still."""


def export(
    kind: str,
    ledger: StoredLedger,
    folder: DatasetFolder,
    settings: RowSettings,
    say: Spelling = as_key,
    announce: Announce = lambda report: None,
    unfinished: str | None = None,
) -> ExportReport:
    """A data set of a kind from a ledger; `unfinished`: what of the run is not through. Raises
    `ConfigError` for an unknown kind or form, and for what the folder must not replace.
    """
    tally, rows = drawn(kind, ledger, settings, say, unfinished)
    return write(tally, rows, folder, announce)


def drawn(
    kind: str,
    ledger: StoredLedger,
    settings: RowSettings,
    say: Spelling = as_key,
    unfinished: str | None = None,
) -> tuple[ExportCounts, Rows]:
    """An empty tally for the rows of a kind from a ledger, and what draws these."""
    found = kind_of(kind)
    rows = partial(found.rows, ledger)
    tally = tally_for(found, rows, as_the_flow_says(settings, ledger), say)
    tally.unfinished, tally.marks = unfinished, marks_of(ledger)

    return tally, rows


def write(
    tally: ExportCounts,
    rows: Rows,
    folder: DatasetFolder,
    announce: Announce = lambda report: None,
    watched: Callable[[Records], Records] = iter,
) -> ExportReport:
    """Writes the rows aside as they come, `watched` on their way; then says what they come to, and
    what the form lost of them; then puts all in its place. Memory is bounded by the shard.

    Without a single row nothing is written, and what stands in the folder stays.
    """
    with folder:
        written = watched(records(rows(tally), tally))
        folder.write(written, tally.form, tally.settings.rows_per_shard)

        if not tally.rows:
            report = _report(tally, empty=why_empty([*_remedied(tally, rows)]))
            announce(report)

            return report

        for name, made in tally.beside.items():
            if blob := made():
                folder.add(name, blob)

        # refused before anything is told: what is announced will stand
        folder.refuse()
        report = _report(tally)
        announce(report)
        described = {
            "kind": tally.kind.name,
            "form": tally.form.name,
            "settings": tally.settings.model_dump(mode="json"),
            **tally.summary(),
        }

        names = folder.commit(card(tally, folder.files), described)

        return msgspec.structs.replace(report, written=names)


def _report(tally: ExportCounts, empty: str | None = None) -> ExportReport:
    alike = ("rows", "left_out", "filtered", "masked", "unsaid", "control_tokens")
    counted: dict[str, Any] = {name: getattr(tally, name) for name in alike}
    counted |= {name: tally.counts[name] for name in ("trained_turns", "unparsed_calls")}
    counted["loss"], counted["loss_unit"] = tally.loss()
    counted |= {"notes": tuple(notes(tally)), "losses": tuple(losses(tally))}

    return ExportReport(**counted, written=(), empty=empty)


def _remedied(tally: ExportCounts, rows: Rows) -> Iterator[ExportCounts]:
    """An export without rows, then the same with the setting that takes in what it left out, while
    that gives no rows either.

    Each candidate is counted under its first reason, behind which others stand. The ledger is read
    again for each.
    """
    yield tally

    # each round takes in what decided the one before
    for _ in range(MOST_REASONS - 1):
        found = deciding(tally)
        remedy = {} if found is None else remedial_setting(found[0])
        if remedy.items() <= tally.settings.model_dump().items():  # none, or taken already
            return

        tally = tally.anew(**remedy)
        if any(True for _ in records(rows(tally), tally)):
            return

        yield tally


def tally_for(
    kind: Kind, rows: Rows, settings: RowSettings, say: Spelling = as_key
) -> ExportCounts:
    """An empty tally, in the form that the rows are to be written in: with `unroll: auto` they are
    looked at once before, where the form can be written per turn.
    """
    form = marking(form_of(kind.name, settings.form), settings)
    whole, asked = ExportCounts(kind, settings, form, say), settings.unroll
    if asked == "whole" or (asked == "auto" and "per_turn" not in form.cuts):
        return whole

    cut = {name: ExportCounts(kind, settings, one, say, name) for name, one in form.cuts.items()}
    if asked != "auto":
        if asked not in cut:
            raise ConfigError(_cannot(kind, form, asked))
        return cut[asked]

    if _fits_whole(whole.anew(), rows):
        return whole
    if "context" in cut and _keeps_as_much(cut["context"], cut["per_turn"], rows):
        return cut["context"]
    return cut["per_turn"]


def _keeps_as_much(cut: ExportCounts, each: ExportCounts, rows: Rows) -> bool:
    """Whether rows that were cut behind turns without loss hold all that a row per turn would."""
    if not cut.form.begun:
        return cut.settings.student is None or _fits_whole(cut.anew(), rows)

    held = []
    for tally in (cut.anew(), each.anew()):
        for _ in records(rows(tally), tally):
            pass
        held.append(tally.counts["trained_turns"])
    return held[0] >= held[1]


def _cannot(kind: Kind, form: Form, asked: Cut) -> str:
    """That a form cannot be cut so, and which forms of the kind can."""
    can = [name for name in KINDS[kind.name] if asked in form_of(kind.name, name).cuts]
    cut = "with a context" if asked == "context" else "per turn"
    which = ", ".join(can) or "no form of it"
    return f"form {form.name} of {kind.name} cannot be written {cut}; {which} can"


def _fits_whole(tally: ExportCounts, rows: Rows) -> bool:
    """Whether trajectories can stand as they are: none would be left out for turns without loss,
    and the student's template, where there is one, renders what stood before a turn alike once the
    turn is there. The look is no part of the export: `tally` counts it apart.
    """
    chats = (one.row for one in guarded(rows(tally), tally))
    stay = True
    if tally.settings.student is not None:
        from synth.exporters.proof.turns import all_prefixes_stay
        from synth.exporters.template import served_template

        stay = all_prefixes_stay(chats, served_template(tally.settings.student))

    for _ in chats:
        if not stay or tally.leaves_out_masked:
            break

    return stay and not tally.leaves_out_masked


def records(rows: Iterable[Any], tally: ExportCounts) -> Records:
    """The rows as the form writes them; what it has no place for is left out and counted, what it
    loses of a row is counted.

    A row that it cannot write is set aside.
    """
    form = tally.form

    for found in guarded(rows, tally):
        # a row counts only once the form has taken all of it
        try:
            record, unsaid = form.record(found.row), form.unsaid(found.row)
            tally.count(found.row, found.done)
        except NotRepresentableError as error:
            tally.leaves(f"{form.name}:{error.reason}")
        except UNHANDLED as error:
            tally.aside.add(identity_of(found.row), error)
        else:
            tally.unsaid.update(unsaid)
            yield marked(record, form) if found.done == "neutralise" else record

    tally.settle()
