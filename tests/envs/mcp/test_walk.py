"""A folder that somebody else works in, read and emptied: links, pipes, depth, odd names."""

import os
from pathlib import Path

import pytest

from synth.envs.mcp.state.folder import facts_of, packed, unpacked
from synth.envs.mcp.state.walk import DEEPEST, MOST_FILES, TooLargeError, emptied, entries, weight


def test_links_are_told_and_never_followed(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "world"
    outside.mkdir()
    folder.mkdir()
    (outside / "secret.txt").write_text("sk-123")
    (folder / "file").symlink_to(outside / "secret.txt")
    (folder / "all").symlink_to(outside)
    facts = facts_of(folder, ())
    assert facts == {
        "file/file/link": str(outside / "secret.txt"),
        "file/file/@path": "file",
        "file/all/link": str(outside),
        "file/all/@path": "all",
    }
    assert b"sk-123" not in packed(folder)
    unpacked(packed(folder), folder)
    assert facts_of(folder, ()) == facts
    emptied(folder)
    assert (outside / "secret.txt").read_text() == "sk-123"


def test_a_file_that_becomes_a_link_between_being_seen_and_being_read_is_not_read(
    tmp_path: Path,
) -> None:
    secret, folder = tmp_path / "secret.txt", tmp_path / "world"
    secret.write_text("sk-123")
    (folder / "in").mkdir(parents=True)
    (folder / "a").write_text("x")
    (folder / "in" / "b").write_text("x")
    assert [entry.content() for entry in entries(folder) if entry.path == "a"] == [b"x"]
    again = entries(folder)
    entry = next(again)
    (folder / "a").unlink()
    (folder / "a").symlink_to(secret)
    with pytest.raises(OSError, match="something else by now"):
        entry.content()
    inner = next(again)
    (folder / "in").rename(folder / "was")
    (folder / "in").symlink_to(tmp_path)
    assert inner.kind == "folder"
    with pytest.raises(OSError, match="something else by now"):
        next(again)


def test_a_pipe_a_socket_and_names_that_are_no_text_hold_nothing_up(tmp_path: Path) -> None:
    folder = tmp_path / "world"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\n")).write_text("x")
    facts = facts_of(folder, ())
    assert facts == {
        "file/pipe/is": "pipe",
        "file/pipe/@path": "pipe",
        "file/%FF%0A/content": "x",
        "file/%FF%0A/@path": "%FF%0A",
    }
    other = tmp_path / "other"
    other.mkdir()
    unpacked(packed(folder), other)
    assert facts_of(other, ()) == facts


def test_a_file_closed_to_its_own_user_is_read_and_stays_closed(tmp_path: Path) -> None:
    folder = tmp_path / "world"
    (folder / "closed").mkdir(parents=True)
    (folder / "closed" / "f").write_text("x")
    (folder / "closed" / "f").chmod(0)
    assert facts_of(folder, ())["file/closed%2Ff/content"] == "x"
    assert (folder / "closed" / "f").stat().st_mode & 0o777 == 0
    (folder / "closed").chmod(0)
    emptied(folder)
    assert not list(folder.iterdir())


def test_what_is_too_deep_is_refused_and_still_emptied(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(DEEPEST + 60):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    with pytest.raises(TooLargeError, match="deep"):
        weight(tmp_path)
    emptied(tmp_path)
    assert not list(tmp_path.iterdir())


def test_empty_files_weigh_a_block_each_and_too_many_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (tmp_path / name).touch()
    assert weight(tmp_path) == 3 * 4096
    monkeypatch.setattr("synth.envs.mcp.state.walk.MOST_FILES", 2)
    with pytest.raises(TooLargeError, match="more than 2 files"):
        weight(tmp_path)
    assert MOST_FILES == 5000
