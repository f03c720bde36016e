"""Files of every kind of damage: a rejection each, never an exception, and the other records still
come in.
"""

import bz2
import gzip
import json
import lzma
import os
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.synth.importers.source_files import LINES, chat, load, outcome_of, write

CHAT = {
    "messages": [
        {"role": "user", "content": "Wo ist das Paket?"},
        {"role": "assistant", "content": "Unterwegs – heute."},
    ]
}


def zstd(blob: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd").compress(blob).to_pybytes()
    return packed


def tarred() -> bytes:
    out = BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo("x.jsonl")
        member.size = len(LINES[0])
        archive.addfile(member, BytesIO(LINES[0].encode()))
    return out.getvalue()


@pytest.mark.parametrize(
    "container",
    [
        "\n".join(LINES),
        "\n\n".join(LINES) + "\r\n",
        f"[{','.join(LINES)}]",
        "[\n" + ",\n".join(LINES) + "\n]\n",
    ],
)
def test_lines_and_arrays_give_the_same_records(tmp_path: Path, container: str) -> None:
    assert outcome_of(tmp_path, container) == (3, [])


@pytest.mark.parametrize("indent", [None, 2])
def test_one_pretty_printed_object_or_bare_list_is_one_record(
    tmp_path: Path, indent: int | None
) -> None:
    assert outcome_of(tmp_path, json.dumps(CHAT, indent=indent)) == (1, [])
    assert outcome_of(tmp_path, json.dumps(CHAT["messages"], indent=indent)) == (1, [])
    assert outcome_of(tmp_path, json.dumps([CHAT, CHAT], indent=indent)) == (2, [])


def test_bare_lists_one_per_line_are_records(tmp_path: Path) -> None:
    assert outcome_of(tmp_path, "\n".join(json.dumps(chat(q)["messages"]) for q in "abc")) == (
        3,
        [],
    )


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress, zstd])
def test_packed_files_are_known_by_content_and_have_the_ids_of_unpacked_ones(
    tmp_path: Path, pack: Any
) -> None:
    plain, _ = load(write(tmp_path, "plain.jsonl", "\n".join(LINES)))
    packed, bad = load(write(tmp_path, "no-suffix", pack("\n".join(LINES).encode())))
    assert bad == []
    assert [p.trajectory.trajectory_id for p in packed] == [
        p.trajectory.trajectory_id for p in plain
    ]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ('{"messages": [{"role": "user", "cont', "not_json"),
        ("[" * 100_000, "nested_too_deep"),
        ('{"a":' * 100_000, "nested_too_deep"),
        ('{"messages": [], "reward": NaN}', "not_json"),
        ('{"reward": 1, "messages": [], "reward": 0}', "duplicate_keys"),
        ('{"messages": []} trailing', "not_json"),
        ("plain words", "not_json"),
        (b'{"messages": [{"role": "user", "content": "\xe9t\xe9"}]}', "not_utf8"),
        ('{"messages": [{"role": "critic", "content": "x"}]}', "bad_record"),
        ('{"messages": "none"}', "bad_record"),
        ('{"messages": []}', "no_turns"),
        ('{"messages": [{"role": "user", "content": "x"}]}', "no_turns"),
        ('{"error": "rate limit"}', "bad_record"),
        ('"text"', "bad_record"),
        ("1e999", "bad_record"),
        ("9" * 5000, "not_json"),
        ('{"messages": [{"role": "assistant", "content": "x"}], "reward": 1e999}', "bad_record"),
        ('{"messages": [{"role": "assistant", "content": "x"}], "tools": "{"}', "bad_record"),
        ('{"messages": [{"role": "assistant", "content": "x"}], "reward": "much"}', "bad_record"),
    ],
)
def test_a_broken_line_is_one_rejection_and_the_others_come_in(
    tmp_path: Path, broken: str | bytes, reason: str
) -> None:
    line = broken.encode() if isinstance(broken, str) else broken
    assert outcome_of(tmp_path, b"\n".join([LINES[0].encode(), line, LINES[1].encode()])) == (
        2,
        [("line2", reason)],
    )


@pytest.mark.parametrize(
    "broken", ['{"messages": [], "reward": NaN}', '{"a": 1, "a": 2}', '{"messages": []}', "7"]
)
def test_a_refused_element_of_an_array_leaves_the_others(tmp_path: Path, broken: str) -> None:
    count, bad = outcome_of(tmp_path, f"[{LINES[0]}, {broken}, {LINES[1]}]")
    assert (count, [locator for locator, _ in bad]) == (2, ["1"])


def test_bytes_that_are_no_utf8_refuse_only_their_own_element(tmp_path: Path) -> None:
    latin = json.dumps(chat("été"), ensure_ascii=False).encode("latin-1")
    blob = (
        b"["
        + LINES[0].encode()
        + b","
        + latin
        + b","
        + json.dumps(CHAT, ensure_ascii=False).encode()
        + b"]"
    )
    assert outcome_of(tmp_path, blob) == (2, [("1", "not_utf8")])


def test_a_cut_array_is_refused_whole(tmp_path: Path) -> None:
    text = f"[{','.join(LINES)}]"
    assert outcome_of(tmp_path, text[: len(text) - 20]) == (0, [("file", "not_json")])


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstd])
@pytest.mark.parametrize("share", [0.2, 0.9, 0.999])
def test_a_cut_archive_is_refused_whole(tmp_path: Path, pack: Any, share: float) -> None:
    rows = [json.dumps(chat(os.urandom(400).hex())) for _ in range(400)]
    packed = pack("\n".join(rows).encode())
    assert outcome_of(tmp_path, packed[: int(len(packed) * share)]) == (
        0,
        [("file", "damaged_file")],
    )


@pytest.mark.parametrize(
    ("blob", "reason"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"[]", "empty"),
        (b"# read me", "not_json"),
        ("[{}]".encode("utf-16"), "not_utf8"),
        (b"\x28\xb5\x2f\xfd packed", "damaged_file"),
        (b"PK\x03\x04 packed", "unsupported_compression"),
        (b"PK\x05\x06" + b"\0" * 18, "unsupported_compression"),
        (tarred(), "unsupported_compression"),
        (gzip.compress(tarred()), "unsupported_compression"),
        (b"\x1f\x8b not really", "damaged_file"),
        (b'{"simulations": [], "info": {}}', "empty"),
        (b'{"simulations": 3, "info": {}}', "unknown_format"),
        (b"[1, 2]", "unknown_format"),
    ],
)
def test_a_file_that_nobody_reads_is_one_rejection(
    tmp_path: Path, blob: bytes, reason: str
) -> None:
    count, bad = outcome_of(tmp_path, blob)
    assert (count, [r for _, r in bad][-1:]) == (0, [reason])


def test_files_of_a_folder_come_in_sorted_order_and_none_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "b/two.jsonl", LINES[1])
    write(tmp_path, "a.json", LINES[0])
    write(tmp_path, "b/README.md", "# words")
    write(tmp_path, "z/copy.json", LINES[0])
    os.mkfifo(tmp_path / "pipe")
    good, bad = load(tmp_path)
    assert [g.trajectory.source.split(":")[-1] for g in good if g.trajectory.source] == [
        "a.json",
        "b/two.jsonl",
    ]
    assert {b.file: b.reason for b in bad} == {
        "b/README.md": "not_json",
        "pipe": "not_a_file",
        "z/copy.json": "duplicate_file",
    }


@pytest.mark.parametrize(
    "name", ["two\nlines.json", "esc\x1b[31m.json", os.fsdecode(b"no\xffutf8.json")]
)
def test_a_name_of_any_bytes_is_told_on_one_printable_line(tmp_path: Path, name: str) -> None:
    write(tmp_path / "in", name, "{broken")
    write(tmp_path / "in", f"good-{name}", LINES[0])
    (good,), (bad,) = load(tmp_path / "in")
    for shown in (bad.file, str(good.trajectory.source)):
        assert shown.isprintable()
    assert bad.file.endswith(".json")
