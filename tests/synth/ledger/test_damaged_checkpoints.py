"""Lines that are damaged, missing or too long, beside packs that hold them."""

from pathlib import Path

import pytest

from synth.ledger import StageRef, StoredLedger
from synth.ledger.log import manifest, manifest_checkpoints
from synth.ledger.storage import Storage
from synth.schemas.canonical import digest
from synth.schemas.errors import DamagedError
from tests.synth.ledger.checkpoints import fences, pack_of, written
from tests.trajectories import make_trajectory


def test_a_missing_line_is_named_though_a_pack_holds_it(url: str) -> None:
    lines = fences(40)
    storage = written(url, lines)
    storage.create(manifest_checkpoints.name_of(0, 32), pack_of(lines, 31, 32))
    storage.discard(manifest.name_of(7))
    with pytest.raises(DamagedError, match="manifest/00000007: this manifest line is missing"):
        StoredLedger(url)


def test_on_a_disk_a_damaged_line_is_named_though_a_pack_holds_it_well(tmp_path: Path) -> None:
    lines = fences(40)
    storage = written(str(tmp_path), lines)
    storage.create(manifest_checkpoints.name_of(0, 32), pack_of(lines, 31, 32))
    (tmp_path / "manifest" / "00000007").write_bytes(
        manifest.stored(lines[7]).replace(b'"h"', b'"i"')
    )
    with pytest.raises(DamagedError, match="manifest/00000007: damaged manifest line"):
        StoredLedger(str(tmp_path))


def test_a_line_of_another_version_is_named_in_a_pack_too(url: str) -> None:
    """Read by packs in object storage, and line by line on a disk."""
    stored = [manifest.stored(line) for line in fences(8)]
    payload = b'{"type":"hologram"}'
    stored[3] = digest(payload).encode() + b" " + payload + b"\n"
    storage = Storage(url)
    for number, blob in enumerate(stored):
        storage.create(manifest.name_of(number), blob)
    past = ""
    for blob in stored:
        past = digest(past.encode() + blob[:32])
    body = past.encode() + b"\n" + b"".join(stored)
    storage.create("manifest/packs/00000000-00000007", digest(body).encode() + b"\n" + body)
    with pytest.raises(
        DamagedError, match="manifest/00000003: written by another version of synth"
    ):
        StoredLedger(url)


def test_a_pack_that_cannot_be_written_stops_no_commit(tmp_path: Path) -> None:
    ledger = StoredLedger(str(tmp_path), create=True)
    (tmp_path / "manifest" / "packs").write_text("")
    for number in range(1, 17):
        ledger.fence("w", number, "h")
    ledger.commit(StageRef("rollout", "key1"), trajectories=[make_trajectory("x")])
    assert [*StoredLedger(str(tmp_path)).state.slots] == ["x"]


def test_who_runs_a_flow_packs_what_older_versions_or_dead_writers_left_and_a_reader_does_not(
    url: str,
) -> None:
    lines = fences(300)
    storage = written(url, lines)
    StoredLedger(url)
    assert storage.names(manifest_checkpoints.FOLDER) == []
    StoredLedger(url, create=True)
    assert storage.read("manifest/packs/00000000-00000255") == pack_of(lines, 255, 256)


def test_lines_too_long_for_a_pack_are_read_one_by_one(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synth.ledger.log.manifest_checkpoints.LARGEST", 500)
    ledger = StoredLedger(url, create=True)
    for number in range(1, 40):
        ledger.fence("w", number, "h")
    assert ledger.storage.names(manifest_checkpoints.FOLDER) == []
    assert StoredLedger(url).state.fences == {"w": 39}


def test_lines_that_were_read_and_not_taken_in_are_given_again(url: str) -> None:
    """A run that is interrupted between the two goes on to its end in the same process."""
    writer, reader = StoredLedger(url, create=True), StoredLedger(url)
    for token in range(1, 40):
        writer.fence("w", token, "h")
    while len(given := reader._cursor.ahead(reader.state.lines)) < 8:
        reader.state.fold(*given)
    for line in given[:3]:
        reader.state.fold(line)
    assert reader.refresh() == writer.state
