"""A flow.yaml below a run folder is data: whatever it names to be run, started or asked, nothing
is, unless the run was made here so.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from synth.flows.own.own_flow import given_flow, refuse_what_a_run_says, what_runs
from synth.flows.parts import folders
from synth.ledger.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.report.build import pieces
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from tests.attack.hostile_data import MODULE, Trap, configs
from tests.flow_files import SYNTH, echo_flow, run_flow
from tests.trajectories import make_task, make_trajectory

DOTTED = f"{MODULE}:WORLD"


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Trap]]:
    """A stranger's run with modules in it, as it comes out of an archive."""
    run = tmp_path / "theirs"
    ledger = StoredLedger(str(run), create=True)
    ledger.begin_flow(
        {"name": "theirs", "env": {"name": DOTTED}, "stages": [{"name": DOTTED, "settings": {}}]}
    )
    ledger.begin_stage(StageLine("rollout", "key", {}))
    task = make_task(env=DOTTED)
    ledger.commit(
        StageRef("rollout", "key"),
        tasks=[task],
        trajectories=[make_trajectory("s", task_id=task.task_id, env=DOTTED)],
    )
    trap = Trap(run)
    monkeypatch.chdir(run)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield run, trap
    assert not trap.sprung(), "a file of a run was executed"


def flows(trap: Trap, count: int) -> Iterator[dict[str, Any]]:
    """Flows, each of which would import, start or ask something."""
    draw = Random(7)
    starts = list(configs(trap, count))
    for at in range(count):
        server = {"model": "m", "base_url": "http://127.0.0.1:1/v1", "api_key_env": "HOME"}
        local = {"model": "m", "engine": "vllm_local", "python": str(trap.script)}
        changes: list[dict[str, Any]] = [
            {"env": {"name": "mcp", "tasks": 1, **starts[at]}},
            {"env": {"name": DOTTED, "tasks": 1}},
            {"models": {"explorer": {"policy": DOTTED}}},
            {
                "models": {
                    "explorer": {
                        "policy": "mixture",
                        "of": [{"policy": "expert"}, {"policy": DOTTED}],
                    }
                }
            },
            {
                "models": {
                    "explorer": draw.choice([server, local, {"model": "m", "engine": DOTTED}])
                }
            },
            {"stages": [{DOTTED: {}}]},
            {"stages": [DOTTED, {"rollout": {"trials": 1}}]},
            {"stages": [{"filter": [DOTTED]}]},
            {"stages": [{"filter": [{DOTTED: {"a": 1}}]}]},
            {"stages": [{"name": "filter", "settings": ["solved", {DOTTED: None}]}]},
        ]
        yield {
            "name": f"flow{at}",
            "env": {"name": "echo", "tasks": 1},
            "stages": [],
            **changes[at % len(changes)],
        }


def test_no_flow_file_below_a_strangers_run_says_what_runs(theirs: tuple[Path, Trap]) -> None:
    run, trap = theirs
    (run / "datasets" / "sft").mkdir(parents=True)
    places = [
        run / "flow.yaml",
        run / "datasets" / "sft" / "flow.yaml",
        run / "manifest" / "flow.yaml",
    ]
    for at, content in enumerate(flows(trap, 220)):
        path = places[at % len(places)]
        path.write_text(yaml.safe_dump(content))
        with pytest.raises(ConfigError, match="lies in the run") as refused:
            given_flow(path, ())[0]
        assert str(refused.value).count("\n") == 0
    assert str(run) not in folders(), "nor is a module looked for there"


def test_a_flow_of_built_in_parts_below_a_run_says_nothing_of_what_runs(
    theirs: tuple[Path, Trap],
) -> None:
    run, _ = theirs
    path = run / "flow.yaml"
    path.write_text(
        yaml.safe_dump(
            {
                "name": "plain",
                "env": {"name": "echo", "tasks": 1},
                "models": {"explorer": {"policy": "expert"}},
            }
        )
    )
    assert given_flow(path, ())[0].name == "plain"
    assert str(run) not in folders()


def test_the_same_words_in_a_file_of_the_users_own_are_theirs(
    theirs: tuple[Path, Trap], tmp_path: Path
) -> None:
    _, trap = theirs
    path = tmp_path / "mine.yaml"
    for content in flows(trap, 20):
        path.write_text(yaml.safe_dump(content))
        assert what_runs(content)
        refuse_what_a_run_says(path)


def test_the_flow_of_a_run_that_was_made_here_may_be_run_again_until_somebody_writes_into_it(
    tmp_path: Path,
) -> None:
    model = {"model": "m", "base_url": "http://127.0.0.1:1/v1"}
    flow = echo_flow(
        models={"explorer": {"policy": "expert"}, "judge": model},
        stages=[{"rollout": {"trials": 1}}],
    )
    run_flow(flow, str(tmp_path / "run"))
    path = tmp_path / "run" / "flow.yaml"
    assert given_flow(path, ())[0] == Flow.model_validate(flow.model_dump(mode="json"))
    path.write_text(path.read_text().replace("127.0.0.1:1", "127.0.0.1:2"))
    with pytest.raises(ConfigError, match=r"says what runs \(models\.judge"):
        given_flow(path, ())[0]


@pytest.mark.parametrize(
    "words",
    [
        ["run", "flow.yaml"], ["curate", ".", "flow.yaml"], ["deploy", "flow.yaml", "--dry-run"],
        ["replay", ".", "--env", f"{DOTTED}=flow.yaml"],
    ],
)  # fmt: skip
def test_commands_in_a_strangers_run_execute_nothing_of_it(
    theirs: tuple[Path, Trap], words: list[str]
) -> None:
    run, trap = theirs
    (run / "flow.yaml").write_text(
        yaml.safe_dump(
            {"name": "x", "env": {"name": DOTTED}, "stages": [{"filter": [DOTTED, "solved"]}]}
        )
    )
    found = subprocess.run([*SYNTH, *words], cwd=run, capture_output=True, text=True, check=False)
    assert (found.returncode, trap.sprung()) == (2, False), found.stderr
    assert "Traceback" not in found.stderr


def test_a_page_of_a_strangers_run_imports_nothing(theirs: tuple[Path, Trap]) -> None:
    run, _ = theirs
    assert list(pieces(StoredLedger(str(run)), "synth report", lambda name: None))


def test_the_flow_that_a_ledger_names_is_never_bound(
    theirs: tuple[Path, Trap], tmp_path: Path
) -> None:
    from synth.engine.progress import progress_for
    from synth.flows.curate import curate

    run, _ = theirs
    mine = Flow.model_validate(
        {"name": "mine", "stages": [{"filter": ["solved", "reexecuted"]}, {"topology": {}}]}
    )
    (run / "flow.yaml").unlink(missing_ok=True)
    _, reports = asyncio.run(curate(mine, str(run), progress_for(quiet=True)))
    assert "unbound" in str(reports["filter"])
