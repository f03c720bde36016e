"""SFT data sets: whole trajectories as chats, with the turns that carry loss."""

from collections import Counter
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import cast

import msgspec

from schemas.errors import ConfigError
from schemas.trajectory import Trajectory
from schemas.verdict import Verdict
from synth.exporters.registry import SFT_FORMS
from synth.exporters.sft_card import sft_card
from synth.exporters.sft_rows import SftForm, SftSettings
from synth.exporters.sft_tally import SftTally
from synth.exporters.shards import DatasetFolder


class ExportReport(msgspec.Struct, frozen=True):
    """What was written, and what was left out by reason; `masked` counts turns without loss by reason."""

    rows: int
    written: tuple[Path, ...]
    left_out: Counter[str]
    notes: tuple[str, ...]
    trained_turns: int = 0
    masked: Counter[str] = msgspec.field(default_factory=Counter)
    unparsed_calls: int = 0


def export_sft(
    trajectories: Iterable[tuple[Trajectory, Mapping[str, Verdict]]], out: Path, settings: SftSettings | None = None
) -> ExportReport:
    """Writes the rows that may be trained on to a folder that `datasets.load_dataset` reads; memory is bounded by the shard.

    Each trajectory comes with its verdicts by filter name. Raises `ConfigError` for an unknown form, and for an output folder that
    holds anything but this same data set (`overwrite` replaces one that was written here before).
    """
    settings = settings or SftSettings()
    form = _form(settings.form)
    tally = SftTally(settings, form)
    with DatasetFolder(out, overwrite=settings.overwrite) as folder:
        folder.write_shards((form.record(row) for row in tally.taken(trajectories)), form.schema(), settings.rows_per_shard)
        folder.write_text("README.md", sft_card(tally))
        written = folder.commit(
            {"kind": "sft", "form": form.name, "settings": settings.model_dump(mode="json", exclude={"overwrite"}), **tally.summary()}
        )
    return ExportReport(tally.rows, written, tally.left_out, tuple(tally.notes()), tally.trained_turns, tally.masked, tally.unparsed_calls)


def _form(name: str) -> SftForm:
    if name not in SFT_FORMS:
        raise ConfigError(f"form {name!r} is not known for kind sft; allowed: {', '.join(sorted(SFT_FORMS))}")
    module, _, attribute = SFT_FORMS[name].partition(":")
    return cast(SftForm, getattr(import_module(module), attribute))
