"""`synth import`: tables, dry run, listing, exit codes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from schemas.errors import SynthError
from synth.cli.import_runs import import_runs


def source(folder: Path) -> Path:
    chats = [
        {"messages": [{"role": "user", "content": q}, {"role": "assistant", "content": "ok"}], "reward": r} for q, r in (("a", 1), ("b", 0))
    ]
    (folder / "in").mkdir()
    (folder / "in" / "chats.jsonl").write_text("".join(json.dumps(chat) + "\n" for chat in chats) + "[bold]\n")
    (folder / "in" / "README.md").write_text("# words")
    return folder / "in"


def called(*arguments: str) -> Result:
    return CliRunner().invoke(import_runs, [*arguments, "--quiet"], catch_exceptions=False)


def test_the_tables_say_what_came_in_and_what_did_not(tmp_path: Path) -> None:
    result = called(str(source(tmp_path)), "--into", str(tmp_path / "run"))
    assert result.exit_code == 0
    row = next(line for line in result.output.splitlines() if "openai_messages" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == ["openai_messages", "2", "1", "1", "-", "-", "-", "2", "-", "-"]
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
    assert dry.output.splitlines()[:-1] == real.output.splitlines()[:-1]


def test_the_listing_has_every_rejection(tmp_path: Path) -> None:
    called(str(source(tmp_path)), "--into", str(tmp_path / "run"), "--rejections", str(tmp_path / "r.jsonl"))
    found = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [(r["file"], r["locator"], r["reason"]) for r in found] == [
        ("README.md", "file", "not_json"),
        ("chats.jsonl", "line3", "not_json"),
    ]


def test_where_nothing_comes_in_it_says_so_and_makes_no_run(tmp_path: Path) -> None:
    folder = source(tmp_path)
    (folder / "chats.jsonl").unlink()
    with pytest.raises(SynthError, match=r"in: nothing to import in 1 files; .*run was left as it was"):
        called(str(folder), "--into", str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_threshold_makes_a_composite_reward_a_success(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"messages": [{"role": "assistant", "content": "ok"}], "reward": 0.7}))
    result = called(str(path), "--into", str(tmp_path / "run"), "--reward-threshold", "0.65")
    row = next(line for line in result.output.splitlines() if "openai_messages" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")][1:4] == ["1", "1", "-"]
