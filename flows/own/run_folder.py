"""A run is written into a folder of its own: one that holds what is no run's is refused,
unchanged.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from synth.claims import claims, workers
from synth.engine.context import Run
from synth.exporters.folder.in_run import refuse_others
from synth.flows.stages.export import exports_among
from synth.ledger.ledger import StoredLedger
from synth.ledger.log import manifest
from synth.ledger.storage import TEMPORARY, Storage
from synth.ledger.tables import TABLES
from synth.schemas import ConfigError, Stage, printable

_NAMED = 3
_SHARD = re.compile(rf"[0-9a-f]{{32}}\.parquet|{re.escape(TEMPORARY)}.*")
_LOGS = (".log", ".out", ".err")
"""Endings of what a shell or a scheduler opens in a run folder before the run begins."""
_OF_NOBODY = frozenset({".DS_Store", ".gitignore", ".gitkeep", "lost+found"})
"""What an empty folder holds."""
_OURS = frozenset({workers.FOLDER, claims.FOLDER})
"""What workers write that have begun nothing yet."""


def refuse_foreign(url: str, *, option: str = "--run-dir") -> None:
    """Raises `ConfigError` where a run at `url` would mix with, or write over, what it did not
    make; nothing is written.

    Logs are no obstacle, nor is what a start or a first import that was killed before its first
    manifest line has left: temporary files,
    shards, heartbeats. On a disk a new run inside the folder of another one is refused too: what
    reads or deletes that would take it along.
    """
    storage = Storage(url)
    if begun(storage):
        return
    folder = Path(storage.root).absolute()
    for around in folder.parents if storage.local else ():
        if Path(around, manifest.name_of(0)).is_file():
            raise ConfigError(
                f"{url}: lies inside the run {around}; name a folder beside it with {option}, such "
                f"as {around}-{folder.name}"
            )
    taken = [printable(name) for name in sorted(storage.names("")) if _is_a_users(storage, name)]
    # another process may have begun the run between the two looks: its line comes first
    if taken and not begun(storage):
        named = ", ".join(taken[:_NAMED] + ["..."] * (len(taken) > _NAMED))
        raise ConfigError(
            f"{url}: is not a run folder, and holds {named}; name another one with {option}, such "
            "as runs/mine"
        )


def begun(storage: Storage) -> bool:
    """Whether there is a manifest, be it a damaged one, which the ledger tells."""
    return storage.size(manifest.name_of(0)) is not None or bool(manifest.listed(storage))


def _is_a_users(storage: Storage, name: str) -> bool:
    if name in TABLES:
        return any(_SHARD.fullmatch(held) is None for held in storage.names(name))
    if name == manifest.FOLDER:
        return any(not held.startswith(TEMPORARY) for held in storage.names(name))
    return bool(name) and name not in _OF_NOBODY | _OURS and not name.endswith(_LOGS)


def refuse_theirs(ledger: StoredLedger, flow: str, stages: Sequence[Stage[Run]]) -> None:
    """Raises `ConfigError` where a ledger that no flow has run on, an import's, lies beside a
    flow.yaml: it is the user's; and where an export would replace the dataset of another flow.
    """
    if ledger.state.flow is None and ledger.storage.size("flow.yaml") is not None:
        raise ConfigError(
            f"{ledger.storage.url}: holds a flow.yaml that no run wrote, and imports only; move "
            "that file elsewhere first"
        )
    refuse_their_datasets(ledger, flow, stages)


def refuse_their_datasets(ledger: StoredLedger, flow: str, stages: Sequence[Stage[Run]]) -> None:
    """Raises `ConfigError` where an export of this flow would replace the dataset of another one
    that is here, unless it is told to.
    """
    for name, settings in exports_among(stages):
        for folder in () if settings.overwrite else settings.folders():
            refuse_others(ledger, folder, flow, name)


def refuse_their_datasets_at(url: str, flow: str, stages: Sequence[Stage[Run]]) -> None:
    """The same for a run that may not have begun."""
    if begun(Storage(url)):
        refuse_their_datasets(StoredLedger(url), flow, stages)
