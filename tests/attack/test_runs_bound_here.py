"""A run is bound by how it was made on this machine, at its place: nothing that lies in a run
folder can take that over.
"""

import asyncio
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from synth.engine.progress import progress_for
from synth.engine.runs.replaying import ReplayTally, recheck_all, replay_all
from synth.flows.curate import curate
from synth.flows.environments import bindings_for, bound_envs, said_by_files, users_environments
from synth.flows.own.bindings import Bindings
from synth.importers.commit import import_into
from synth.ledger.ledger import StageRef, StoredLedger
from synth.ledger.log import manifest
from synth.ledger.log.manifest import RunLine, StageLine
from synth.ledger.storage import Storage
from synth.ledger.views import connect
from synth.schemas.errors import ConfigError, UnboundError
from synth.schemas.flow import Flow
from tests.flow_files import SYNTH, run_flow
from tests.trajectories import make_task, make_trajectory

SERVER = Path(__file__).parents[1] / "envs" / "mcp" / "ill_server.py"
GOAL = '- goal: Make b.\n  check: {required: [{table: file, where: {id: b, content: "y"}}]}\n'


def own_env(folder: Path) -> dict[str, Any]:
    """An MCP server that writes a line each time that it is started, unconfined."""
    (folder / "tasks.yaml").write_text(GOAL)
    (folder / "start").mkdir(exist_ok=True)
    starter = f'echo started >> {folder}/started; exec "$0" "$@"'
    command = ["/bin/sh", "-c", starter, sys.executable, str(SERVER)]
    return {
        "name": "mcp",
        "command": command,
        "unconfined": True,
        "folder": str(folder / "start"),
        "task_file": str(folder / "tasks.yaml"),
    }


def starts(folder: Path) -> int:
    path = folder / "started"
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A folder with a flow of the user's own, and the run that was made with it."""
    stages = [{"rollout": {"trials": 1, "limits": {"max_turns": 2}}}]
    content = {
        "name": "own",
        "env": {**own_env(tmp_path), "tasks": 1},
        "models": {"explorer": {"policy": "random"}},
        "stages": stages,
    }
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(content))
    run_flow(Flow.model_validate(content), str(tmp_path / "run"))
    assert starts(tmp_path) == 1
    return tmp_path


def replayed(url: Path, *environments: str) -> ReplayTally:
    ledger = StoredLedger(str(url))
    return asyncio.run(
        replay_all(
            ledger, bindings_for(ledger, environments).open_env, [], progress_for(quiet=True)
        )
    )


def test_a_run_that_was_made_here_is_executed_again_and_its_tasks_say_nothing_of_the_start(
    made: Path,
) -> None:
    tally = replayed(made / "run")
    assert (tally.same, tally.left_out, starts(made)) == (1, {}, 2)
    (task,) = (ledger := StoredLedger(str(made / "run"))).tasks(ledger.task_ids()).values()
    assert set(task.env_config) == {"digest", "started_by"}
    (record,) = Path(os.environ["SYNTH_STATE_DIR"]).glob("made/*.json")
    assert (record.stat().st_mode & 0o777, record.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_copy_at_another_place_and_another_run_at_this_place_are_not_bound(made: Path) -> None:
    shutil.copytree(made / "run", made / "copy")
    assert replayed(made / "copy").unbound is not None
    (made / "run").rename(made / "moved")
    assert replayed(made / "moved").unbound is not None
    run_id = StoredLedger(str(made / "moved")).state.run_id
    theirs = Storage(str(made / "run"))
    theirs.create(
        manifest.name_of(0), manifest.stored(RunLine(run_id))
    )  # the id is no secret: it stands in the run
    ledger = StoredLedger(str(made / "run"))
    ledger.begin_flow({"name": "theirs"})
    ledger.begin_stage(StageLine("rollout", "key", {}))
    task = make_task(env="mcp")
    ledger.commit(
        StageRef("rollout", "key"),
        tasks=[task],
        trajectories=[make_trajectory("s", task_id=task.task_id, env="mcp")],
    )
    assert replayed(made / "run").unbound is not None
    assert starts(made) == 1


def test_a_manifest_that_was_rewritten_from_a_line_on_unbinds_the_run(made: Path) -> None:
    storage, history = StoredLedger(str(made / "run")).storage, ""
    for path in sorted((made / "run/manifest").glob("0*")):
        number = int(path.name)
        line = manifest.read(storage, number)
        assert line is not None
        if isinstance(line, manifest.FlowLine):
            line = replace(line, flow={**line.flow, "seed": 8})
        blob = manifest.stored(line, history)
        path.unlink()
        path.write_bytes(blob)
        history = manifest.history_after(history, blob)
    shutil.rmtree(made / "run/manifest/packs", ignore_errors=True)
    assert replayed(made / "run").unbound is not None
    assert starts(made) == 1


def test_an_import_of_that_run_is_bound_by_the_users_word_alone(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made)
    import_into(str(made / "ours"), [made / "run"], "auto", progress_for(quiet=True))
    assert replayed(made / "ours").unbound is not None
    assert starts(made) == 1
    (made / "block.yaml").write_text(yaml.safe_dump(own_env(made)))
    for file in ("own.yaml", "block.yaml"):
        tally = replayed(made / "ours", f"mcp={file}")
        assert (tally.same, tally.left_out) == (1, {})
    configuration = Path(os.environ["XDG_CONFIG_HOME"]) / "synth"
    configuration.mkdir(parents=True)
    (configuration / "environments.yaml").write_text(yaml.safe_dump({"mcp": own_env(made)}))
    assert replayed(made / "ours").same == 1
    assert starts(made) == 4


def test_a_configuration_file_that_others_may_write_to_binds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "synth" / "environments.yaml"
    path.parent.mkdir()
    path.write_text(yaml.safe_dump({"mcp": own_env(tmp_path)}))
    path.chmod(0o666)
    with pytest.raises(ConfigError, match="others may write to it"):
        users_environments({"XDG_CONFIG_HOME": str(tmp_path)})
    assert users_environments({"XDG_CONFIG_HOME": "relative"}) == {}


def test_a_file_below_a_strangers_run_binds_nothing(made: Path) -> None:
    shutil.copytree(made / "run", made / "theirs")
    nameless = {"command": ["touch", "x"]}
    for at, content in enumerate(
        (
            {"name": "x", "stages": [], "env": own_env(made)},
            own_env(made),
            {"env": own_env(made)},
            nameless,
        )
    ):
        (made / "theirs" / f"{at}.yaml").write_text(yaml.safe_dump(content))
        (made / f"link{at}.yaml").symlink_to(made / "theirs" / f"{at}.yaml")
        for path in (made / "theirs" / f"{at}.yaml", made / f"link{at}.yaml"):
            with pytest.raises(ConfigError, match="lies in the run"):
                said_by_files([f"mcp={path}"])
            with pytest.raises(ConfigError, match="lies in the run"):
                bound_envs(path)


@pytest.mark.parametrize("written", ["mcp", "=x.yaml", "mcp=", "mcp=gone.yaml"])
def test_an_option_that_says_nothing_is_refused(written: str) -> None:
    with pytest.raises(ConfigError):
        said_by_files([written])


def test_settings_of_older_tasks_that_said_how_to_start_are_not_looked_at(made: Path) -> None:
    ledger = StoredLedger(str(made / "old"), create=True)
    ledger.begin_flow({"name": "old"})
    ledger.begin_stage(StageLine("rollout", "key", {}))
    (task,) = (own := StoredLedger(str(made / "run"))).tasks(own.task_ids()).values()
    old = {
        "command": ["touch", str(made / "canary")],
        "unconfined": True,
        "masked": ["(a+)+$"],
        "digest": task.env_config["digest"],
    }
    former = type(task).identified(
        env="mcp", goal=task.goal, env_config=old, seed=task.seed, check=task.check
    )
    (played,) = own.trajectories()
    ledger.commit(
        StageRef("rollout", "key"),
        tasks=[former],
        trajectories=[replace(played, task_id=former.task_id)],
    )
    assert replayed(made / "old").unbound is not None
    tally = replayed(made / "old", f"mcp={made / 'own.yaml'}")
    assert (tally.same, tally.left_out, (made / "canary").exists()) == (1, {}, False)


def test_commands_refuse_in_one_line_that_says_how_to_bind(made: Path) -> None:
    shutil.copytree(made / "run", made / "theirs")
    for words in (["replay", "theirs", "-q"], ["audit", "mcp", "--from", "theirs", "-q"]):
        found = subprocess.run(
            [*SYNTH, *words], cwd=made, capture_output=True, text=True, check=False
        )
        assert (
            found.returncode,
            found.stderr.count("\n"),
            found.stderr.count("--env mcp=FILE"),
        ) == (2, 1, 1), found.stderr
    tally = asyncio.run(
        recheck_all(
            StoredLedger(str(made / "theirs")), Bindings().open_env, progress_for(quiet=True)
        )
    )
    assert (tally.unbound is not None, starts(made)) == (True, 1)


def test_a_strangers_run_is_curated_without_what_is_not_bound_and_with_it_where_it_is(
    made: Path,
) -> None:
    shutil.copytree(made / "run", made / "theirs")
    judging = Flow.model_validate({"name": "judged", "stages": [{"filter": ["reexecuted"]}]})
    run, _, said = run_flow(judging, str(made / "theirs"), curate)
    assert said.count("--env mcp=FILE") == 1
    with connect(run.ledger) as connection:
        assert connection.execute("SELECT keep, reason FROM decisions").fetchall() == [
            (None, "unbound")
        ]
    assert starts(made) == 1
    bound = partial(curate, said=said_by_files([f"mcp={made / 'own.yaml'}"]))
    run, _, said = run_flow(judging, str(made / "theirs"), bound)
    assert "not bound" not in said
    with connect(run.ledger) as connection:
        assert connection.execute("SELECT keep, reason FROM decisions").fetchall() == [
            (True, "same")
        ]


def test_what_is_said_of_one_environment_opens_no_other(made: Path) -> None:
    own = Bindings(said_by_files([f"mcp={made / 'own.yaml'}"]))
    for name in ("MCP", "mcp ", "shop", "room:WORLD", "synth.envs.mcp:WORLD"):
        with pytest.raises(UnboundError):
            own.open_env(name, {})
