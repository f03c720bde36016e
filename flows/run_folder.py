"""A run is written into a folder of its own: one that holds a user's files under the names that a run uses is refused, unchanged."""

from pathlib import Path

from schemas.errors import ConfigError
from synth.ledger import manifest
from synth.ledger.ledger import Ledger
from synth.ledger.storage import Storage
from synth.ledger.tables import TABLES

FILES = ("flow.yaml", "cost.json")
FOLDERS = ("datasets", *TABLES)


def refuse_foreign(url: str, flow_file: Path | None = None) -> None:
    """Raises `ConfigError` where a run at `url` would mix with, or write over, what it did not make; nothing is written."""
    storage = Storage(url)
    if manifest.read(storage, 0) is not None:
        return
    taken = [name for name in FILES if storage.size(name) is not None]
    if storage.local:
        taken += [name for name in FOLDERS if Path(storage.root, name).exists()]
        if flow_file is not None and flow_file.exists() and flow_file.resolve().parent == Path(storage.root).resolve():
            taken.append(flow_file.name)
    if taken:
        raise ConfigError(f"{url}: is not a run folder, and holds {', '.join(dict.fromkeys(taken))}; {_OTHER}")


def refuse_their_flow_file(ledger: Ledger) -> None:
    """Raises `ConfigError` where a ledger that no flow has run on, an import's, lies beside a flow.yaml: it is the user's."""
    if ledger.state.flow is None and ledger.storage.size("flow.yaml") is not None:
        raise ConfigError(f"{ledger.storage.url}: holds a flow.yaml that no run wrote, and imports only; move that file elsewhere first")


_OTHER = "name another one with --run-dir, such as runs/mine"
