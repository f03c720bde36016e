"""Names in lines, leases, heartbeats, manifests and rows that lead out of a run: nothing is read,
written or removed elsewhere.
"""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.claims import workers
from synth.claims.claims import WorkerRecord, _decoded
from synth.exporters.folder.manifest import read_manifest
from synth.exporters.folder.shards import write_row_files
from synth.exporters.folder.sums import MANIFEST
from synth.hub.source import found
from synth.ledger.ledger import StageRef, StoredLedger
from synth.ledger.log import manifest
from synth.ledger.log.manifest import DoneLine, FenceLine, RunLine, ShardLine, StageLine, StoredFile
from synth.ledger.storage import Storage
from synth.ledger.storage.journal import state_folder
from synth.schemas.errors import ConfigError, DamagedError, SynthError
from tests.trajectories import make_trajectory

OUT = [
    "../secret",
    "../../secret",
    "a/../../secret",
    "/etc/passwd",
    "//etc/passwd",
    "./../secret",
    "tables/../../secret",
    "..",
    ".",
    "a/./b",
    "a//b",
    "\\\\host\\share",
    "..\\secret",
    "a\0b",
    "tasks/../../secret.parquet",
    "tasks/../secret.parquet",
    "file:///etc/passwd",
    "s3://bucket/key",
    "http://127.0.0.1/x",
    "~/.ssh/id_rsa/../x",
    "trajectories/../../../etc/hostname",
]
LEAVING = [name for name in OUT if not name.startswith(("file:", "s3:", "http:"))]
SHARDS = [
    *OUT,
    "tasks/*.parquet",
    "tasks/a?.parquet",
    "tasks/a.parquet,/etc/x.parquet",
    "tasks/a b.parquet",
    "tasks/x.csv",
    "tasks/x'.parquet",
]
IDS = [
    *OUT,
    "a/b",
    "*",
    "?",
    "[a-z]",
    "",
    " x",
    ".hidden",
    "x'; DROP TABLE tasks; --",
    "x\ny",
    "é" * 200,
    "a" * 200,
]


@pytest.fixture
def run(tmp_path: Path) -> StoredLedger:
    """A run beside a file that nothing may reach."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "secret.parquet").write_text("secret")
    ledger = StoredLedger(str(tmp_path / "run"), create=True)
    ledger.begin_stage(StageLine("rollout", "key", {}))
    ledger.commit(StageRef("rollout", "key"), trajectories=[make_trajectory()])
    return ledger


@pytest.mark.parametrize("name", LEAVING)
def test_storage_reaches_nothing_out_of_its_folder(
    run: StoredLedger, tmp_path: Path, name: str
) -> None:
    storage = run.storage
    deeds = (
        lambda: storage.read(name),
        lambda: storage.size(name),
        lambda: storage.create(name, b"x"),
        lambda: storage.replace(name, b"x"),
        lambda: storage.discard(name),
        lambda: storage.names(name),
        lambda: storage.path(name),
        lambda: storage.link(name, "manifest/00000000"),
        lambda: storage.link("x", name),
        lambda: storage.leftovers(name),
    )
    for deed in deeds:
        with pytest.raises(DamagedError):
            deed()
    assert (
        (tmp_path / "secret").read_text() == (tmp_path / "secret.parquet").read_text() == "secret"
    )


@pytest.mark.parametrize("name", LEAVING)
def test_nor_does_it_on_an_object_store(name: str) -> None:
    storage = Storage("memory://bucket/run")
    storage.fs.pipe_file("/bucket/secret", b"secret")
    for deed in (storage.read, storage.size, storage.discard, storage.path):
        with pytest.raises(DamagedError):
            deed(name)


@pytest.mark.parametrize("name", SHARDS)
def test_a_line_that_names_a_shard_elsewhere_stops_the_reader(
    run: StoredLedger, tmp_path: Path, name: str
) -> None:
    line = ShardLine("rollout", "key", {"tasks": StoredFile(name, 1, 6, "0" * 32)})
    run.storage.create(manifest.name_of(run.state.lines), manifest.stored(line))
    with pytest.raises(DamagedError, match="do not use this run"):
        StoredLedger(str(tmp_path / "run"))


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("kind", ["run", "stage", "done", "shard", "fence"])
def test_a_line_whose_id_is_no_plain_name_stops_the_reader(
    tmp_path: Path, kind: str, name: str
) -> None:
    lines: dict[str, Any] = {
        "run": RunLine(name),
        "stage": StageLine("rollout", name, {}),
        "done": DoneLine("rollout", name, {}),
        "shard": ShardLine("rollout", name, {}),
        "fence": FenceLine(name, 1, "h"),
    }
    storage = Storage(str(tmp_path / "run"))
    for at, line in enumerate([lines[kind]] if kind == "run" else [RunLine("a" * 32), lines[kind]]):
        storage.create(manifest.name_of(at), manifest.stored(line))
    with pytest.raises(DamagedError, match="do not use this run"):
        StoredLedger(str(tmp_path / "run"))
    assert not (state_folder() / "journal").exists()


@pytest.mark.parametrize(
    "name", ["manifest", "tasks", "trajectories", "datasets", "workers", "flow.yaml"]
)
def test_a_link_that_leads_out_of_a_run_is_not_followed(
    run: StoredLedger, tmp_path: Path, name: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "inner").write_text("secret")
    place = tmp_path / "run" / name
    if place.is_dir():
        place.rename(tmp_path / "aside")
    place.symlink_to(elsewhere)
    for deed in (run.storage.read, run.storage.size, run.storage.discard):
        with pytest.raises(DamagedError, match="is a link that leads out"):
            deed(f"{name}/inner" if name != "flow.yaml" else name)
    with pytest.raises(DamagedError):
        run.storage.replace(f"{name}/new" if name != "flow.yaml" else name, b"x")
    assert sorted(os.listdir(elsewhere)) == ["inner"]  # noqa: PTH208


def test_a_run_that_lies_behind_a_link_of_the_users_own_is_read(
    run: StoredLedger, tmp_path: Path
) -> None:
    (tmp_path / "latest").symlink_to(tmp_path / "run")
    (tmp_path / "run" / "again").symlink_to(tmp_path / "run" / "trajectories")
    assert StoredLedger(str(tmp_path / "latest")).state.lines == run.state.lines
    assert run.storage.names("again") == run.storage.names("trajectories")


@pytest.mark.parametrize(
    "name", [name for name in LEAVING if "\\" not in name and "\0" not in name]
)
def test_a_datasets_manifest_that_names_files_elsewhere_is_none_of_ours(
    tmp_path: Path, name: str
) -> None:
    written = {
        "written_by": "synth",
        "files": {name: {"bytes": 6, "digest": "0" * 32}},
        "stage_key": "key",
    }
    (tmp_path / MANIFEST).write_bytes(msgspec.json.encode(written))
    assert read_manifest(Storage(str(tmp_path))) is None


@pytest.mark.parametrize("name", [*OUT, "a/b", "*"])
def test_a_trace_is_never_written_elsewhere(tmp_path: Path, name: str) -> None:
    with pytest.raises(SynthError, match="leads elsewhere"):
        write_row_files(tmp_path / "aside", [{"name": name, "text": "x"}], "data")


@pytest.mark.parametrize("name", OUT)
def test_what_is_published_lies_in_the_run(run: StoredLedger, tmp_path: Path, name: str) -> None:
    run.begin_flow({"name": "x"}, [StageLine("export", "k", {})])
    report = {
        "kind": "export",
        "datasets": {"sft": {"path": name, "kind": "sft", "rows": 1, "empty": None}},
    }
    run.finish_stage(StageRef("export", "k"), report)
    with pytest.raises(ConfigError, match="nothing is sent from there"):
        found(run, (), tmp_path / "aside")


@pytest.mark.parametrize("name", OUT)
def test_a_heartbeat_or_a_lease_that_calls_itself_otherwise_is_not_read(
    run: StoredLedger, name: str
) -> None:
    beat = workers.of_this_process("x", run.storage, identity="plain", flow_run=None, api=None)
    run.storage.replace(
        "workers/plain.json", msgspec.json.encode(msgspec.structs.replace(beat, id=name))
    )
    assert workers.heartbeats(run.storage) == []
    assert _decoded(msgspec.json.encode(WorkerRecord(name, "place"))) is None
