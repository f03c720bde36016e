"""Packs spare requests and decide nothing: whatever becomes of them, the manifest's own lines say
what a run holds.
"""

import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.ledger import StoredLedger
from synth.ledger.log import manifest_checkpoints
from synth.ledger.log.manifest import (
    DoneLine,
    FenceLine,
    Line,
    RunLine,
    ShardLine,
    SlotRecord,
    StageLine,
)
from synth.ledger.log.state import LedgerState
from synth.ledger.storage import Storage
from synth.schemas.canonical import digest
from tests.synth.ledger.checkpoints import fences, pack_of, written

NAMES = st.sampled_from("abc")


SLOTS = st.builds(
    SlotRecord,
    NAMES,
    st.integers(0, 2),
    st.text("xyz", min_size=8, max_size=8),
    st.sampled_from([None, "model"]),
)


LINES: st.SearchStrategy[Line] = st.one_of(
    st.builds(
        ShardLine,
        stage=NAMES,
        stage_key=NAMES,
        files=st.just({}),
        slots=st.lists(SLOTS, max_size=3).map(tuple),
        name=NAMES,
    ),
    st.builds(StageLine, NAMES, NAMES, st.dictionaries(NAMES, st.text(max_size=5), max_size=1)),
    st.builds(DoneLine, NAMES, NAMES, st.just({"kind": "tables"})),
    st.builds(FenceLine, NAMES, st.integers(1, 9), NAMES),
)


def folded(lines: Sequence[Line]) -> LedgerState:
    state = LedgerState()
    for line in lines:
        state.fold(line)
    return state


def requests(storage: Storage) -> Counter[str]:
    """Counts what is asked of a storage from now on."""
    counted: Counter[str] = Counter()

    def counting(kind: str, request: Callable[[str], Any]) -> Callable[[str], Any]:
        def counted_request(name: str) -> Any:
            counted.update([kind])
            return request(name)

        return counted_request

    storage.read = counting("read", storage.read)  # type: ignore[method-assign]
    storage.size = counting("size", storage.size)  # type: ignore[method-assign]
    storage.names = counting("names", storage.names)  # type: ignore[method-assign]
    return counted


def test_a_pack_is_made_of_the_lines_alone_by_whoever_writes_the_last_of_them(url: str) -> None:
    one, other = StoredLedger(url, create=True), StoredLedger(url)
    for token in range(1, 40):
        assert (one, other)[token % 2].fence("w", token, "h")
    lines = [RunLine(one.state.run_id), *fences(40)[1:]]
    made = {(0, 8), (8, 8), (16, 8), (24, 8), (32, 8), (0, 32)}
    assert {
        name: one.storage.read(f"manifest/packs/{name}")
        for name in one.storage.names("manifest/packs")
    } == {
        f"{first:08d}-{first + size - 1:08d}": pack_of(lines, first + size - 1, size, chained=True)
        for first, size in made
    }


@pytest.mark.slow
def test_who_comes_back_after_many_lines_asks_for_few_objects(url: str) -> None:
    lines = fences(600)
    written(url, lines[:5])
    reader, newcomer = StoredLedger(url), Storage(url)
    written(url, lines[5:], first=5)
    for size in manifest_checkpoints.SIZES:
        for first in range(0, 600 - size + 1, size):
            newcomer.create(
                manifest_checkpoints.name_of(first, size),
                pack_of(lines, first + size - 1, size),
                durable=False,
            )
    counted = requests(reader.storage)
    assert reader.refresh() == folded(lines)
    # lines 5, 6, 7; 8-15, 0-255, 256-511; 512-543, 544-575; three of 8; no 512-767, 576-607,
    # 600-607; line 599 for proof, none after it
    assert counted == {"read": 3 + 3 + 2 + 3 + 3 + 2, "size": 2}


def test_in_object_storage_a_run_is_opened_by_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"memory://{uuid.uuid4().hex}"
    lines = fences(600)
    storage = written(url, lines)
    for size in manifest_checkpoints.SIZES:
        for first in range(0, 600 - size + 1, size):
            storage.create(
                manifest_checkpoints.name_of(first, size), pack_of(lines, first + size - 1, size)
            )
    asked: list[str] = []
    read = Storage.read
    monkeypatch.setattr(
        Storage, "read", lambda self, name: (asked.append(name), read(self, name))[1]
    )
    assert StoredLedger(url).state == folded(lines)
    assert len(asked) == 2 + 2 + 3 + 3 + 2


def test_who_has_caught_up_asks_for_no_pack(url: str) -> None:
    writer, reader = StoredLedger(url, create=True), StoredLedger(url)
    counted = requests(reader.storage)
    for token in range(1, 36):
        writer.fence("w", token, "h")
        reader.refresh()
    assert counted == {"read": 35 * 2, "size": 35 * 2}


FATES = st.sampled_from(
    [
        "there",
        "missing",
        "flipped",
        "cut",
        "of another run",
        "of another past",
        "of another branch",
        "empty",
    ]
)


@pytest.mark.slow
@settings(max_examples=50)
@given(st.lists(LINES, max_size=40), st.data())
def test_whatever_becomes_of_the_packs_the_state_is_that_of_the_lines(
    drawn: list[Line], data: st.DataObject
) -> None:
    lines = [RunLine("r"), *drawn]
    url, seen = f"memory://{uuid.uuid4().hex}", data.draw(st.integers(1, len(lines)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("synth.ledger.log.manifest_checkpoints.SIZES", (12, 4))
        written(url, lines[:seen])
        early = StoredLedger(url)
        storage = written(url, lines[seen:], first=seen)
        for size in manifest_checkpoints.SIZES:
            for first in range(0, len(lines) - size + 1, size):
                pack = damaged(pack_of(lines, first + size - 1, size), lines, first, size, data)
                if pack is not None:
                    storage.create(manifest_checkpoints.name_of(first, size), pack)
        assert early.refresh() == folded(lines)
        assert StoredLedger(url, create=True).state == folded(lines)
        assert StoredLedger(url).state == folded(lines)
    storage.fs.rm(storage.root, recursive=True)


def damaged(
    pack: bytes, lines: Sequence[Line], first: int, size: int, data: st.DataObject
) -> bytes | None:
    match data.draw(FATES):
        case "missing":
            return None
        case "flipped":
            at, bit = data.draw(st.integers(0, len(pack) - 1)), data.draw(st.integers(0, 7))
            return pack[:at] + bytes([pack[at] ^ 1 << bit]) + pack[at + 1 :]
        case "cut":
            return pack[: data.draw(st.integers(0, len(pack) - 1))]
        case "of another run":
            return pack_of(fences(len(lines), "another"), first + size - 1, size)
        case "of another past" if first:
            return pack_of([FenceLine("other", 1, "h"), *lines[1:]], first + size - 1, size)
        case "of another branch":
            at = data.draw(st.integers(first, first + size - 1))
            return pack_of(
                [*lines[:at], *(FenceLine("other", 1, "h") for _ in lines[at:])],
                first + size - 1,
                size,
            )
        case "empty":
            return digest(b"").encode() + b"\n"
        case _:
            return pack
