"""Files come into a ledger whole or not at all, once, and what is left out is counted."""

import gzip
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from synth.engine.progress import PlainProgress, progress_for
from synth.importers import gathered
from synth.importers.commit import import_into
from synth.importers.files import decompression
from synth.importers.records import Format, ImportSettings
from synth.importers.registry import importer
from synth.importers.tally import ImportTally
from synth.ledger.ledger import StoredLedger
from synth.ledger.sql import query


def chat(question: str, **more: Any) -> dict[str, Any]:
    return {
        "messages": [{"role": "user", "content": question}, {"role": "assistant", "content": "ok"}],
        **more,
    }


def lines(*questions: str) -> str:
    return "".join(json.dumps(chat(question)) + "\n" for question in questions)


def bring(run: Path, *sources: Path, dry_run: bool = False, **settings: Any) -> ImportTally:
    return import_into(
        str(run),
        sources,
        "auto",
        progress_for(quiet=True),
        ImportSettings(**settings),
        dry_run=dry_run,
    )


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def counts(tally: ImportTally) -> tuple[int, int, dict[str, int]]:
    """(came in, already here, rejected by reason)"""
    return tally.total(["trajectories"]), tally.total(["present"]), dict(tally.reasons)


def goals(run: Path) -> list[str]:
    found = query(
        StoredLedger(str(run)),
        "SELECT goal FROM trajectories JOIN tasks USING (task_id) ORDER BY 1",
    ).fetchall()
    return [goal for (goal,) in found]


@pytest.mark.parametrize("shard", [2, 500])
def test_a_file_that_breaks_off_leaves_nothing_behind_however_much_of_it_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shard: int
) -> None:
    monkeypatch.setattr(gathered, "SHARD", shard)
    whole = json.dumps([chat(q) for q in "abcdefg"])
    write(tmp_path / "in" / "cut.json", whole[:-30])
    write(tmp_path / "in" / "good.jsonl", lines("x", "y"))
    tally = bring(tmp_path / "run", tmp_path / "in")
    assert counts(tally) == (2, 0, {"not_json": 1})
    assert goals(tmp_path / "run") == ["x", "y"]
    named = {
        f.path for s in StoredLedger(str(tmp_path / "run")).state.shards for f in s.files.values()
    }
    assert {
        str(p.relative_to(tmp_path / "run")) for p in (tmp_path / "run").rglob("*.parquet")
    } == named


@pytest.mark.parametrize("shard", [1, 500])
def test_nothing_to_import_makes_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shard: int
) -> None:
    monkeypatch.setattr(gathered, "SHARD", shard)
    tally = bring(
        tmp_path / "run", write(tmp_path / "cut.json", json.dumps([chat(q) for q in "abc"])[:-9])
    )
    assert counts(tally) == (0, 0, {"not_json": 1})
    assert not (tmp_path / "run").exists()


def test_a_file_larger_than_a_shard_is_committed_by_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathered, "SHARD", 2)
    questions = [f"q{i}" for i in range(7)]
    bring(tmp_path / "run", write(tmp_path / "x.jsonl", lines(*questions)))
    state = StoredLedger(str(tmp_path / "run")).state
    assert (state.lines, len(state.shards), len(state.slots)) == (2, 4, 7)
    assert goals(tmp_path / "run") == questions
    (file,) = state.imported.values()
    assert (file.file, file.bytes, file.trajectories) == (
        "x.jsonl",
        (tmp_path / "x.jsonl").stat().st_size,
        7,
    )


def test_exact_duplicates_stay_two_rows_with_one_content_hash(tmp_path: Path) -> None:
    bring(
        tmp_path / "run",
        write(tmp_path / "x.jsonl", lines("a", "b", "a")),
        write(tmp_path / "y.jsonl", lines("c", "a")),
    )
    rows = query(
        StoredLedger(str(tmp_path / "run")),
        "SELECT content_hash, count(DISTINCT trajectory_id) FROM trajectories GROUP BY 1",
    ).fetchall()
    assert sorted(count for _, count in rows) == [1, 1, 3]


def test_the_content_hash_does_not_depend_on_how_the_record_is_written(tmp_path: Path) -> None:
    record = chat("ä", reward=1.0)
    turned = json.dumps(dict(reversed(record.items())), indent=1, ensure_ascii=True)
    bring(
        tmp_path / "run",
        write(tmp_path / "x.json", json.dumps(record, ensure_ascii=False)),
        write(tmp_path / "y.json", turned),
    )
    assert query(
        StoredLedger(str(tmp_path / "run")),
        "SELECT count(*), count(DISTINCT content_hash) FROM trajectories",
    ).fetchone() == (2, 1)


def test_a_log_that_has_grown_brings_only_what_is_new(tmp_path: Path) -> None:
    log, run = tmp_path / "log.jsonl", tmp_path / "run"
    assert counts(bring(run, write(log, lines("a", "b")))) == (2, 0, {})
    assert counts(bring(run, write(log, lines("a", "b", "c") + '{"messages": [{"ro'))) == (
        1,
        2,
        {"not_json": 1},
    )
    moved = write(
        tmp_path / "archive" / "other.jsonl.gz",
        gzip.compress(lines("a", "b", "c", "d", "e").encode()),
    )
    assert counts(bring(run, moved)) == (2, 3, {})
    assert counts(bring(run, moved)) == (0, 5, {})
    assert goals(run) == list("abcde")


def test_a_log_without_a_last_line_break_can_grow(tmp_path: Path) -> None:
    log, run = tmp_path / "log.jsonl", tmp_path / "run"
    bring(run, write(log, lines("a", "b").rstrip()))
    assert counts(bring(run, write(log, lines("a", "b", "c")))) == (1, 2, {})


def test_files_that_only_begin_alike_are_not_the_same_log(tmp_path: Path) -> None:
    run = tmp_path / "run"
    bring(run, write(tmp_path / "x.jsonl", lines("a", "b")))
    assert counts(bring(run, write(tmp_path / "y.jsonl", lines("a", "c", "d")))) == (3, 0, {})


def test_a_dry_run_counts_the_same_and_writes_nothing(tmp_path: Path) -> None:
    source = write(tmp_path / "x.jsonl", lines("a", "b") + "{broken\n")
    assert counts(bring(tmp_path / "run", source, dry_run=True)) == (2, 0, {"not_json": 1})
    assert not (tmp_path / "run").exists()
    bring(tmp_path / "run", source)
    before = sorted((tmp_path / "run").rglob("*"))
    assert counts(bring(tmp_path / "run", source, dry_run=True)) == (0, 2, {"not_json": 1})
    assert sorted((tmp_path / "run").rglob("*")) == before


def test_linked_folders_are_read_once_and_a_loop_is_named(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "x.jsonl", lines("a"))
    write(tmp_path / "in" / "y.jsonl", lines("b"))
    (tmp_path / "in" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "in" / "twice").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "in" / "loop").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    tally = bring(tmp_path / "run", tmp_path / "in")
    assert goals(tmp_path / "run") == ["a", "b"]
    assert {r.file: r.reason for r in tally.rejections} == {
        "loop": "folder_again",
        "twice": "folder_again",
        "dangling.jsonl": "not_a_file",
    }


def test_a_long_line_costs_its_own_record_only(tmp_path: Path) -> None:
    source = write(
        tmp_path / "x.jsonl", lines("a") + json.dumps(chat("b" * 5_000_000)) + "\n" + lines("c")
    )
    assert counts(bring(tmp_path / "run", source, max_record_bytes=1_000_000)) == (
        2,
        0,
        {"record_too_large": 1},
    )


def test_a_packed_bomb_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompression, "MAX_RATIO", 10)
    source = write(tmp_path / "bomb.json.gz", gzip.compress(b"[" * 30_000_000))
    refused = decompression.unpacked(source, "bomb.json.gz", set(), max_bytes=1_000_000)
    assert getattr(refused, "reason", None) == "file_too_large"


WHOLE = [
    json.dumps([chat(q) for q in "abcde"]).encode(),
    lines(*"abcde").encode(),
    gzip.compress(lines(*"abcde").encode(), mtime=0),
]


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.sampled_from(WHOLE),
    st.floats(0, 1, exclude_max=True),
    st.binary(max_size=2),
    st.integers(0, 3),
    st.sampled_from([0, 1, 7]),
)
def test_a_damaged_file_never_comes_in_partly(
    tmp_path_factory: pytest.TempPathFactory,
    blob: bytes,
    place: float,
    put: bytes,
    removed: int,
    cut: int,
) -> None:
    at = int(place * len(blob))
    blob = blob[:at] + put + blob[at + removed :]
    blob = blob[: len(blob) - cut]
    folder = tmp_path_factory.mktemp("damaged")
    tally = bring(folder / "run", write(folder / "x", blob))
    came_in, _, reasons = counts(tally)
    in_ledger = len(goals(folder / "run")) if came_in else 0
    assert in_ledger == came_in
    assert came_in or reasons
    assert not any(r.locator == "file" and came_in for r in tally.rejections)
    assert all("\n" not in r.detail for r in tally.rejections)


def test_a_record_that_cannot_be_held_is_counted_as_invalid_and_said(
    tmp_path: Path,
) -> None:
    chats = importer("openai_messages")

    def unholdable(records: Any, settings: ImportSettings) -> Iterator[Any]:
        for found in chats.read(records, settings):
            seed = 2**63 if found.task.goal == "bad" else 0
            yield replace(found, trajectory=replace(found.trajectory, seed=seed))

    said = StringIO()
    source = write(tmp_path / "chats.jsonl", lines("good", "bad", "fine"))
    form = Format(chats.recognises, unholdable)
    tally = import_into(
        str(tmp_path / "run"), [source], form, PlainProgress(said), ImportSettings()
    )
    assert {name: n for name, n in tally.formats["openai_messages"].items() if n} == {
        "trajectories": 3,
        "turns": 3,
        "unknown": 2,
        "invalid": 1,
    }
    (line,) = [line for line in said.getvalue().splitlines() if line.startswith("trajectory")]
    assert "a value that the ledger cannot hold: seed: " in line
    found = query(
        StoredLedger(str(tmp_path / "run")),
        "SELECT outcome, count(*) FROM trajectories GROUP BY 1 ORDER BY 1",
    ).fetchall()
    assert found == [("invalid", 1), ("unknown", 2)]
