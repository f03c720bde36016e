"""A run directory that cannot be one is told in one line, with the path and what to do; nothing
waits for ever.
"""

import os
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from synth.ledger import StageRef, StoredLedger
from synth.ledger.storage import Storage
from synth.schemas.errors import ConfigError, SynthError
from tests.trajectories import make_trajectory

REF = StageRef("rollout", "key1")
MOVE = "is a file where a folder belongs; move it away and run again"


@pytest.mark.parametrize("below", ["", "run", "deep/run"])
def test_a_run_directory_that_is_a_file_or_lies_in_one_is_refused(
    tmp_path: Path, below: str
) -> None:
    (tmp_path / "file").write_text("mine")
    for create in (False, True):
        with pytest.raises(
            ConfigError,
            match=f"{tmp_path / 'file'} is a file, not a folder; name another run directory",
        ):
            StoredLedger(str(tmp_path / "file" / below), create=create)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_manifest_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "manifest").write_text("")
    for create in (False, True):
        with pytest.raises(SynthError, match=f"{tmp_path / 'manifest'}: {MOVE}"):
            StoredLedger(str(tmp_path), create=create)


def test_a_table_folder_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    ledger = StoredLedger(str(tmp_path), create=True)
    (tmp_path / "turns").write_text("")
    with pytest.raises(SynthError, match=f"{tmp_path / 'turns'}: {MOVE}"):
        ledger.commit(REF, trajectories=[make_trajectory()])


@pytest.mark.skipif(find_spec("s3fs") is not None, reason="s3fs is installed")
def test_without_the_library_of_an_object_store_the_extra_is_named() -> None:
    with pytest.raises(
        ConfigError,
        match=re.escape(
            "run directory: Install s3fs to access S3: pip install -c constraints.txt -e '.[s3]'"
        ),
    ):
        Storage("s3://bucket/run")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc")
def test_where_no_file_can_be_made_it_is_said_what_to_name_instead() -> None:
    with pytest.raises(
        SynthError,
        match=r"^/proc/x/manifest/00000000: cannot be used: .*; no file can be made there: name a "
        r"folder on a disk",
    ):
        StoredLedger("/proc/x", create=True)


def test_folders_in_the_place_of_files_are_one_line(tmp_path: Path) -> None:
    ledger = StoredLedger(str(tmp_path), create=True)
    ledger.commit(REF, trajectories=[make_trajectory("a")])
    shard = tmp_path / ledger.state.shards[0].files["turns"].path
    shard.unlink()
    shard.mkdir()
    with pytest.raises(
        SynthError, match=f"{shard}: is a folder where a file belongs; move it away"
    ):
        StoredLedger(str(tmp_path)).trajectory("")
    line = tmp_path / "manifest" / "00000002"
    line.mkdir()
    with pytest.raises(SynthError, match=f"{line}: is a folder where a file belongs; move it away"):
        ledger.commit(REF, trajectories=[make_trajectory("b")])


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A folder that this user may not enter; root, who may enter all, is nobody meanwhile."""
    folder = tmp_path / "closed"
    StoredLedger(str(folder), create=True)
    folder.chmod(0)
    if os.geteuid() != 0:
        yield folder
    else:
        os.seteuid(65534)
        try:
            yield folder
        finally:
            os.seteuid(0)
    folder.chmod(0o700)


def test_a_folder_that_one_may_not_enter_is_one_line(closed: Path) -> None:
    for create in (False, True):
        with pytest.raises(
            SynthError,
            match="closed/manifest/00000000: Permission denied; give this user the right to read "
            "and write",
        ):
            StoredLedger(str(closed), create=create)


def test_a_name_that_is_taken_stays_as_it_is(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    assert storage.create("manifest/0", b"first")
    assert not storage.create("manifest/0", b"second")
    assert storage.read("manifest/0") == b"first"
    assert storage.names("manifest") == ["0"]


def test_a_second_name_is_given_once_and_keeps_what_it_was_given_to(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    storage.replace("beats/one", b"first")
    assert storage.link("claim", "beats/one") is True
    assert storage.link("claim", "beats/one") is False
    storage.replace("beats/one", b"second")
    assert storage.read("claim") == b"first"
    assert storage.link("other", "beats/gone") is None
    assert Storage(f"memory://{tmp_path.name}").link("claim", "beats/one") is None
