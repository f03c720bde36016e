"""Whether a student was trained on the rows that it is to score: its model card names the data sets
that it was trained on.
"""

import re
from pathlib import Path

from synth.engine.asking import SourceMeans
from synth.schemas import ConfigError

_SHARD = re.compile(r"train-([0-9a-f]{16})-\d{5}\.parquet")
_HASH = re.compile(r"\b[0-9a-f]{16}\b")


def refuse_trained(student: str, role: str, named: str | None, means: SourceMeans) -> None:
    """Says where it cannot be known whether a student was trained on this run's rows. `named`: its
    card, as the settings have it.

    Raises `ConfigError` where the card names a data set of this run (see `trained_on`), or cannot
    be read.
    """
    storage = means.run.ledger.storage
    card = _card_of(student, named)
    if card is None or not storage.local:
        why = (
            "it has no card here, name its model card as `card`"
            if card is None
            else "the run lies on an object store, look yourself"
        )
        means.run.say_once(
            f"rank_surprisal: whether {student} was trained on this run's rows is not known: {why}"
        )
        return

    found = trained_on(card, Path(storage.root))
    if found is not None:
        raise ConfigError(
            f"rank_surprisal: {student} was trained on {found} ({card} names its hash), so that "
            f"its ratio on these rows says nothing; let the model before that training play the "
            f"role {role!r}"
        )


def _card_of(model: str, named: str | None) -> Path | None:
    """The file that the settings name, else README.md in the model's folder; None where neither is
    to be had.
    """
    path = Path(model, "README.md").expanduser() if named is None else Path(named).expanduser()
    if path.is_file():
        return path
    if named is not None:
        raise ConfigError(
            f"rank_surprisal.card: {named} is no file; name the student's model card, or leave it "
            "out"
        )

    return None


def trained_on(card: Path, run: Path) -> Path | None:
    """The data set of the run whose hash (that in the names of its shards) stands in the card, None
    where there is none.
    """
    named = set(_HASH.findall(card.read_text(encoding="utf-8", errors="replace")))
    for file in sorted((run / "datasets").glob("*/*")):
        match = _SHARD.fullmatch(file.name)
        if match is not None and match[1] in named:
            return file.parent

    return None
