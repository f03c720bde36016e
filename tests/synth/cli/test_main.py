"""The command line where streams, encodings, files or we ourselves are broken: one line, an honest
exit code, no lost run.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from synth.cli import main as command_line
from synth.ledger.ledger import StoredLedger
from tests.flow_files import SYNTH, echo_flow

Done = subprocess.CompletedProcess[str]
SMALL = echo_flow(
    env={"name": "echo", "tasks": 1, "turns": 1}, stages=[{"rollout": {"trials": 1}}]
).model_dump(mode="json")
RUN = f"{shlex.join(SYNTH)} run my.yaml --run-dir run"


def shell(folder: Path, line: str, **environment: str) -> Done:
    return subprocess.run(
        line,
        shell=True,
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my.yaml").write_text(yaml.safe_dump(SMALL))
    return tmp_path


@pytest.mark.slow
def test_a_full_disk_behind_stdout_is_one_line_and_the_run_is_whole(folder: Path) -> None:
    done = shell(folder, f"{RUN} --quiet >/dev/full")
    assert (done.returncode, done.stderr) == (
        1,
        "synth: stdout: cannot be written: No space left on device; what was committed is not "
        "lost\n",
    )
    assert len(StoredLedger(str(folder / "run")).state.current_valid()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("streams", [">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_a_run_survives_streams_that_are_closed_or_full_and_says_nothing_into_its_files(
    folder: Path, streams: str
) -> None:
    assert shell(folder, f"{RUN} {streams}").returncode == 0
    ledger = StoredLedger(str(folder / "run"))
    assert [t.outcome for t in ledger.trajectories()] == ["success"]  # every digest was compared


@pytest.mark.slow
def test_an_error_keeps_its_exit_code_where_stderr_is_gone(folder: Path) -> None:
    line = f"{shlex.join(SYNTH)} run none.yaml"
    assert [
        shell(folder, f"{line} {stream}").returncode
        for stream in ("2>&-", "2>/dev/full", "2>/dev/null")
    ] == [2, 2, 2]


@pytest.mark.slow
def test_what_an_old_encoding_cannot_say_is_escaped_and_json_stays_json(folder: Path) -> None:
    assert shell(folder, f"{RUN} --quiet", PYTHONIOENCODING="ascii").returncode == 0
    asked = shell(
        folder,
        f"""{shlex.join(SYNTH)} sql run "SELECT 'é😀' AS a" --json""",
        PYTHONIOENCODING="ascii",
    )
    assert asked.stdout == '[{"a": "\\u00e9\\ud83d\\ude00"}]\n'
    assert json.loads(asked.stdout) == [{"a": "é😀"}]
    assert shell(
        folder, f"{shlex.join(SYNTH)} run é.yaml", PYTHONIOENCODING="ascii"
    ).stderr.startswith("synth: \\u00e9.yaml: no such file")


BROKEN = """
import sys
from types import ModuleType
import click
import synth.cli.main as main
@click.command()
def broken():
    raise {what}
sys.modules["broken"] = module = ModuleType("broken")
module.broken = broken
main.COMMANDS["broken"] = ("broken:broken", "")
sys.argv = ["synth", "broken"]
main.main()
"""


NO_MEMORY = (
    "synth: out of memory: give this process more (the container's limit, ulimit -v or -d), or let "
    "it hold less at once (a stage's `live` and `shard`); what was committed is kept: the same "
    "command goes on where this one stopped\n"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("PermissionError(13, 'Permission denied', 'a/b')", "synth: a/b: Permission denied\n"),
        ("ConnectionRefusedError('nobody there')", "synth: nobody there\n"),
        (
            "ValueError('two\\nlines')",
            "synth: internal error: ValueError: two lines (set SYNTH_DEBUG=1 for the traceback)\n",
        ),
        ("MemoryError", NO_MEMORY),
        ("__import__('duckdb').OutOfMemoryException('Allocation failure')", NO_MEMORY),
    ],
)
def test_what_nobody_foresaw_is_one_line_with_a_traceback_for_those_who_ask(
    what: str, line: str
) -> None:
    command = [sys.executable, "-c", BROKEN.format(what=what)]
    plain = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env=os.environ | {"SYNTH_DEBUG": "0"},
    )
    assert (plain.returncode, plain.stdout, plain.stderr) == (1, "", line)
    asked = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env=os.environ | {"SYNTH_DEBUG": "1"},
    )
    assert asked.returncode == 1
    assert "Traceback" in asked.stderr


def examples() -> list[tuple[str, list[str]]]:
    """Each command's examples, as on its help page."""
    found = []
    for name in command_line.COMMANDS:
        command = command_line.cli.get_command(click.Context(command_line.cli), name)
        assert command is not None
        assert command.help is not None
        lines = re.findall(
            r"^\s*(?:Example:  )?(synth .*)$", command.help.partition("\b")[2], re.MULTILINE
        )
        found += [(name, shlex.split(line)) for line in lines]
    return found


def test_every_command_has_an_example_and_every_example_is_read_by_its_command() -> None:
    assert {name for name, _ in examples()} == set(command_line.COMMANDS)
    for name, (program, called, *arguments) in examples():
        command = command_line.cli.get_command(click.Context(command_line.cli), called)
        assert (program, called) == ("synth", name)
        assert command is not None
        command.make_context(called, arguments)


def needs_more(name: str, words: list[str]) -> bool:
    """Whether an example needs what the quickstart does not leave: a server, the Hub, a student,
    merged turns by name, a noted head, a library with its tests, an import with its world.
    """
    asks = {
        "doctor": "--endpoint",
        "verify": "--expect",
        "publish": "--yes",
        "graph": "--why",
        "rank": "runs/mine",
        "audit": "mcp",
        "work": "s3://bucket/run",
        "repo": "pools/mine",
        "confirm": "runs/mine",
    }
    proves = (
        name == "export" and "--check" in words and "--include-scripted" not in words
    )  # the quickstart's rows are scripted
    binds = (
        "--env" in words and "mcp=shop.yaml" in words
    )  # tests/attack/test_runs_bound_here.py binds the runs of others
    return (
        proves
        or binds
        or asks.get(name, "--") in words
        or (name == "deploy" and "--dry-run" not in words)
    )


@pytest.mark.slow
@pytest.mark.nightly
def test_every_example_works_after_the_quickstart(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[3]
    (tmp_path / "configs").symlink_to(root / "configs")
    (tmp_path / "logs").mkdir()
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    (tmp_path / "logs" / "a.jsonl").write_text(json.dumps({"messages": messages}) + "\n")
    for name, words in sorted(examples(), key=lambda example: example[0] != "run"):
        if needs_more(name, words):
            continue
        ledger = StoredLedger(str(tmp_path / "runs/quickstart")) if name != "run" else None
        found = ledger.state.current_valid() if ledger is not None else []
        if name == "graph" and ledger is not None:
            found = sorted(
                {
                    record["task_id"]
                    for record in ledger.records()
                    if record["synthesizer"] == "rollout"
                }
            )
        given = [
            found[i][:10] if re.fullmatch("[0-9a-f]{4}", word) else word
            for i, word in enumerate(words)
        ]
        line = shlex.join([*SYNTH, *(word for word in given[1:] if word != "results.json.gz")])
        done = shell(tmp_path, line)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
