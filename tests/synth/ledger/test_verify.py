"""`problems` reads every byte of a run: whatever is damaged or missing is named, whether or not a
pack holds a good copy.
"""

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth.ledger import StageRef, StoredLedger
from synth.ledger.log import manifest
from synth.ledger.log.manifest import FenceLine
from synth.ledger.log.verify import Verified, problems
from synth.ledger.storage import Storage
from synth.schemas.errors import ConfigError
from tests.synth.ledger.test_manifest_checkpoints import pack_of
from tests.trajectories import make_trajectory

FENCES = 40


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lines 0 to 41, with packs of 8 and 32; the last line but one commits two files."""
    folder = tmp_path_factory.mktemp("run")
    ledger = StoredLedger(str(folder), create=True)
    for token in range(1, FENCES):
        ledger.fence("w", token, "h")
    ledger.commit(StageRef("rollout", "key1"), trajectories=[make_trajectory("x")])
    ledger.fence("w", FENCES, "h")
    return folder


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "run"))


def found(folder: Path | str) -> list[str]:
    return list(problems(Storage(str(folder)), Verified()))


def test_a_run_as_it_was_committed_has_no_problem_and_all_of_it_was_read(run: Path) -> None:
    verified = Verified()
    assert list(problems(Storage(str(run)), verified)) == []
    shards = [path for path in run.rglob("*.parquet")]
    assert (verified.lines, verified.packs, verified.files) == (42, 6, len(shards))
    assert verified.bytes == sum(path.stat().st_size for path in shards)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_one_flipped_bit_anywhere_is_named(run: Path, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(path for path in run.rglob("*") if path.is_file())))
    before = path.read_bytes()
    at, bit = data.draw(st.integers(0, len(before) - 1)), data.draw(st.integers(0, 7))
    path.write_bytes(before[:at] + bytes([before[at] ^ 1 << bit]) + before[at + 1 :])
    try:
        (named,) = found(run)
        assert named.startswith(f"{path}: ")
    finally:
        path.write_bytes(before)


def test_a_line_of_which_a_pack_holds_a_copy_is_named_with_its_place(copy: Path) -> None:
    line = copy / "manifest" / "00000007"
    stood = line.read_bytes()
    for damage in (lambda: line.write_bytes(stood[:-9]), line.unlink):
        damage()
        (named,) = found(copy)
        pack = copy / "manifest" / "packs" / "00000000-00000031"
        assert named.startswith(f"{line}: ")
        assert named.endswith(f"; {pack} holds it as it was written, in line 10 of the file")
    assert pack.read_bytes().splitlines(keepends=True)[9] == stood


def test_several_problems_are_all_named(copy: Path) -> None:
    damaged = [
        copy / "manifest" / "00000003",
        copy / "manifest" / "00000041",
        copy / "manifest" / "packs" / "00000024-00000031",
    ]
    for path in damaged:
        path.write_bytes(b"x")
    (shard,) = (copy / "turns").iterdir()
    shard.unlink()
    assert [named.partition(": ")[0] for named in found(copy)] == [
        str(path) for path in (damaged[0], damaged[2], damaged[1], shard)
    ]


def test_a_pack_that_lies_about_a_line_in_its_midst_is_named(copy: Path) -> None:
    """In itself it is whole, it goes on from the lines before it, and it ends with the right
    line.
    """
    storage = Storage(str(copy))
    lines = [manifest.read(storage, number) for number in range(42)]
    told = [line for line in lines if line is not None]
    told[10] = FenceLine("w", 99, "h")
    (copy / "manifest" / "packs" / "00000008-00000015").write_bytes(pack_of(told, 15, 8))
    (named,) = found(copy)
    assert (
        "00000008-00000015: is no copy of those lines of the manifest, and is not read; nothing "
        "is lost: delete it" in named
    )


def test_lines_that_are_gone_from_the_end_are_missed_by_the_packs_of_them(copy: Path) -> None:
    for number in range(14, 42):
        (copy / "manifest" / f"{number:08d}").unlink()
    assert {named.partition(": ")[2] for named in found(copy)} == {
        "copies manifest lines that are no longer there; restore those from a backup"
    }
    assert len(found(copy)) == 5


def test_a_copy_without_packs_is_as_good(copy: Path) -> None:
    shutil.rmtree(copy / "manifest" / "packs")
    assert found(copy) == []
    assert StoredLedger(str(copy)).state.fences == {"w": FENCES}


def test_no_run_is_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no run"):
        found(tmp_path)


def test_what_a_killed_writer_left_among_the_packs_is_part_of_nothing(copy: Path) -> None:
    (copy / "manifest" / "packs" / "00000000-00000007").unlink()  # killed before it was linked
    (copy / "manifest" / "packs" / ".tmp-99999999-dead").write_bytes(b"half")
    assert found(copy) == []
    assert StoredLedger(str(copy), create=True).state.fences == {"w": FENCES}
    assert Storage(str(copy)).leftovers("manifest/packs") == [".tmp-99999999-dead"]


def test_a_run_that_goes_on_meanwhile_is_as_it_was_committed(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, listed = StoredLedger(str(copy)), manifest.listed

    def then_more(storage: Storage) -> set[int]:
        found = listed(storage)
        for token in range(FENCES + 1, FENCES + 20):
            ledger.fence("w", token, "h")
        return found

    monkeypatch.setattr(manifest, "listed", then_more)
    assert found(copy) == []
