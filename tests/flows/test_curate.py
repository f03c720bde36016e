"""`curate`: filters and exports on what a ledger holds, whoever collected it; nothing is collected,
nothing is lost.
"""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from synth.claims.workers import heartbeats
from synth.engine.progress import PlainProgress
from synth.filters import secrets
from synth.flows.curate import curate
from synth.importers.commit import import_into
from synth.importers.records import ImportSettings
from synth.ledger import StoredLedger
from synth.ledger.sql import query
from synth.ledger.storage import Storage
from synth.schemas.errors import ConfigError, FlowError, SynthError
from tests.flow_files import ROLLOUT, echo_flow, model_flow, run_flow
from tests.synth.models.chat_brains import echo_expert
from tests.synth.models.chat_server import ChatServer

EXPORT: dict[str, Any] = {"kinds": ["sft"], "as": "trl"}
BESIDE = [{"filter": ["solved"]}, {"export": EXPORT | {"name": "later"}}]
"""The same beside the dataset of another flow, which is not replaced unasked."""
LATER = [{"filter": ["solved"]}, {"export": EXPORT}]


def imported(folder: Path, rewards: list[float | None]) -> str:
    """A run that holds one chat per reward, and nothing else."""
    chats = [
        {"messages": [{"role": "user", "content": f"q{i}"}, {"role": "assistant", "content": "a"}]}
        | ({} if r is None else {"reward": r})
        for i, r in enumerate(rewards)
    ]
    source = folder / "chats.jsonl"
    source.write_text("".join(json.dumps(chat) + "\n" for chat in chats))
    import_into(str(folder / "run"), [source], "auto", PlainProgress(StringIO()), ImportSettings())
    return str(folder / "run")


def curating(url: str, stages: list[Any], **changes: Any) -> tuple[Any, str]:
    _, reports, said = run_flow(echo_flow(name="later", stages=stages, **changes), url, curate)
    return reports, said


def test_an_import_goes_through_filters_to_rows(tmp_path: Path) -> None:
    reports, _ = curating(imported(tmp_path, [1, 0, 1, None]), LATER)
    assert list(reports) == ["import", "filter", "export"]
    assert reports["import"]["outcomes"] == {"success": 2, "failure": 1, "unknown": 1}
    assert (reports["filter"]["kept"], reports["filter"]["total"]) == (3, 4), (
        "without a verdict a trajectory is not dropped"
    )
    sft = reports["export"]["datasets"]["sft"]
    assert (sft["rows"], sft["left_out"]) == (2, {"outcome:unknown": 1})


def test_the_world_the_models_and_the_collection_of_the_flow_are_not_used(tmp_path: Path) -> None:
    url = imported(tmp_path, [1])
    reports, said = curating(
        url,
        [{"rollout": ROLLOUT}, *LATER],
        env={"name": "nowhere"},
        models={"explorer": {"model": "m", "api_key_env": "NOT_SET"}},
    )
    assert "rollout: not run; the trajectories are those of the ledger" in said
    assert list(reports) == ["import", "filter", "export"]
    written = yaml.safe_load((tmp_path / "run/flow.yaml").read_text())
    assert (written["env"], written["models"], [stage["name"] for stage in written["stages"]]) == (
        None,
        {},
        ["filter", "export"],
    )


def test_another_version_of_a_filter_judges_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = imported(tmp_path, [1, 0])
    stages = [{"filter": ["secrets"]}]
    curating(url, stages)
    assert "filter: nothing to do" in curating(url, stages)[1]
    newer = replace(secrets.FILTER, version=secrets.FILTER.version + 1)
    monkeypatch.setattr(secrets, "FILTER", newer)
    said = curating(url, stages)[1]
    assert "filter: nothing to do" not in said
    assert "filter: 2 trajectories" in said


@pytest.mark.slow
def test_a_second_time_nothing_is_done_and_other_filters_judge_again(tmp_path: Path) -> None:
    url = imported(tmp_path, [1, 0])
    curating(url, LATER)
    _, said = curating(url, LATER)
    assert said.splitlines() == ["filter: nothing to do", "export: nothing to do"]
    _, said = curating(url, [{"filter": ["solved", "reexecuted"]}, {"export": EXPORT}])
    assert "filter: 2 trajectories to do (reexecuted: null -> " in said


@pytest.mark.slow
def test_a_run_keeps_its_collection_and_gets_the_new_stages(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    with ChatServer(echo_expert) as server:
        flow = model_flow(server.url)
        run_flow(flow, url)
        calls = server.counts()["total"]
        reports, _ = curating(url, BESIDE, seed=99)
        assert list(reports) == ["tasks", "rollout", "filter", "export"]
        assert reports["rollout"]["outcomes"] == {"success": 8}
        assert reports["filter"]["total"] == reports["export"]["datasets"]["later-sft"]["rows"] == 8
        described = yaml.safe_load((tmp_path / "run/flow.yaml").read_text())
        assert (described["seed"], described["env"]["name"], described["name"]) == (
            3,
            "echo",
            "later",
        )
        assert [stage["name"] for stage in described["stages"]] == ["rollout", "filter", "export"]
        assert len(query(StoredLedger(url), "SELECT * FROM decisions").fetchall()) == 8
        assert len(query(StoredLedger(url), "SELECT * FROM decisions_all").fetchall()) == 24
        _, _, said = run_flow(flow, url)
        assert {"tasks: nothing to do", "rollout: nothing to do", "filter: nothing to do"} <= set(
            said.splitlines()
        )
        assert server.counts()["total"] == calls


@pytest.mark.slow
def test_with_the_flow_of_the_run_it_does_nothing_and_the_run_stays_that_flows(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    run_flow(echo_flow(), url)
    lines = StoredLedger(url).state.lines
    _, _, said = run_flow(echo_flow(), url, curate)
    assert said.splitlines()[-2:] == ["filter: nothing to do", "export: nothing to do"]
    assert StoredLedger(url).state.lines == lines


@pytest.mark.slow
def test_a_collection_that_was_stopped_is_curated_as_far_as_it_came(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    with ChatServer(echo_expert) as server:
        run_flow(
            model_flow(
                server.url,
                stages=[{"rollout": {"trials": 2, "live": 1, "shard": 1}}],
                max_tokens=400,
            ),
            url,
        )
        there = len(StoredLedger(url).state.current_valid())
        assert 0 < there < 8
        reports, said = curating(url, LATER)
        assert "rollout: not finished; what it has committed is curated" in said
        assert reports["filter"]["total"] == there
        assert_said_to_be_a_part(tmp_path / "run")
        run_flow(
            model_flow(server.url, stages=[{"rollout": {"trials": 2, "live": 1, "shard": 1}}]), url
        )
    reports, _ = curating(url, LATER)
    assert reports["export"]["datasets"]["sft"]["rows"] == 8
    assert "unfinished" not in json.loads((tmp_path / "run/datasets/sft/manifest.json").read_text())
    assert heartbeats(Storage(url))[-1].state == "completed"


def assert_said_to_be_a_part(run: Path) -> None:
    """Card, manifest and status name the stage that is not through."""
    left = "rollout: not finished; what it has committed is "
    assert (
        json.loads((run / "datasets/sft/manifest.json").read_text())["unfinished"]
        == f"{left}exported"
    )
    assert (
        f"{left}exported; these rows are a part of what the run is to give"
        in (run / "datasets/sft/README.md").read_text()
    )
    beat = heartbeats(Storage(str(run)))[-1]
    assert (beat.state, beat.message) == ("stopped", f"{left}kept")


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        (
            [{"rollout": ROLLOUT}],
            "flow later: has no stages after collection; add `filter:` or `export:`",
        ),
        (["rolout", *LATER], "stages[0]: unknown stage 'rolout'"),
        ([{"rollout": ROLLOUT}, {"filter": ["solvd"]}], "stages[1].filter: unknown filter 'solvd'"),
    ],
)
def test_a_flow_that_cannot_curate_is_refused_with_its_place_and_the_run_stays_as_it_was(
    tmp_path: Path, stages: list[Any], message: str
) -> None:
    url = imported(tmp_path, [1])
    lines = StoredLedger(url).state.lines
    with pytest.raises((FlowError, ConfigError)) as refused:
        curating(url, stages)
    assert str(refused.value).startswith(message)
    assert StoredLedger(url).state.lines == lines


def test_a_folder_without_trajectories_is_refused_and_not_touched(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="holds no run"):
        curating(str(tmp_path / "empty"), LATER)
    assert not list((tmp_path / "empty").iterdir())
    tasks_only = str(tmp_path / "tasks")
    run_flow(echo_flow(stages=[]), tasks_only)
    with pytest.raises(ConfigError, match="holds no trajectories to curate"):
        curating(tasks_only, LATER)


def test_a_flow_file_of_the_users_in_the_folder_of_an_import_is_not_written_over(
    tmp_path: Path,
) -> None:
    url = imported(tmp_path, [1])
    (tmp_path / "run/flow.yaml").write_text("name: mine\n")
    with pytest.raises(ConfigError, match="that no run wrote"):
        curating(url, LATER)
    assert (tmp_path / "run/flow.yaml").read_text() == "name: mine\n"


@pytest.mark.slow
def test_curating_that_breaks_off_before_its_first_stage_goes_on_with_the_same_command(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    run_flow(echo_flow(), url)
    (tmp_path / "run/flow.yaml").unlink()
    (tmp_path / "run/flow.yaml").mkdir()
    with pytest.raises(SynthError):
        curating(url, BESIDE)
    assert len(list(StoredLedger(url).trajectories())) == 8, "what was collected stays in sight"
    (tmp_path / "run/flow.yaml").rmdir()
    reports, _ = curating(url, BESIDE)
    assert list(reports) == ["tasks", "rollout", "filter", "export"]
    assert reports["filter"]["total"] == 8


@pytest.mark.slow
def test_where_the_current_flow_has_collected_nothing_it_says_what_brings_the_others_back(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    run_flow(echo_flow(), url)
    run_flow(echo_flow(seed=4, stages=[]), url)
    with pytest.raises(
        ConfigError, match="the 8 in trajectories_all were collected for another flow"
    ):
        curating(url, BESIDE)
    run_flow(echo_flow(), url)
    assert curating(url, BESIDE)[0]["filter"]["total"] == 8
