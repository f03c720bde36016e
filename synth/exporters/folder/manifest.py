"""manifest.json of a data set: which files it has, and which stage of which flow wrote them."""

from typing import Any

import msgspec

from synth.exporters.folder.shards import ShardFile
from synth.exporters.folder.sums import MANIFEST
from synth.ledger.log.verify_written import CARD
from synth.ledger.storage import Storage
from synth.schemas import digest

WRITTEN_BY = "synth"


class Manifest(msgspec.Struct, frozen=True):
    """As far as it is read again; `stage_key` says which stage of which flow wrote it."""

    written_by: str
    files: dict[str, ShardFile]
    stage_key: str | None = None
    form: str = ""
    settings: dict[str, Any] = {}


def read_manifest(storage: Storage) -> Manifest | None:
    """The manifest of the data set that stands here, or None where there is none of ours."""
    try:
        manifest = msgspec.json.decode(storage.read(MANIFEST), type=Manifest)
    except (FileNotFoundError, msgspec.DecodeError):
        return None

    # what it names is read, sent and replaced: none of ours leads out of its folder
    parts = [set(name.split("/")) for name in manifest.files]
    leads_out = any({"", ".", ".."} & names for names in parts)

    return None if leads_out or manifest.written_by != WRITTEN_BY else manifest


def why_to_write(url: str, stage_key: str) -> str | None:
    """Why a stage has to write its data set (again), or None where it stands whole; local shards
    are compared with their digests.
    """
    storage = Storage(url)
    manifest = read_manifest(storage)
    if manifest is None:
        return f"{storage.url}: no dataset stands there"
    if manifest.stage_key != stage_key:
        return f"{storage.url}: holds another export"
    if storage.size(CARD) is None:
        return f"{storage.url}/{CARD}: missing"

    for name, file in manifest.files.items():
        size = storage.size(name)
        if size != file.bytes or (storage.local and digest(storage.read(name)) != file.digest):
            return f"{storage.url}/{name}: {'missing' if size is None else 'damaged'}"

    return None
