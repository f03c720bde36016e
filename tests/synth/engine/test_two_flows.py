"""Two flows on one run directory: not at the same time, and the one that is refused leaves no
trace.
"""

from pathlib import Path

import pytest

from synth.engine.runs.runner import plain
from synth.ledger import StoredLedger
from synth.ledger.storage.flow_lock import flow_lock
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError
from tests.flow_files import echo_flow, run_flow

FIRST = echo_flow(stages=[{"rollout": {"trials": 1}}])
SECOND = echo_flow(stages=[{"rollout": {"trials": 2}}])


def written(run: Path) -> dict[Path, bytes]:
    """What lies in a run, less the signs of life of who works or tried to work on it."""
    return {
        path: path.read_bytes()
        for path in run.rglob("*")
        if path.is_file() and "workers" not in path.parts
    }


@pytest.mark.slow
def test_a_second_flow_is_refused_in_one_line_while_the_first_runs_and_changes_nothing(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    run_flow(FIRST, url)
    ledger = StoredLedger(url)
    before = written(tmp_path / "run")
    with flow_lock(
        ledger.journal_folder, content_hash(plain(FIRST.model_dump(mode="json"))), "echo", url
    ):
        with pytest.raises(
            ConfigError,
            match=r"run: the flow 'echo' is running on it \(process \d+\), and this one differs "
            r"from it",
        ):
            run_flow(SECOND, url)
        assert written(tmp_path / "run") == before
        _, _, said = run_flow(FIRST, url)
        assert said.splitlines() == ["tasks: nothing to do", "rollout: nothing to do"]
    run_flow(SECOND, url)
    assert len(StoredLedger(url).state.current_valid()) == 8


def test_flow_yaml_is_written_where_the_flow_changed_only(tmp_path: Path) -> None:
    url, path = str(tmp_path / "run"), tmp_path / "run" / "flow.yaml"
    run_flow(FIRST, url)
    first = path.stat()
    run_flow(FIRST, url)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (first.st_ino, first.st_mtime_ns)
    run_flow(SECOND, url)
    assert path.stat().st_ino != first.st_ino
    assert "trials: 2" in path.read_text()


def test_sums_past_64_bits_do_not_stop_the_next_run(tmp_path: Path) -> None:
    from synth.engine.cost import spent
    from synth.ledger import StageRef
    from synth.schemas.trajectory import Usage
    from tests.trajectories import make_trajectory

    ledger = StoredLedger(str(tmp_path), create=True)
    ledger.commit(
        StageRef("rollout", "k"),
        trajectories=[make_trajectory(slot, totals=Usage(2**62)) for slot in "abc"],
    )
    assert spent(ledger).prompt_tokens == 3 * 2**62
