"""Runs and datasets are data, all that lies in them: nothing is imported from there, and nothing
starts there that would.
"""

from pathlib import Path

from synth.exporters.folder.sums import SUMS, names_dataset
from synth.ledger.log import manifest
from synth.ledger.storage import Storage
from synth.schemas import ConfigError


def data_around(path: Path) -> Path | None:
    """The run, or the dataset, that a path is or lies in, links followed or not; None for a place
    of the user's own.
    """
    ways = dict.fromkeys((path.absolute(), path.resolve()))
    places = dict.fromkeys(folder for way in ways for folder in (way, *way.parents))
    return next((folder for folder in places if _is_run(folder) or _is_dataset(folder)), None)


def _is_run(folder: Path) -> bool:
    return Path(folder, manifest.name_of(0)).exists()


def _is_dataset(folder: Path) -> bool:
    return Path(folder, SUMS).is_file() and names_dataset(Storage(str(folder)))


def refuse_to_start_in_data(what: str) -> None:
    """Raises `ConfigError` where `what`, which imports from the folder that it is started in, would
    be started in a run or a dataset.
    """
    around = data_around(Path.cwd())
    if around is not None:
        raise ConfigError(
            f"{what} imports from the folder that it starts in, and this one lies in the data "
            f"{around}: go to one of your own"
        )
