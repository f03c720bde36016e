"""`synth sql` as a user types it: late errors, long questions given up, a reader that leaves, a run
that lost something.
"""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from synth.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from tests.flow_files import SYNTH
from tests.synth.cli.command_runs import ROOT, refused, synth
from tests.trajectories import make_trajectory


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sql") / "run"
    ledger = StoredLedger(str(folder), create=True)
    ledger.commit(
        StageRef("rollout", "key1"), trajectories=[make_trajectory("a"), make_trajectory("b")]
    )
    ledger.begin_stage(StageLine("rollout", "key1", {}))
    return folder


@pytest.mark.slow
def test_what_is_no_question_is_one_line_and_exit_2(run_dir: Path) -> None:
    assert "there is no statement; give one" in refused(synth("sql", run_dir, ""))
    assert "COPY is not allowed: a ledger is only read" in refused(
        synth("sql", run_dir, "COPY (SELECT 1) TO 'x.csv'")
    )


@pytest.mark.slow
def test_an_error_that_comes_while_rows_are_fetched_is_one_line_and_exit_2(run_dir: Path) -> None:
    sql = "SELECT CASE WHEN i = {} THEN error('too late') ELSE i END AS i FROM range(200000) t(i)"
    for form in ([], ["--json"]):
        assert "sql: Invalid Input Error: too late" in refused(
            synth("sql", run_dir, sql.format(500), *form)
        )
        late = synth("sql", run_dir, sql.format(199_000), *form)
        assert late.returncode == 2
        assert late.stderr.count("\n") == 1, late.stderr
        assert "too late" in late.stderr


@pytest.mark.slow
def test_a_long_answer_is_given_row_by_row(run_dir: Path) -> None:
    sql = "SELECT i, NULL AS n FROM range(5000) t(i)"
    assert synth("sql", run_dir, sql).stdout == "i\tn\n" + "".join(f"{i}\t\n" for i in range(5000))
    assert json.loads(synth("sql", run_dir, sql, "--json").stdout) == [
        {"i": i, "n": None} for i in range(5000)
    ]
    assert synth("sql", run_dir, "SELECT 1 AS a WHERE false").stdout == "a\n"
    assert json.loads(synth("sql", run_dir, "SELECT 1 AS a WHERE false", "--json").stdout) == []


STARTED_S = 1.5
"""Processor time after which the command has surely begun to compute: its imports take less than a
second.
"""


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM range(100000000) a(i), range(10000000) b(j) WHERE (a.i * b.j) % 7 = "
        "3",
        "SELECT i FROM range(1000000000000) t(i) WHERE i % 1000000000007 = 5",
    ],
)
def test_a_long_question_is_given_up_at_once_with_exit_130(run_dir: Path, sql: str) -> None:
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's job in the background ignores it, and so would its children
    process = subprocess.Popen(
        [*SYNTH, "sql", str(run_dir), sql],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    signal.signal(signal.SIGINT, before)
    deadline = time.monotonic() + 30
    while cpu_s(process.pid) < STARTED_S:
        assert time.monotonic() < deadline, "the question is not being worked on"
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    asked = time.monotonic()
    try:
        stdout, stderr = process.communicate(timeout=20)
    finally:
        process.kill()
    assert time.monotonic() - asked < 15
    assert (process.returncode, stdout) == (130, "")
    assert stderr.strip().splitlines()[-1].startswith("synth: interrupted")
    assert "Traceback" not in stderr


@pytest.mark.slow
def test_a_reader_that_leaves_ends_a_large_answer_quietly(run_dir: Path) -> None:
    for form in ("", "--json"):
        sql = "SELECT i, repeat('x', 200) AS x FROM range(3000000) t(i)"
        shell = f"{' '.join(SYNTH[:2])} '{SYNTH[2]}' sql '{run_dir}' \"{sql}\" {form} | head -c 5"
        done = subprocess.run(
            shell, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.stderr, done.stdout) == ("", '[{"i"' if form else "i\tx\n0")


@pytest.mark.slow
def test_a_lost_shard_is_told_on_stderr_and_the_rest_is_answered(tmp_path: Path) -> None:
    ledger = StoredLedger(str(tmp_path), create=True)
    for slot in "ab":
        ledger.commit(StageRef("rollout", "key1"), trajectories=[make_trajectory(slot)])
    ledger.begin_stage(StageLine("rollout", "key1", {}))
    path = tmp_path / ledger.state.shards[0].files["turns"].path
    path.unlink()
    done = synth("sql", tmp_path, "SELECT slot_id FROM trajectories")
    assert (done.returncode, done.stdout) == (0, "slot_id\nb\n")
    assert done.stderr.startswith(
        f"{path}: missing; the 1 trajectories of its shard (stage rollout) count as never made: "
        "run the flow again"
    )
