"""`from synth import ...`: which names there are, what they cost, and that a notebook can use
them.
"""

import ast
import asyncio
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path

import pytest

import synth
from synth.ledger import StageRef, StoredLedger
from synth.ledger.ledger import Score
from synth.ledger.log.manifest import name_of
from tests.flow_files import echo_flow
from tests.trajectories import make_task, make_trajectory

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"env.tasks": 2, "env.turns": 1}


def in_a_process(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    return done.stdout.strip()


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> synth.RunResult:
    folder = tmp_path_factory.mktemp("api")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYNTH_STATE_DIR", str(folder / "state"))
        return synth.run(echo_flow(), run_dir=folder / "run", set=SMALL, quiet=True)


def test_the_package_alone_loads_nothing_else() -> None:
    before = "import sys, importlib, typing; before = {*sys.modules}; import synth; "
    assert (
        in_a_process(before + "print(sorted({*sys.modules} - before))")
        == "['synth', 'synth.lazy_names']"
    )


def test_a_type_loads_no_heavy_package() -> None:
    heavy = {
        "polars",
        "duckdb",
        "pyarrow",
        "networkx",
        "numpy",
        "openai",
        "torch",
        "transformers",
        "prefect",
        "datasets",
        "rich",
    }
    code = (
        "import sys; from synth import Case, Require, Task, ToolEnv, Trajectory, Verdict, filter; "
        "from synth import tool; "
        f"print(sorted({heavy!r} & {{*sys.modules}}))"
    )
    assert in_a_process(code) == "[]"


@pytest.mark.parametrize(("name", "needless"), [("status", "polars"), ("diff", "duckdb")])
def test_a_look_loads_nothing_that_runs_or_reports_need(name: str, needless: str) -> None:
    code = f"import sys, synth; synth.{name}; print({needless!r} in sys.modules)"
    assert in_a_process(code) == "False"


def test_every_name_is_there_and_no_other() -> None:
    for name in synth.__all__:
        assert getattr(synth, name) is getattr(import_module(synth._MODULES[name]), name)
    with pytest.raises(AttributeError, match="module 'synth' has no attribute 'nonsense'"):
        _ = synth.nonsense  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
        exec("from synth import nonsense")


def test_type_checkers_see_the_same_names_from_the_same_modules() -> None:
    tree = ast.parse(Path(synth.__file__).with_suffix(".pyi").read_text())
    seen = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("synth."):
            assert all(
                alias.asname == alias.name for alias in node.names
            )  # else it is no re-export
            seen |= {alias.name: node.module for alias in node.names}
    assert seen == synth._MODULES


def test_no_public_name_is_a_modules_too() -> None:
    """`from synth import report` would give a module once `synth.report` was imported."""
    modules = {path.stem for path in Path(synth.__file__).parent.iterdir()}
    assert {"ledger", "report", "schemas", "filters", "api"} <= modules
    assert modules & set(synth.__all__) == set()


def test_a_flow_runs_and_its_result_says_where_everything_lies(result: synth.RunResult) -> None:
    assert result.outcomes == {"success": 4}  # two trials of two tasks
    assert list(result.datasets) == ["sft"]
    assert Path(result.datasets["sft"], "README.md").is_file()
    assert result.stopped is None
    assert (
        sorted(row["outcome"] for row in result.ledger.frame("trajectories").collect().to_dicts())
        == ["success"] * 4
    )


@pytest.mark.slow
def test_a_run_that_is_run_again_is_gone_on_with(tmp_path: Path) -> None:
    first = synth.run(echo_flow(), run_dir=tmp_path / "run", set=SMALL, quiet=True)
    again = synth.run(
        echo_flow(), run_dir=tmp_path / "run", set={**SMALL, "stages.rollout.trials": 3}, quiet=True
    )
    before, after = ({t.trajectory_id for t in one.ledger.trajectories()} for one in (first, again))
    assert first.outcomes == {"success": 4}
    assert again.outcomes == {"success": 6}
    assert before == after  # both ledgers are opened now: the four are kept, two were added


def test_a_flow_runs_by_name_and_with_settings_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = synth.run("empty", quiet=True)
    assert Path(done.run_dir) == tmp_path / "runs" / "empty"
    assert (tmp_path / "runs" / "empty" / "manifest").is_dir()
    with pytest.raises(synth.ConfigError, match=r"nothing\.yaml"):
        synth.run("nothing.yaml", quiet=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"env.tasks": "many"}, "flow echo: env.tasks"),
        ({"stages.rollout.trails": 2}, r"flow echo: stages\[0\].rollout.trails is not a setting"),
        (
            {"stages.nothing.trials": 2},
            "set 'stages.nothing.trials': there is no 'nothing' in that list; it holds rollout, "
            "filter, export",
        ),
        ({"": 2}, "set '': name a setting as a.b"),
    ],
)
def test_settings_are_as_strict_as_those_of_a_file(
    tmp_path: Path, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(synth.ConfigError, match=message) as caught:
        synth.run(echo_flow(), run_dir=tmp_path / "run", set=settings, quiet=True)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_flow_is_not_changed_by_the_settings_of_one_run(tmp_path: Path) -> None:
    flow = echo_flow()
    before = flow.model_dump_json()
    synth.run(flow, run_dir=tmp_path / "run", set={**SMALL, "stages.rollout.trials": 1}, quiet=True)
    assert flow.model_dump_json() == before


def test_a_run_inside_a_running_loop_is_the_same_run(
    tmp_path: Path, result: synth.RunResult
) -> None:
    async def notebook() -> synth.RunResult:
        assert asyncio.get_running_loop().is_running()
        return synth.run(echo_flow(), run_dir=tmp_path / "run", set=SMALL, quiet=True)

    found = asyncio.run(notebook())
    assert found.outcomes == result.outcomes
    assert {t.trajectory_id for t in found.ledger.trajectories()} == {
        t.trajectory_id for t in result.ledger.trajectories()
    }
    assert [thread.name for thread in threading.enumerate() if thread.name == "synth"] == []


def test_what_a_run_refuses_reaches_a_notebook_as_it_is(tmp_path: Path) -> None:
    async def notebook() -> None:
        synth.run(tmp_path / "absent.yaml", quiet=True)

    with pytest.raises(synth.ConfigError, match=r"absent.yaml"):
        asyncio.run(notebook())


@pytest.mark.slow
def test_curate_judges_what_an_earlier_run_collected(tmp_path: Path) -> None:
    collected = echo_flow(stages=[{"rollout": {"trials": 2}}])
    first = synth.run(collected, run_dir=tmp_path / "run", set=SMALL, quiet=True)
    assert first.datasets == {}

    async def notebook() -> synth.RunResult:
        return synth.curate(first.run_dir, echo_flow(), quiet=True)

    judged = asyncio.run(notebook())
    assert list(judged.datasets) == ["sft"]
    assert judged.outcomes == first.outcomes
    assert set(judged.ledger.frame("decisions").collect()["keep"]) == {True}


def test_trajectories_and_tasks_are_found_by_what_they_are(tmp_path: Path) -> None:
    stored = StoredLedger(str(tmp_path / "run"), create=True)
    task = make_task()
    good = make_trajectory("a", synthesizer="import", task_id=task.task_id)
    bad = make_trajectory(
        "b", synthesizer="import", task_id=task.task_id, outcome=synth.Outcome.FAILURE, reward=0.0
    )
    tested = synth.StepLabel(
        method="sequential", q_pos=0.75, n_pos=4, q_neg=0.0, n_neg=4, pos_ids=("x", "y")
    )
    scores = [
        Score(bad.trajectory_id, "critical_step", 1.0, 1, tested),
        Score(good.trajectory_id, "words", 2.0, detail={"n": 2}),
    ]
    stored.commit(StageRef("import", "one"), trajectories=[good, bad], tasks=[task], scores=scores)
    ledger = synth.open_ledger(tmp_path / "run")
    assert list(ledger.trajectories()) == [good, bad]
    assert list(ledger.trajectories(outcome="failure")) == [bad]
    assert list(ledger.trajectories(outcome="success", synthesizer="import")) == [good]
    assert list(ledger.trajectories(synthesizer="rollout")) == []
    assert ledger.task(task.task_id) == task
    assert ledger.trajectory(good.trajectory_id[:12]) == good
    (label,) = ledger.labels(synth.StepLabel)
    assert (label.subject_id, label.turn, label.value) == (bad.trajectory_id, 1, 1.0)
    assert label.about == tested
    assert label.about.evidence is not None
    assert label.about.evidence.treated == synth.Counts(3, 4, ("x", "y"))
    assert list(ledger.labels(synth.AttributionLabel)) == []
    assert [one.about for one in ledger.measures("words", dict[str, int])] == [{"n": 2}]
    for wrong, message in (
        (
            lambda: ledger.trajectories(outcome="won"),
            "there is none of this name; known: success, failure",
        ),
        (lambda: ledger.task("nothing"), "'nothing' names no task in "),
        (lambda: ledger.trajectory("nothing"), "'nothing' names no trajectory"),
        (lambda: ledger.sql("DROP VIEW turns"), "DROP is not allowed"),
        (lambda: ledger.frame("nothing"), "there is no table 'nothing'"),
    ):
        with pytest.raises(synth.ConfigError, match=message):
            wrong()


def test_opening_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(synth.ConfigError, match="holds no run"):
        synth.open_ledger(tmp_path / "absent")
    assert list(tmp_path.iterdir()) == []


def test_a_foreign_folder_and_a_truncated_run_give_one_line_each(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("mine")
    with pytest.raises(synth.ConfigError, match="holds no run") as caught:
        synth.open_ledger(foreign)
    assert "\n" not in str(caught.value)
    with pytest.raises(synth.ConfigError, match=r"is not a run folder, and holds thesis.txt"):
        synth.run(echo_flow(), run_dir=foreign, quiet=True)
    assert [path.name for path in foreign.iterdir()] == ["thesis.txt"]
    synth.run(echo_flow(), run_dir=tmp_path / "run", set=SMALL, quiet=True)
    second = tmp_path / "run" / name_of(1)
    second.write_bytes(second.read_bytes()[:20])
    with pytest.raises(synth.SynthError, match=second.name) as broken:
        synth.open_ledger(tmp_path / "run")
    assert "\n" not in str(broken.value)


def test_what_a_run_has_lost_is_warned_of(tmp_path: Path) -> None:
    synth.run(echo_flow(), run_dir=tmp_path / "run", set=SMALL, quiet=True)
    for path in (tmp_path / "run" / "trajectories").iterdir():
        path.unlink()
    with pytest.warns(UserWarning, match="trajectories/.*"):
        ledger = synth.open_ledger(tmp_path / "run")
    assert len(ledger.lost) == 1
