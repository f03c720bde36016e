"""Trajectories of other tools, read into a ledger."""

from math import isfinite
from pathlib import Path

from synth.engine.progress import progress_for
from synth.flows.parts import part
from synth.flows.plugins import plugin
from synth.flows.run_folder import refuse_foreign
from synth.importers.commit import import_into
from synth.importers.records import Format, ImportSettings
from synth.importers.registry import IMPORTERS
from synth.importers.tally import ImportTally
from synth.schemas import ConfigError


def import_trajectories(
    *sources: Path | str,
    into: Path | str,
    format: str = "auto",
    reward_threshold: float = 1.0,
    max_record_mb: int = 256,
    dry_run: bool = False,
    quiet: bool = False,
) -> ImportTally:
    """Reads files and folders into a run, which is made where there is none; what cannot be used is
    counted by reason.

    `format`: a name, `auto` to look at the content, or the name of an installed package's importer.
    A reward of at least `reward_threshold` is a success where only one is given. Nothing found at
    all leaves the run as it was; the tally says what was looked at. Raises `ConfigError`.
    """
    if not isfinite(reward_threshold):
        raise ConfigError(f"--reward-threshold {reward_threshold}: must be a number")
    if not 1 <= max_record_mb <= 1 << 20:
        raise ConfigError(f"max_record_mb {max_record_mb}: must be from 1 to {1 << 20:,}")
    refuse_foreign(str(into), option="--into")
    settings = ImportSettings(
        reward_threshold=reward_threshold, max_record_bytes=max_record_mb << 20
    )
    paths = [Path(source) for source in sources]
    return import_into(
        str(into), paths, _format(format), progress_for(quiet=quiet), settings, dry_run=dry_run
    )


def _format(name: str) -> str | Format:
    """A name of ours, or the importer that an installed package brings. Raises `ConfigError`."""
    if name.replace("-", "_") in ("auto", *IMPORTERS) or plugin("format", name) is None:
        return name
    found = part("format", name, IMPORTERS)
    if not isinstance(found, Format):
        raise ConfigError(
            f"format {name!r} is a {type(found).__name__}, not a synth.importers.records.Format"
        )
    return found
