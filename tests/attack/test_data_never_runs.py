"""Tasks, rows and runs of strangers: none of them starts a process, imports a module, or reads what
it names, wherever one stands.
"""

import asyncio
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth.engine.progress import progress_for
from synth.engine.runs.replaying import recheck_all, replay_all
from synth.exporters.folder.sums import SUMS
from synth.filters.reexecuted import ReexecutedConfig, reexecuted
from synth.flows.data_folder import data_around
from synth.flows.environments import open_env
from synth.flows.own.bindings import Bindings, SaidByUser
from synth.flows.parts import part
from synth.flows.ray import on_ray
from synth.ledger.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.ledger.log.state import IMPORT
from synth.rl.trl import RlEnvironment, environment_factories
from synth.schemas.errors import ConfigError, UnboundError
from synth.schemas.filtering import Case
from synth.schemas.task import Task
from tests.attack.hostile_data import STARTS, Trap, configs, enormous, row_of, tasks
from tests.flow_files import echo_flow
from tests.trajectories import make_task, make_trajectory

COUNT = 220
MAIN = "from synth.cli.main import main; main()"
WORLD = (
    "try:\n    import optional_part\nexcept ImportError:\n    pass\nfrom synth.envs.echo "
    "import WORLD\n"
)


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trap]:
    """On the path and the current folder, so that whatever is imported by name is found."""
    made = Trap(tmp_path / "trap")
    monkeypatch.setattr(sys, "path", [str(made.folder), *sys.path])
    monkeypatch.chdir(made.folder)
    yield made
    assert not made.sprung(), "data was executed"


def test_no_task_of_a_stranger_is_opened(trap: Trap) -> None:
    for task in tasks(trap, COUNT):
        with pytest.raises(UnboundError) as refused:
            open_env(task.env, task.env_config)
        said = str(refused.value)
        assert "is not bound" in said
        assert "--env" in said
        assert len(said) < 700


def test_no_row_starts_anything_in_a_trainer(trap: Trap) -> None:
    environment = RlEnvironment(open_env)
    for task in tasks(trap, COUNT):
        row = row_of(task)
        with pytest.raises(ConfigError, match="is not bound"):
            environment.reset(row)
        (factory,) = environment_factories([row], open_env).values()
        with pytest.raises(ConfigError, match="is not bound"):
            factory().reset(**row)


def test_a_row_whose_task_is_of_another_environment_than_it_says_is_refused(trap: Trap) -> None:
    (task,) = tasks(trap, 1)
    row = {**row_of(task), "environment": "echo"}
    (factory,) = environment_factories([row], open_env).values()
    with pytest.raises(ConfigError, match="do not use these rows"):
        factory().reset(**row)


def a_run(folder: Path, found: list[Task], synthesizer: str) -> StoredLedger:
    ledger = StoredLedger(str(folder), create=True)
    ledger.begin_flow(
        {"name": "theirs", "env": {"name": "mcp", "command": ["touch", "x"], "unconfined": True}}
    )
    ledger.begin_stage(StageLine("rollout", "key", {}))
    played = [
        make_trajectory(f"s{at}", task_id=task.task_id, env=task.env, synthesizer=synthesizer)
        for at, task in enumerate(found)
    ]
    ledger.commit(StageRef("rollout", "key"), tasks=found, trajectories=played)
    return ledger


@pytest.mark.parametrize("synthesizer", ["rollout", IMPORT])
def test_replay_recheck_and_reexecution_of_a_strangers_run_start_nothing_and_say_what_was_left_out(
    trap: Trap, tmp_path: Path, synthesizer: str
) -> None:
    found = list(tasks(trap, COUNT))
    ledger = a_run(tmp_path / "theirs", found, synthesizer)
    for tally in (
        asyncio.run(replay_all(ledger, open_env, [], progress_for(quiet=True))),
        asyncio.run(recheck_all(ledger, open_env, progress_for(quiet=True))),
    ):
        assert sum(tally.left_out.values()) == COUNT
        assert all("is not bound" in reason for reason in tally.left_out), tally.left_out
        assert tally.unbound is not None
    by_id = {task.task_id: task for task in found}
    for trajectory in ledger.trajectories():
        verdict = asyncio.run(
            reexecuted(Case(trajectory, by_id[trajectory.task_id], open_env), ReexecutedConfig())
        )
        assert (verdict.keep, verdict.reason) == (None, "unbound")


def test_what_a_task_says_of_the_start_is_not_looked_at_where_its_environment_is_bound(
    trap: Trap,
) -> None:
    own = Bindings(
        {
            "mcp": SaidByUser(
                "mcp", {"command": ["/nowhere/server"], "unconfined": True, "without": ["rm"]}
            )
        }
    )
    for config in configs(trap, COUNT):
        env = own.open_env("mcp", config)
        settings_of = env._settings  # type: ignore[attr-defined]
        assert (settings_of.command, settings_of.folder, settings_of.without) == (
            ("/nowhere/server",),
            None,
            ("rm",),
        )
        assert (settings_of.limits.memory_mb, settings_of.masked, settings_of.environment) == (
            1024,
            (),
            {},
        )


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.text(max_size=60),
    config=st.dictionaries(
        st.sampled_from(STARTS) | st.text(max_size=9), st.text(max_size=20), max_size=4
    ),
)
def test_whatever_text_names_an_environment_is_refused_in_one_kind_of_error(
    trap: Trap, name: str, config: dict[str, str]
) -> None:
    if name in ("storefront", "echo", "textworld", "tau2"):
        return
    with pytest.raises(UnboundError) as refused:
        open_env(name, config)
    assert len(str(refused.value)) < 1000


def test_numbers_that_nobody_can_hold_are_refused_at_once() -> None:
    own = Bindings({"mcp": SaidByUser("mcp", {"command": ["x"]})})
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    outcomes = []
    for name, config in enormous(3, COUNT):
        try:
            env = own.open_env(name, config)
            if name == "storefront" and outcomes.count("opened") < 4:
                asyncio.run(env.reset(None))
            outcomes.append("opened")
        except (ConfigError, ImportError):
            outcomes.append("refused")
    assert outcomes.count("refused") > COUNT * 0.8
    assert time.process_time() - began < 8
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000, "200 MB of memory"


def planted(folder: Path, *names: str) -> Path:
    """Modules that leave a mark where they are imported."""
    for name in names:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'mark')!r}, 'w')\n")
    return folder


def a_dataset(folder: Path) -> Path:
    folder.mkdir()
    (folder / SUMS).write_text(f"{'0' * 64}  README.md\n{'0' * 64}  manifest.json\n")
    return folder


def their_run(folder: Path) -> Path:
    ledger = StoredLedger(str(folder), create=True)
    ledger.begin_stage(StageLine("rollout", "key", {}))
    task = make_task(env="shop")
    ledger.commit(
        StageRef("rollout", "key"),
        tasks=[task],
        trajectories=[make_trajectory("s", task_id=task.task_id, env="shop")],
    )
    return folder


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A world of the user's own that does without a module that is not installed, and a file that
    names it.
    """
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "my_world.py").write_text(WORLD)
    (folder / "shop.yaml").write_text(yaml.safe_dump({"env": {"name": "my_world:WORLD"}}))
    flow = {
        "name": "mine",
        "env": {"name": "echo", "tasks": 1},
        "models": {"explorer": {"policy": "expert"}},
        "stages": ["rollout"],
    }
    (folder / "flow.yaml").write_text(yaml.safe_dump(flow))
    return folder


def cli(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-P", "-c", MAIN, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("below", [".", "datasets/sft"])
def test_what_the_user_names_is_found_beside_their_file_and_not_in_the_run(
    own: Path, tmp_path: Path, below: str
) -> None:
    run = their_run(tmp_path / "theirs")
    folder = run / below
    folder.mkdir(parents=True, exist_ok=True)
    planted(folder, "optional_part")
    done = cli(folder, "replay", str(run), "--env", f"shop={own / 'shop.yaml'}")
    assert "cannot import" not in done.stderr + done.stdout
    assert "is not bound" not in done.stderr + done.stdout
    assert not (folder / "mark").exists()


def test_nor_is_a_dataset_looked_in_by_the_processes_that_a_run_starts(
    own: Path, tmp_path: Path
) -> None:
    folder = planted(a_dataset(tmp_path / "theirs"), "uvicorn", "fractions", "flows")
    done = cli(folder, "run", str(own / "flow.yaml"), "--run-dir", str(tmp_path / "run"))
    assert (done.returncode, (folder / "mark").exists()) == (0, False), done.stderr


def test_a_worker_that_would_import_from_there_is_refused(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = their_run(tmp_path / "theirs")
    done = cli(run, "deploy", str(own / "flow.yaml"), "--dry-run")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    monkeypatch.chdir(run)
    with pytest.raises(ConfigError, match="Ray imports from the folder that it starts in"):
        asyncio.run(on_ray(echo_flow(), str(tmp_path / "run"), progress_for(quiet=True)))


def test_a_module_that_lies_there_alone_is_not_found_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = planted(their_run(tmp_path / "theirs"), "their_module")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr("synth.flows.parts._FOLDERS", [])
    monkeypatch.chdir(run)
    with pytest.raises(ConfigError, match="a run or a dataset, never looked in"):
        part("world", "their_module:WORLD", {})
    with pytest.raises(ConfigError, match="a run or a dataset, never looked in"):
        part("world", "their_module:WORLD", {}, [str(run)])
    assert not (run / "mark").exists()


def test_folders_of_the_users_own_are_no_data(tmp_path: Path) -> None:
    (tmp_path / SUMS).write_text(f"{'0' * 64}  disk.iso\n")
    assert data_around(tmp_path / "flow.yaml") is None
    assert data_around(a_dataset(tmp_path / "ds") / "flow.yaml") == tmp_path / "ds"
