"""What lies in the repository, as far as it can be told without one."""

import hashlib
from pathlib import Path

import msgspec
import pytest
import yaml

from synth.hub.publication import LIST, File, Listed, Publication, parts
from synth.hub.released import require_name
from synth.ledger.log.verify_written import CARD
from synth.schemas.errors import ConfigError


def publication(*shards: File, card: bytes = b"card") -> Publication:
    return Publication(
        shards, (File("traces/t.jsonl", b"{}\n"),), File(CARD, card), {"sft": 3}, {"license": "mit"}
    )


def test_files_have_the_names_that_git_and_the_hub_give_their_bytes(tmp_path: Path) -> None:
    (tmp_path / "hello").write_bytes(b"hello\n")
    for file in (File("x", b"hello\n"), File("x", tmp_path / "hello")):
        assert file.size == 6
        assert file.blob_id == "ce013625030ba8dba906f756967f9e9ca394464a"  # git hash-object
        assert file.sha256 == hashlib.sha256(b"hello\n").hexdigest()


def test_commits_are_bounded_by_files_and_by_bytes_and_keep_the_order() -> None:
    files = [File(str(at), b"x" * size) for at, size in enumerate((4, 4, 4, 9, 1))]
    assert [[file.path for file in part] for part in parts(files, 2, 100)] == [
        ["0", "1"],
        ["2", "3"],
        ["4"],
    ]
    assert [[file.path for file in part] for part in parts(files, 9, 8)] == [
        ["0", "1"],
        ["2"],
        ["3"],
        ["4"],
    ], "one too large goes alone"
    assert list(parts([], 2, 8)) == []


def test_the_list_names_all_that_was_written_and_is_the_same_for_the_same_content() -> None:
    one = publication(File("sft/a.parquet", b"rows"))
    listed = msgspec.json.decode(one.listed().content, type=Listed)
    assert listed.whole
    assert set(listed.files) == {"sft/a.parquet", "traces/t.jsonl", CARD}
    assert listed.files["sft/a.parquet"] == hashlib.sha256(b"rows").hexdigest()
    assert publication(File("sft/a.parquet", b"rows")).listed().content == one.listed().content
    assert publication(File("sft/a.parquet", b"rows")).digest == one.digest
    assert publication(File("sft/a.parquet", b"rows"), card=b"another").digest != one.digest


def test_one_that_is_not_whole_lists_what_stood_before_and_its_card_names_a_file_never_there() -> (
    None
):
    one = publication(File("sft/b.parquet", b"rows"))
    card, listed = one.begun(
        Listed("synth", True, {"sft": 1}, {"sft/a.parquet": "0", CARD: "1"}), one.placeholder()
    )
    found = msgspec.json.decode(listed.content, type=Listed)
    assert (card.path, listed.path) == (CARD, LIST)
    assert not found.whole
    assert set(found.files) == {"sft/a.parquet", "sft/b.parquet", "traces/t.jsonl", CARD}
    assert found.files[CARD] == card.sha256
    (config,) = yaml.safe_load(one.placeholder().split("---\n")[1])["configs"]
    assert config["data_files"][0]["path"] not in found.files


@pytest.mark.parametrize("name", ["me/quickstart", "quickstart", "a.b_c-d/e"])
def test_names_of_repositories(name: str) -> None:
    require_name(name)


@pytest.mark.parametrize(
    "name", ["", "a/b/c", "a b", "me/", "/x", "x--y", "x.git", "é", "a" * 97, "datasets/me/x"]
)
def test_what_is_no_name_of_a_repository_is_refused_before_anything_is_looked_at(name: str) -> None:
    with pytest.raises(ConfigError, match="is no name of a repository"):
        require_name(name)
