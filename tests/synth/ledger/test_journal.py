"""The journal: one line per paid reply, on disk before it is used, readable after any death."""

import resource
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth.ledger.storage.journal import (
    BusyError,
    Event,
    Journal,
    JournaledFault,
    JournaledReply,
    JournaledStep,
    discard_finished,
    free_journal,
    recorded,
    state_folder,
)
from synth.schemas.errors import SynthError
from synth.schemas.model import Completion
from synth.schemas.outcome import Fault


def reply(ordinal: int, text: str = "hello", slot: str = "a") -> JournaledReply:
    return JournaledReply(slot, 0, ordinal, f"request{ordinal}", Completion(content=text))


def written(path: Path, events: list[Event]) -> None:
    journal = Journal(path)
    for event in events:
        journal.append(event)
    journal.close()


def test_events_come_back_by_slot_and_attempt(tmp_path: Path) -> None:
    events: list[Event] = [
        reply(0),
        JournaledStep("a", 0, -1, "x"),
        JournaledFault("a", 0, 1, "act", Fault.MODEL, "gone"),
        reply(0, slot="b"),
    ]
    written(tmp_path / "s.jsonl", events)
    found, damage = recorded(tmp_path)
    assert found == {("a", 0): events[:3], ("b", 0): events[3:]}
    assert damage == []


def test_only_the_wanted_slots_are_kept(tmp_path: Path) -> None:
    written(tmp_path / "s.jsonl", [reply(0), reply(0, slot="b")])
    assert list(recorded(tmp_path, {"b"})[0]) == [("b", 0)]


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 400), st.text(max_size=30))
def test_a_journal_cut_anywhere_loses_only_what_was_cut(
    tmp_path: Path, cut: int, text: str
) -> None:
    path = tmp_path / "cut" / "s.jsonl"
    path.unlink(missing_ok=True)
    events: list[Event] = [reply(i, text) for i in range(4)]
    written(path, events)
    blob = path.read_bytes()
    lines = blob.splitlines(keepends=True)
    path.write_bytes(blob[:-cut])
    whole = sum(len(b"".join(lines[: i + 1])) <= len(blob) - cut for i in range(4))
    found, damage = recorded(path.parent)
    assert found.get(("a", 0), []) == events[:whole]
    torn = not blob[:-cut].endswith(b"\n") and len(blob) > cut
    assert len(damage) == torn
    assert all("half-written line" in line for line in damage)


def test_a_torn_journal_is_gone_on_with_on_a_new_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    written(path, [reply(0), reply(1)])
    path.write_bytes(path.read_bytes()[:-5])
    written(path, [reply(1, "again")])
    found, damage = recorded(tmp_path)
    assert found[("a", 0)] == [reply(0), reply(1, "again")]
    assert len(damage) == 1
    assert "line 2 is damaged" in damage[0]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_flipped_byte_spoils_its_own_line_only(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "flip" / "s.jsonl"
    path.unlink(missing_ok=True)
    events: list[Event] = [reply(i) for i in range(3)]
    written(path, events)
    blob = bytearray(path.read_bytes())
    second = bytes(blob).index(b"\n") + 1
    third = bytes(blob).index(b"\n", second) + 1
    place = data.draw(st.integers(second, third - 2))
    blob[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(blob)
    found, damage = recorded(path.parent)
    assert found[("a", 0)] == [events[0], events[2]]
    (line,) = damage
    # a byte may become a line break: in the middle there are two damaged lines, at the beginning a
    # blank one and then the damaged one
    assert any(f"line {which} damaged" in line for which in ("2 is", "2 and 1 more are", "3 is"))


def test_what_is_wrong_with_one_journal_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    written(path, [reply(i) for i in range(3)])
    first, second, third = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(
        b"gar\rbage\n" + first + b"\xff" * 40 + b"\n\n" + second + b"\x00\n" + third[:-9]
    )
    found, damage = recorded(tmp_path)
    assert found == {("a", 0): [reply(0), reply(1)]}
    assert damage == [
        f"{path}: line 1 and 2 more are damaged, and it ends in a half-written line; the calls "
        "that they held are made again"
    ]


def test_a_journal_folder_that_is_a_file_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(
        SynthError,
        match=f"{tmp_path / 'state'}: is a file where a folder belongs; move it away and run again",
    ):
        Journal(tmp_path / "state" / "journal" / "s.jsonl")
    assert recorded(tmp_path / "state" / "journal") == ({}, [])


def test_a_folder_in_the_place_of_a_journal_is_one_line_that_says_what_to_do(
    tmp_path: Path,
) -> None:
    place = tmp_path / "s.jsonl"
    place.mkdir()
    for use in (Journal, lambda path: recorded(path.parent)):
        with pytest.raises(
            SynthError,
            match=f"{place}: is a folder where a file belongs; move it away and run again",
        ):
            use(place)


def test_a_shard_is_worked_on_by_one_process_at_a_time(tmp_path: Path) -> None:
    first = Journal(tmp_path / "s.jsonl")
    with pytest.raises(BusyError):
        Journal(tmp_path / "s.jsonl")
    first.close()
    Journal(tmp_path / "s.jsonl").close(discard=True)
    assert not (tmp_path / "s.jsonl").exists()


def test_a_full_disk_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").symlink_to("/dev/full")
    journal = Journal(tmp_path / "s.jsonl")
    with pytest.raises(
        SynthError,
        match="the disk is full; free some space and run again: nothing that was committed is lost",
    ):
        journal.append(reply(0))
    journal.close()


def test_the_state_folder_follows_the_environment() -> None:
    assert state_folder({"SYNTH_STATE_DIR": "/x", "XDG_STATE_HOME": "/y"}) == Path("/x")
    assert state_folder({"XDG_STATE_HOME": "/y"}) == Path("/y/synth")
    assert state_folder({}) == Path.home() / ".local/state/synth"


def test_a_torn_journal_that_cannot_be_taken_up_again_is_one_line_with_its_path(
    tmp_path: Path,
) -> None:
    """As on a disk that is still full: the half-written line is ended before another may follow."""
    path = tmp_path / "shard.jsonl"
    path.write_bytes(b"0123")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, before[1]))
    try:
        with pytest.raises(
            SynthError, match=f"^{path}: the file-size limit of this process is reached"
        ):
            Journal(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    Journal(path).close()


def test_journals_of_a_stage_that_is_done_are_removed_but_for_those_that_somebody_works_on(
    tmp_path: Path,
) -> None:
    """A process that died between its commit and this had left one."""
    for name in ("done-a", "done-b", "other-a"):
        written(tmp_path / f"{name}.jsonl", [reply(0)])
    busy = Journal(tmp_path / "done-b.jsonl")
    discard_finished(tmp_path, "done")
    busy.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["done-b.jsonl", "other-a.jsonl"]


def test_processes_that_are_at_one_shard_write_journals_of_their_own(tmp_path: Path) -> None:
    first, second = (free_journal(tmp_path, "key-shard") for _ in range(2))
    assert [journal.path.name for journal in (first, second)] == [
        "key-shard.jsonl",
        "key-shard.1.jsonl",
    ]
    first.close()
    again = free_journal(tmp_path, "key-shard")
    assert again.path == first.path
    again.close()
    second.close()
