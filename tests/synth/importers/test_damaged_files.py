"""Files that are large, missing or damaged are read or refused by name."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.importers.files.decompression import Unpacked, unpacked
from synth.importers.records import Rejection
from synth.schemas.errors import ConfigError
from tests.synth.importers.imports import imported
from tests.synth.importers.source_files import LINES, chat, load, outcome_of, write


def test_what_is_too_large_is_refused_by_name(tmp_path: Path) -> None:
    bomb = write(tmp_path, "bomb", gzip.compress(b" " * 3_000_000))
    refused = unpacked(bomb, "bomb", set(), max_bytes=2_000_000)
    assert isinstance(refused, Rejection)
    assert refused.reason == "file_too_large"
    assert isinstance(unpacked(bomb, "bomb", set(), max_bytes=3_000_000), Unpacked)


def test_a_huge_line_comes_in_like_any_other(tmp_path: Path) -> None:
    assert outcome_of(
        tmp_path, "\n".join([LINES[0], json.dumps(chat("x" * 20_000_000)), LINES[1]])
    ) == (3, [])


def test_importing_twice_gives_the_same_ids_and_copies_within_a_file_stay_two_rows(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, "x", "\n".join([LINES[0], LINES[0]]))
    first, _ = load(path)
    again, _ = load(path)
    assert first == again
    assert (
        len({g.trajectory.trajectory_id for g in first})
        == len({g.trajectory.slot_id for g in first})
        == 2
    )
    assert [g.trajectory.trial for g in first] == [0, 1]


def test_a_file_that_cannot_be_read_is_one_rejection() -> None:
    _, (bad,) = load(Path("/proc/self/mem"))  # readable by its rights, and an error when it is read
    assert (bad.file, bad.reason) == ("mem", "unreadable")


def test_a_missing_path_and_an_unknown_format_are_told_at_once_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere does not exist; give a file or a folder"):
        imported([tmp_path / "nowhere"])
    with pytest.raises(
        ConfigError,
        match=r"format 'tau3' is not known; allowed: auto, agentrx, .*openai_messages, .*tau_bench",
    ):
        imported([tmp_path], format="tau3")


def test_a_format_given_by_name_is_not_sniffed(tmp_path: Path) -> None:
    _, bad = load(write(tmp_path, "x", "\n".join(LINES)), format="tau-bench")
    assert Counter(b.reason for b in bad) == {"bad_record": 3}


WHOLE = f"[{','.join(json.dumps(chat(q), ensure_ascii=False) for q in ('ä', 'b', '😀'))}]".encode()


PACKED = gzip.compress(WHOLE, mtime=0)


@pytest.mark.slow
@settings(max_examples=150)
@given(
    blob=st.sampled_from([WHOLE, PACKED, "\n".join(LINES).encode()]),
    edits=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.binary(max_size=3), st.integers(0, 5)),
        max_size=4,
    ),
    keep=st.floats(0, 1),
)
def test_however_a_file_is_damaged_it_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory,
    blob: bytes,
    edits: list[tuple[float, bytes, int]],
    keep: float,
) -> None:
    for place, written, removed in edits:
        at = int(place * len(blob))
        blob = blob[:at] + written + blob[at + removed :]
    blob = blob[: max(1, int(keep * len(blob)))]
    good, bad = load(write(tmp_path_factory.mktemp("damaged"), "x", blob))
    assert good or bad
    assert all("\n" not in b.detail for b in bad)


@settings(max_examples=100)
@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda t: t.encode("utf-8", "replace")))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, blob: bytes
) -> None:
    good, bad = load(write(tmp_path_factory.mktemp("any"), "x", blob))
    assert good or bad
