"""SFT data sets: whole trajectories as chats, with the turns that carry loss."""

from collections import Counter
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import cast

import msgspec

from schemas.errors import ConfigError
from schemas.trajectory import Trajectory
from schemas.verdict import Verdict
from synth.exporters.dataset_folder import DatasetFolder
from synth.exporters.registry import SFT_FORMS
from synth.exporters.sft_card import sft_card
from synth.exporters.sft_rows import SftForm, SftSettings
from synth.exporters.sft_tally import SftTally
from synth.exporters.spelling import Spelling, as_key


class ExportReport(msgspec.Struct, frozen=True):
    """What was written, and what was not: `filtered` by filter and reason, `left_out` by the export's own reasons.

    `masked` counts turns without loss by reason; `empty` says why there are no rows, and so no data set.
    """

    rows: int
    written: tuple[str, ...]
    left_out: Counter[str]
    filtered: Counter[str]
    notes: tuple[str, ...]
    trained_turns: int = 0
    masked: Counter[str] = msgspec.field(default_factory=Counter)
    unparsed_calls: int = 0
    empty: str | None = None


def export_sft(
    trajectories: Iterable[tuple[Trajectory, Mapping[str, Verdict]]],
    folder: DatasetFolder,
    settings: SftSettings | None = None,
    say: Spelling = as_key,
) -> ExportReport:
    """Writes the rows that may be trained on to a folder that `datasets.load_dataset` reads; memory is bounded by the shard.

    Each trajectory comes with its verdicts by filter name. Without a single row nothing is written, and what stands in the folder stays.
    Raises `ConfigError` for an unknown form, and for what the folder must not replace.
    """
    settings = settings or SftSettings()
    form = _form(settings.form)
    tally = SftTally(settings, form, say)
    with folder:
        folder.write_shards((form.record(row) for row in tally.taken(trajectories)), form.schema(), settings.rows_per_shard)
        written: tuple[str, ...] = ()
        if tally.rows:
            described = {"kind": "sft", "form": form.name, "settings": settings.model_dump(mode="json"), **tally.summary()}
            written = folder.commit(sft_card(tally, folder.shards), described)
    return ExportReport(
        rows=tally.rows,
        written=written,
        left_out=tally.left_out,
        filtered=tally.filtered,
        notes=tuple(tally.notes()),
        trained_turns=tally.trained_turns,
        masked=tally.masked,
        unparsed_calls=tally.unparsed_calls,
        empty=None if tally.rows else tally.why_empty(),
    )


def _form(name: str) -> SftForm:
    if name not in SFT_FORMS:
        raise ConfigError(f"form {name!r} is not known for kind sft; allowed: {', '.join(sorted(SFT_FORMS))}")
    module, _, attribute = SFT_FORMS[name].partition(":")
    return cast(SftForm, getattr(import_module(module), attribute))
