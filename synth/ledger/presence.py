"""Which files of committed shards are there, looked at once as a run is opened."""

from collections.abc import Iterable

from synth.ledger.storage import Storage


class Presence:
    """In object storage a folder is listed once, a thousand names to a request; what the listing
    lacks is looked for by name.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._listed: dict[str, frozenset[str]] = {}

    def missing(self, paths: Iterable[str]) -> dict[str, str]:
        """Those of these files that are gone: path in the run -> whole path."""
        gone = (
            path for path in paths if not self._shown(path) and self._storage.size(path) is None
        )
        return {path: self._storage.path(path) for path in gone}

    def _shown(self, path: str) -> bool:
        if self._storage.local:
            return False
        folder, _, name = path.rpartition("/")
        if folder not in self._listed:
            self._listed[folder] = frozenset(self._storage.names(folder))
        return name in self._listed[folder]
