"""`synth import`: tables, dry run, listing, exit codes."""

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from synth.cli.import_runs import import_runs
from synth.cli.show import show
from synth.schemas.errors import ConfigError, SynthError


def source(folder: Path) -> Path:
    chats = [
        {
            "messages": [{"role": "user", "content": q}, {"role": "assistant", "content": "ok"}],
            "reward": r,
        }
        for q, r in (("a", 1), ("b", 0))
    ]
    (folder / "in").mkdir()
    (folder / "in" / "chats.jsonl").write_text(
        "".join(json.dumps(chat) + "\n" for chat in chats) + "[bold]\n"
    )
    (folder / "in" / "README.md").write_text("# words")
    return folder / "in"


def called(*arguments: str) -> Result:
    return CliRunner().invoke(import_runs, [*arguments, "--quiet"], catch_exceptions=False)


def test_the_tables_say_what_came_in_and_what_did_not(tmp_path: Path) -> None:
    result = called(str(source(tmp_path)), "--into", str(tmp_path / "run"))
    assert result.exit_code == 0
    row = next(line for line in result.output.splitlines() if "openai_messages" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "openai_messages",
        "2",
        "1",
        "1",
        "-",
        "-",
        "-",
        "2",
        "-",
        "-",
    ]
    assert "not_json" in result.output
    assert "README.md: begins with neither { nor [" in result.output
    assert "chats.jsonl line3" in result.output
    assert f"ledger   {tmp_path / 'run'}" in result.output


def test_a_dry_run_prints_the_same_tables_and_writes_nothing(tmp_path: Path) -> None:
    folder = source(tmp_path)
    dry = called(str(folder), "--into", str(tmp_path / "run"), "--dry-run")
    assert "dry run: nothing was written" in dry.output
    assert not (tmp_path / "run").exists()
    real = called(str(folder), "--into", str(tmp_path / "run"))
    *tables, ledger, look = real.output.splitlines()
    assert dry.output.splitlines()[:-1] == tables
    assert ledger == f"ledger   {tmp_path / 'run'}"
    words = shlex.split(look)
    shown = CliRunner().invoke(show, words[words.index("show") + 1 :])
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith("trajectory ")


def test_the_listing_has_every_rejection(tmp_path: Path) -> None:
    called(
        str(source(tmp_path)),
        "--into",
        str(tmp_path / "run"),
        "--rejections",
        str(tmp_path / "r.jsonl"),
    )
    found = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [(r["file"], r["locator"], r["reason"]) for r in found] == [
        ("README.md", "file", "not_json"),
        ("chats.jsonl", "line3", "not_json"),
    ]


def test_records_with_characters_that_no_text_can_hold_are_counted_and_the_first_is_named(
    tmp_path: Path,
) -> None:
    def line(text: str) -> str:
        return (
            json.dumps(
                {
                    "messages": [
                        {"role": "user", "content": "q"},
                        {"role": "assistant", "content": text},
                    ]
                }
            )
            + "\n"
        )

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text(
        line("whole: 😀") + line("x\ud83d y") + line("a\udc00b")
    )
    (tmp_path / "in" / "b.json").write_text(line("\udfff"))
    (tmp_path / "in" / "c.json").write_text(line("fine"))
    result = called(str(tmp_path / "in"), "--into", str(tmp_path / "run"))
    said = (
        "3 records had characters that no text can hold (lone surrogates): U+FFFD stands in "
        "their place, first in a.jsonl line2"
    )
    assert said in result.output.splitlines()
    clean = called(str(tmp_path / "in" / "c.json"), "--into", str(tmp_path / "other"))
    assert "U+FFFD" not in clean.output


def test_where_nothing_comes_in_it_says_so_and_makes_no_run(tmp_path: Path) -> None:
    folder = source(tmp_path)
    (folder / "chats.jsonl").unlink()
    with pytest.raises(
        SynthError, match=r"in: nothing to import in 1 file; .*run was left as it was"
    ):
        called(str(folder), "--into", str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_threshold_makes_a_composite_reward_a_success(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(
        json.dumps({"messages": [{"role": "assistant", "content": "ok"}], "reward": 0.7})
    )
    result = called(str(path), "--into", str(tmp_path / "run"), "--reward-threshold", "0.65")
    row = next(line for line in result.output.splitlines() if "openai_messages" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")][1:4] == ["1", "1", "-"]


def test_a_folder_that_is_no_run_and_not_empty_is_refused_unchanged(tmp_path: Path) -> None:
    folder = source(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(
        ConfigError,
        match=r"mine: is not a run folder, and holds notes\.txt; name another one with --into",
    ):
        called(str(folder), "--into", str(tmp_path / "mine"))
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    (tmp_path / "empty").mkdir()
    assert called(str(folder), "--into", str(tmp_path / "empty")).exit_code == 0
    (tmp_path / "empty" / "notes.txt").write_text("mine")
    assert called(str(folder), "--into", str(tmp_path / "empty")).exit_code == 0, (
        "a run may hold a note"
    )


@pytest.mark.parametrize("inside", ["in", "in/runs/mine"])
def test_a_run_inside_its_own_source_is_refused(tmp_path: Path, inside: str) -> None:
    folder = source(tmp_path)
    if inside == "in":
        called(str(folder / "chats.jsonl"), "--into", str(tmp_path / "run"))
        folder = tmp_path / "run"
    run = folder if inside == "in" else tmp_path / inside
    with pytest.raises(ConfigError, match="that it is to be imported into; name a run elsewhere"):
        called(str(folder), "--into", str(run))


def test_a_threshold_that_is_no_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--reward-threshold nan: must be a number"):
        called(str(source(tmp_path)), "--into", str(tmp_path / "run"), "--reward-threshold", "nan")


def test_another_threshold_does_not_change_what_is_there_and_the_output_says_so(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x.json"
    path.write_text(
        json.dumps({"messages": [{"role": "assistant", "content": "ok"}], "reward": 0.7})
    )
    called(str(path), "--into", str(tmp_path / "run"))
    again = called(str(path), "--into", str(tmp_path / "run"), "--reward-threshold", "0.65")
    assert (
        "1 were in the ledger already, and stay as they were imported then, outcomes included"
        in again.output
    )


def test_a_listing_that_cannot_be_written_is_told_before_anything_is_imported(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigError, match=r"--rejections .*nowhere/r\.jsonl: cannot be written"):
        called(
            str(source(tmp_path)),
            "--into",
            str(tmp_path / "run"),
            "--rejections",
            str(tmp_path / "nowhere" / "r.jsonl"),
        )
    assert not (tmp_path / "run").exists()


def test_a_source_that_is_a_link_to_itself_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "self").symlink_to("self")
    with pytest.raises(ConfigError, match="self does not exist"):
        called(str(tmp_path / "self"), "--into", str(tmp_path / "run"))


def test_labels_are_summed_up_and_what_found_nothing_is_listed_whole(tmp_path: Path) -> None:
    chats = [
        {
            "id": name,
            "messages": [{"role": "user", "content": name}, {"role": "assistant", "content": "a"}],
        }
        for name in ("one", "two")
    ]
    log, labels, left = tmp_path / "log.jsonl", tmp_path / "labels.csv", tmp_path / "left.jsonl"
    log.write_text("".join(json.dumps(one) + "\n" for one in chats))
    labels.write_text("id,success\none,true\nthree,false\n")
    options = ("--into", tmp_path / "run", "--labels", labels, "--unmatched", left)
    result = called(str(log), *map(str, options))
    assert result.exit_code == 0
    assert (
        "labels   2 rows: 1 found their trajectory, 1 trajectories have one; "
        "without: 1 labels, 1 trajectories"
    ) in result.output
    assert "label three: no trajectory is called so" in result.output
    assert "trajectory two: no label names it" in result.output
    assert "read as  openai_messages: JSON lines; object with 'id', 'messages'" in result.output
    assert [json.loads(line)["what"] for line in left.read_text().splitlines()] == [
        "label",
        "trajectory",
    ]
