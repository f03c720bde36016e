"""A run is written into a folder of its own: one that holds a user's files under the names that a run uses is refused, unchanged."""

import re
from pathlib import Path

from schemas.errors import ConfigError
from synth.ledger import manifest
from synth.ledger.ledger import Ledger
from synth.ledger.storage import TEMPORARY, Storage
from synth.ledger.tables import TABLES

FILES = ("flow.yaml", "cost.json")
FOLDERS = ("datasets", *TABLES)
_NAMED = 3
_SHARD = re.compile(rf"[0-9a-f]{{32}}\.parquet|{re.escape(TEMPORARY)}.*")


def refuse_foreign(url: str, flow_file: Path | None = None, *, option: str = "--run-dir", empty: bool = False) -> None:
    """Raises `ConfigError` where a run at `url` would mix with, or write over, what it did not make; nothing is written.

    With `empty`, whatever else is there is a reason too. Shards without a manifest are what a first import that was killed has left.
    """
    storage = Storage(url)
    if manifest.read(storage, 0) is not None:
        return
    taken = [name for name in FILES if storage.size(name) is not None]
    if storage.local:
        taken += [name for name in FOLDERS if _holds_a_users_files(Path(storage.root, name))]
        if flow_file is not None and flow_file.exists() and flow_file.resolve().parent == Path(storage.root).resolve():
            taken.append(flow_file.name)
        if empty and Path(storage.root).is_dir():
            taken += sorted(entry.name for entry in Path(storage.root).iterdir() if entry.name not in ("manifest", *TABLES))
    if taken:
        named = ", ".join([*dict.fromkeys(taken)][:_NAMED])
        raise ConfigError(f"{url}: is not a run folder, and holds {named}; name another one with {option}, such as runs/mine")


def _holds_a_users_files(path: Path) -> bool:
    if not path.is_dir():
        return path.exists()
    return path.name == "datasets" or any(_SHARD.fullmatch(entry.name) is None for entry in path.iterdir())


def refuse_their_flow_file(ledger: Ledger) -> None:
    """Raises `ConfigError` where a ledger that no flow has run on, an import's, lies beside a flow.yaml: it is the user's."""
    if ledger.state.flow is None and ledger.storage.size("flow.yaml") is not None:
        raise ConfigError(f"{ledger.storage.url}: holds a flow.yaml that no run wrote, and imports only; move that file elsewhere first")
