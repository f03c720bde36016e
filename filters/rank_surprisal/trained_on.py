"""Whether a student has been trained on a run's rows: its card names a data set that the run
wrote.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from synth.schemas.errors import ConfigError

_SHARD = re.compile(r"train-([0-9a-f]{16})-\d{5}\.parquet")
_HASH = re.compile(r"\b[0-9a-f]{16}\b")


def card_of(model: str, named: str | None) -> Path | None:
    """The student's card: the file that the settings name, else README.md in the model's folder;
    None where neither is to be had.

    Raises `ConfigError` where the named file cannot be read.
    """
    if named is not None:
        path = Path(named).expanduser()
        if not path.is_file():
            raise ConfigError(
                f"rank_surprisal.card: {named} is no file; name the student's model card, or "
                "leave it out"
            )
        return path
    path = Path(model).expanduser() / "README.md"
    return path if path.is_file() else None


def datasets_of(run: Path) -> Iterator[tuple[str, Path]]:
    """(hash, folder) of the data sets in a run's folder: the hash is that in the names of their
    shards.
    """
    for folder in sorted((run / "datasets").glob("*/")):
        for found in sorted(
            {match[1] for file in folder.iterdir() if (match := _SHARD.fullmatch(file.name))}
        ):
            yield found, folder


def trained_on(card: Path, run: Path) -> Path | None:
    """The data set of the run whose hash stands in the card, None where there is none."""
    named = set(_HASH.findall(card.read_text(encoding="utf-8", errors="replace")))
    return next((folder for found, folder in datasets_of(run) if found in named), None)
