"""The manifest has no gaps: a line that is gone is named, and nothing is read past it or written in
its place.
"""

from pathlib import Path

import pytest

from synth.ledger import StageRef, StoredLedger
from synth.schemas.errors import DamagedError
from tests.trajectories import make_trajectory

REF = StageRef("rollout", "key1")


def ledger_of(url: str, shards: int = 4) -> StoredLedger:
    """Line 0 is the run's own, lines 1, 2, ... are shards."""
    ledger = StoredLedger(url, create=True)
    for index in range(shards):
        ledger.commit(REF, trajectories=[make_trajectory(f"s{index}")])
    return ledger


def remove(ledger: StoredLedger, number: int) -> str:
    name = f"manifest/{number:08d}"
    ledger.storage.discard(name)
    return ledger.storage.path(name)


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_a_missing_line_in_the_middle_is_named_and_never_written_again(
    url: str, number: int
) -> None:
    path = remove(ledger_of(url), number)
    for create in (False, True):
        with pytest.raises(
            DamagedError,
            match=f"{path}: this manifest line is missing or cannot be read, though the manifest "
            "goes on",
        ):
            StoredLedger(url, create=create)


def test_many_missing_lines_are_noticed_too(url: str) -> None:
    ledger = ledger_of(url, shards=9)
    paths = [remove(ledger, number) for number in range(2, 9)]
    with pytest.raises(DamagedError, match=paths[0]):
        StoredLedger(url)


def test_an_open_ledger_neither_skips_a_line_removed_from_what_others_wrote_nor_fills_its_place(
    url: str,
) -> None:
    slow = StoredLedger(url, create=True)
    path = remove(ledger_of(url), 1)
    with pytest.raises(DamagedError, match=path):
        slow.commit(REF, trajectories=[make_trajectory("mine")])


def test_the_end_of_the_manifest_is_no_gap(url: str) -> None:
    remove(ledger_of(url), 4)
    assert sorted(StoredLedger(url).state.slots) == ["s0", "s1", "s2"]


def test_what_is_no_line_does_not_count_as_one(tmp_path: Path) -> None:
    ledger_of(str(tmp_path))
    for name in (".tmp-1-dead", "00000009.bak", "notes"):
        (tmp_path / "manifest" / name).write_text("x")
    assert len(StoredLedger(str(tmp_path)).state.shards) == 4


def test_a_number_taken_by_what_cannot_be_read_ends_in_one_line_not_in_a_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = ledger_of(str(tmp_path))
    place = tmp_path / "manifest" / "00000005"
    place.symlink_to(tmp_path / "nowhere")
    monkeypatch.setattr("synth.ledger.ledger.PATIENCE", 2)
    with pytest.raises(DamagedError, match=str(place)):
        ledger.commit(REF, trajectories=[make_trajectory("mine")])
    with pytest.raises(DamagedError, match=str(place)):
        StoredLedger(str(tmp_path))
