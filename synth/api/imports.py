"""Trajectories of other tools, read into a ledger."""

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from synth.engine.progress import progress_for
from synth.flows.own.run_folder import refuse_foreign
from synth.flows.parts import part, plugin
from synth.importers.chats.words import COLUMNS
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
    columns: Mapping[str, str] | Sequence[str] = (),
    labels: Sequence[Path | str] = (),
    label_key: str | None = None,
    dry_run: bool = False,
    quiet: bool = False,
) -> ImportTally:
    """Reads files and folders into a run, which is made where there is none; what cannot be used is
    counted by reason.

    `format`: a name, `auto` to look at the content, or the name of an installed package's importer.
    A reward of at least `reward_threshold` is a success where only one is given. `columns` says
    under which key, or path, records have what (`{"messages": "data.chat"}`, or "messages=...").
    `labels` are files, or folders of reports, with verdicts, rewards, splits and step labels by id,
    path or pattern; `label_key` is a regular expression that takes an id out of a path. Nothing
    found at all leaves the run as it was; the tally says what was looked at, and in `labels` what
    nothing was found for. Raises `ConfigError`.
    """
    if not isfinite(reward_threshold):
        raise ConfigError(f"--reward-threshold {reward_threshold}: must be a number")
    if not 1 <= max_record_mb <= 1 << 20:
        raise ConfigError(f"max_record_mb {max_record_mb}: must be from 1 to {1 << 20:,}")
    refuse_foreign(str(into), option="--into")
    settings = ImportSettings(reward_threshold, max_record_mb << 20, _columns(columns))
    beside: dict[str, Any] = {
        "labels": [Path(one) for one in labels],
        "label_key": _pattern(label_key),
    }
    paths, progress = [Path(source) for source in sources], progress_for(quiet=quiet)
    return import_into(
        str(into), paths, _format(format), progress, settings, dry_run=dry_run, **beside
    )


def _columns(stated: Mapping[str, str] | Sequence[str]) -> dict[str, str]:
    """Keys by what they hold. Raises `ConfigError`."""
    listed = (
        stated.items() if isinstance(stated, Mapping) else (one.split("=", 1) for one in stated)
    )
    pairs = [(name, "".join(key)) for name, *key in listed]

    for name, key in pairs:
        if name not in COLUMNS or not key:
            raise ConfigError(
                f"--column {name}={key}: give NAME=KEY, where NAME is one of {', '.join(COLUMNS)} "
                "and KEY the key, or the path such as data.chat, that records have it under"
            )

    return dict(pairs)


def _pattern(stated: str | None) -> re.Pattern[str] | None:
    """A regular expression. Raises `ConfigError`."""
    try:
        return None if stated is None else re.compile(stated)
    except re.error as error:
        raise ConfigError(f"--label-key {stated!r} is no regular expression: {error}") from error


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
