"""No false alarm after anything that synth itself does to a run, on a disk and in object
storage.
"""

import uuid
from pathlib import Path

import pytest
from click.testing import CliRunner

from synth.cli.main import cli
from synth.ledger import StoredLedger
from synth.ledger.log.verify import Verified, problems
from synth.ledger.storage import Storage
from tests.attack.finished_run import finish, found, tree, whole_flow
from tests.flow_files import run_flow

CURATE = """
name: later
stages:
  - filter: [solved]
  - export: {kinds: [sft], name: later, include_scripted: true}
"""


def commanded(*words: str) -> str:
    """A command of synth's, which must end well."""
    done = CliRunner().invoke(cli, list(words))
    assert done.exit_code == 0, (words, done.output, done.exception)
    return done.output


def test_after_everything_that_synth_does_to_a_run_it_is_whole(tmp_path: Path) -> None:
    run = finish(tmp_path / "run")
    said = [found(run)]
    before = tree(run)
    run_flow(whole_flow(), str(run))
    assert {name: held for name, held in tree(run).items() if not name.startswith("workers")} == {
        name: held for name, held in before.items() if not name.startswith("workers")
    }, "a rerun of what is done changes no file"
    run_flow(whole_flow(trials=3), str(run))
    said.append(found(run))
    run_flow(whole_flow(), str(run))
    said.append(found(run))
    (tmp_path / "curate.yaml").write_text(CURATE)
    for words in (
        ("report", str(run), "--quiet"),
        ("recheck", str(run), "--quiet"),
        ("curate", str(run), str(tmp_path / "curate.yaml"), "--quiet"),
        (
            "export",
            str(run),
            "--kind",
            "sft",
            "--out",
            str(run / "datasets/mine"),
            "--include-scripted",
        ),
        ("publish", str(run), "--repo", "me/x", "--license", "apache-2.0"),
        ("export", str(run), "--kind", "sft", "--out", str(tmp_path / "out"), "--include-scripted"),
        ("sql", str(run), "SELECT 1"),
    ):
        commanded(*words)
        said.append(found(run))
    assert said == [[]] * len(said)
    run_flow(whole_flow(name="echo"), str(run))
    assert found(run) == []
    assert "all as SHA256SUMS says" in commanded("verify", str(tmp_path / "out"))
    assert "all as they were committed" in commanded("verify", str(run))


@pytest.fixture(scope="module")
def bucket() -> str:
    url = f"memory://{uuid.uuid4().hex}/run"
    run_flow(whole_flow(), url)
    return url


def test_in_object_storage_every_changed_object_is_named(bucket: str) -> None:
    storage = Storage(bucket)
    assert list(problems(storage, Verified())) == []
    names = [
        name for name in storage.tree("") if name.partition("/")[0] not in ("claims", "workers")
    ]
    assert {
        "report.html",
        "cost.json",
        "flow.yaml",
        "datasets/sft/SHA256SUMS",
        "datasets/rl/README.md",
    } <= set(names)
    for name in names:
        before = storage.read(name)
        at = len(before) // 2
        storage.replace(name, before[:at] + bytes([before[at] ^ 4]) + before[at + 1 :])
        assert [said.partition(": ")[0] for said in problems(storage, Verified())] == [
            storage.path(name)
        ]
        storage.replace(name, before)
    storage.replace("datasets/sft/extra.parquet", b"x")
    assert len(list(problems(storage, Verified()))) == 1
    storage.discard("datasets/sft/extra.parquet")


def test_in_object_storage_an_export_that_was_killed_half_way_is_finished_by_the_same_command(
    bucket: str,
) -> None:
    """Its line is committed and some of its objects are put, neither the manifest nor the sums
    among them.
    """
    storage = Storage(bucket)
    for name in ("manifest.json", "SHA256SUMS"):
        storage.discard(f"datasets/rl/{name}")
    last = max(int(name) for name in storage.names("manifest") if name.isdecimal())
    from synth.ledger.log.manifest import WrittenLine, name_of, read

    named = [
        number
        for number in range(last + 1)
        if isinstance(line := read(storage, number), WrittenLine) and line.folder
    ]
    for number in range(max(named) + 1, last + 1):
        storage.discard(name_of(number))
    for pack in storage.names("manifest/packs"):
        storage.discard(f"manifest/packs/{pack}")
    said = [one for one in problems(storage, Verified()) if "datasets/" in one.partition(": ")[0]]
    assert said
    assert all(": unfinished: " in one for one in said)
    run_flow(whole_flow(), bucket)
    assert list(problems(storage, Verified())) == []
    assert StoredLedger(bucket).state.written["datasets/rl"].flow == "echo"
