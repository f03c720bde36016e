"""`synth publish` over HTTP against a local Hub: nothing leaves unasked, what arrives is what was
sent, the token is said nowhere.
"""

import io
import json
import os
import signal
import subprocess
import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from tests.flow_files import SYNTH, echo_flow, run_flow
from tests.rounds import rounds
from tests.synth.cli.command_runs import ROOT, synth
from tests.synth.hub.hub_repo import Mishap
from tests.synth.hub.hub_server import TOKEN, Hub
from tests.synth.hub.publisher import SENT, from_hub, head, on_disk, publish, refused

pytestmark = pytest.mark.slow
KINDS = ("sft", "rl")
EXPORT = {"export": {"kinds": list(KINDS), "include_scripted": True}}
COMMIT = "POST /api/datasets/me/set/commit"


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("publish") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYNTH_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        run_flow(
            echo_flow(
                stages=[{"rollout": {"trials": 2}}, {"filter": ["solved", "reexecuted"]}, EXPORT]
            ),
            str(run),
        )
    return run


def test_without_yes_nothing_leaves_the_machine_and_what_would_is_shown(
    run_dir: Path, hub: Hub, environment: dict[str, str]
) -> None:
    done = publish(
        run_dir, "--repo", "me/set", "--license", "mit", **environment | {"HF_TOKEN": ""}
    )
    assert done.returncode == 0, done.stderr
    assert hub.seen == []
    assert "repository  me/set (private), licence mit" in done.stdout
    assert "sft         8 rows in 1 file," in done.stdout
    assert "**WARNING** `sft`: 8 of 8 rows were written by scripts" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("nothing was sent; to send it:  synth publish ")


def test_every_configuration_is_read_back_as_it_was_sent_and_again_sends_nothing(
    run_dir: Path, hub: Hub, environment: dict[str, str]
) -> None:
    done = publish(run_dir, *SENT, **environment)
    assert done.returncode == 0, done.stderr
    assert f"read back   sft 8 rows, rl {len(on_disk(run_dir, 'rl'))} rows: as sent" in done.stdout
    assert from_hub(environment, *KINDS) == [on_disk(run_dir, name) for name in KINDS]
    assert hub.commits("me/set") == ["Publish sft, rl"]
    assert hub.repos["me/set"].private
    traces = [path for path in head(hub) if path.startswith("traces/")]
    assert len(traces) == 8
    first = [json.loads(line) for line in head(hub)[traces[0]].splitlines()]
    assert first[0]["type"] == "session"
    assert {line["type"] for line in first[1:]} == {"message"}
    assert TOKEN.encode() not in b"".join(head(hub).values())

    again = publish(run_dir, *SENT, **environment)
    assert again.returncode == 0, again.stderr
    assert "nothing to send: the Hub holds it already" in again.stdout
    assert hub.commits("me/set") == ["Publish sft, rl"]


def test_the_card_says_in_its_metadata_what_the_parquet_files_hold(
    run_dir: Path, hub: Hub, environment: dict[str, str]
) -> None:
    assert publish(run_dir, *SENT, "--kinds", "sft", **environment).returncode == 0
    _, metadata, body = head(hub)["README.md"].decode().split("---\n", 2)
    found = yaml.safe_load(metadata)
    assert found["license"] == "mit"
    assert [config["config_name"] for config in found["configs"]] == ["sft"]
    assert [
        path
        for config in found["configs"]
        for file in config["data_files"]
        for path in file["path"]
    ] == [path for path in head(hub) if path.endswith(".parquet")]
    assert found["dataset_info"]["splits"][0]["num_examples"] == 8
    assert [feature["name"] for feature in found["dataset_info"]["features"]] == list(
        on_disk(run_dir, "sft")[0]
    )
    assert body.startswith("**WARNING** `sft`: 8 of 8 rows were written by scripts, not by a model")
    for section in (
        "How the rows were verified",
        "Funnel and faults",
        "False discoveries",
        "Who wrote the rows",
        "Worlds",
        "Limits",
    ):
        assert f"\n## {section}\n" in body


@pytest.mark.nightly
def test_public_is_said_loudly_and_comes_after_the_rows_were_read_back(
    run_dir: Path, hub: Hub, environment: dict[str, str]
) -> None:
    done = publish(run_dir, *SENT, "--public", **environment)
    assert done.returncode == 0, done.stderr
    assert "PUBLIC: everybody may read it" in done.stdout
    assert not hub.repos["me/set"].private
    order = [
        request
        for request in hub.seen
        if request.startswith((COMMIT, "PUT /api/datasets/me/set/settings")) or "parquet" in request
    ]
    assert order[0].startswith(COMMIT)
    assert order[-1] == "PUT /api/datasets/me/set/settings"
    assert any(request.startswith("GET") for request in order[1:-1]), "read back in between"


@pytest.mark.parametrize("request_", rounds(f"^{COMMIT}", nightly=["^PUT /blobs"]))
def test_a_publisher_that_is_killed_is_gone_on_with(
    run_dir: Path, hub: Hub, environment: dict[str, str], request_: str
) -> None:
    reached, go = threading.Event(), threading.Event()

    def hold() -> None:
        reached.set()
        go.wait(30)

    hub.mishaps = [Mishap(request_, call=hold, status=500)]
    publisher = subprocess.Popen(
        [*SYNTH, "publish", str(run_dir), *SENT],
        env=os.environ | environment,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
    )
    assert reached.wait(60)
    publisher.send_signal(signal.SIGKILL)
    publisher.wait()
    go.set()
    assert hub.commits("me/set") == []
    done = publish(run_dir, "--repo", "set", "--resume", **environment)
    assert done.returncode == 0, done.stderr
    assert hub.commits("me/set") == ["Publish sft, rl"]
    assert from_hub(environment, "sft") == [on_disk(run_dir, "sft")]
    assert "no publication of" in refused(
        publish(run_dir, "--repo", "set", "--resume", **environment)
    ), "it is whole"


def test_rows_that_the_hub_gives_back_otherwise_are_an_error_that_names_them(
    run_dir: Path, hub: Hub, environment: dict[str, str]
) -> None:
    other = (run_dir / "datasets" / "rl").glob("*.parquet")
    blob = next(other).read_bytes()
    hub.served = lambda path, stored: blob if path.startswith("sft/") else stored
    line = refused(publish(run_dir, *SENT, "--public", **environment), code=1)
    assert "me/set: was sent, but cannot be read back: DatasetGenerationError" in line
    assert "messages" in line, "the columns that it should have"
    assert hub.repos["me/set"].private, "what cannot be read back is not made public"


@pytest.mark.nightly
def test_rows_that_are_missing_on_the_hub_are_an_error(
    run_dir: Path, hub: Hub, environment: dict[str, str]
) -> None:
    shard = next((run_dir / "datasets" / "sft").glob("*.parquet"))
    fewer = io.BytesIO()
    pq.write_table(pq.read_table(shard).slice(0, 7), fewer)
    hub.served = lambda path, stored: fewer.getvalue() if path.startswith("sft/") else stored
    line = refused(publish(run_dir, *SENT, **environment), code=1)
    assert "me/set: was sent, but cannot be read back: NonMatchingSplitsSizesError" in line
    assert "num_examples=8" in line
    assert "num_examples=7" in line


def test_help_has_an_example() -> None:
    assert (
        "Example:  synth publish runs/quickstart --repo me/quickstart --license apache-2.0"
        in synth("publish", "--help").stdout
    )


@pytest.mark.nightly
def test_the_whole_card_can_be_read_before_anything_is_sent(
    run_dir: Path, tmp_path: Path, hub: Hub, environment: dict[str, str]
) -> None:
    assert (
        publish(
            run_dir,
            "--repo",
            "me/set",
            "--license",
            "mit",
            "--card",
            str(tmp_path / "card.md"),
            **environment,
        ).returncode
        == 0
    )
    assert hub.seen == []
    assert publish(run_dir, *SENT, **environment).returncode == 0
    assert (tmp_path / "card.md").read_bytes() == head(hub)["README.md"]


@pytest.mark.nightly
def test_a_licence_is_never_invented_and_one_that_the_hub_does_not_know_creates_nothing(
    run_dir: Path, hub: Hub, environment: dict[str, str]
) -> None:
    assert "name a licence: --license apache-2.0" in refused(
        publish(run_dir, "--repo", "set", "--yes", **environment)
    )
    assert "nearest: apache-2.0" in refused(
        publish(run_dir, "--repo", "set", "--license", "apache-2", **environment)
    )
    line = refused(publish(run_dir, "--repo", "set", "--license", "wtfpl", "--yes", **environment))
    assert 'the Hub refuses the card\'s metadata: "license" must be one of [' in line
    assert hub.repos == {}


@pytest.mark.parametrize(
    ("arguments", "changes", "message", "code"),
    [
        (["--repo", "a/b/c"], {}, "--repo 'a/b/c': is no name of a repository", 2),
        (SENT, {"HF_TOKEN": ""}, "HF_TOKEN is not set: put a token with write access into it", 2),
        (
            SENT,
            {"HF_TOKEN": "hf_wrong"},
            "whoami: HTTP 401: the token is not valid, or has expired",
            2,
        ),
        ([*SENT, "--token-env", "MINE"], {}, "MINE is not set", 2),
        (
            ["--repo", "others/set", "--license", "mit", "--yes"],
            {},
            "HTTP 403: the token may not do this: it needs write access",
            2,
        ),
        ([*SENT, "--kinds", "sft,dpx"], {}, "--kinds dpx: ", 2),
        ([*SENT, "--dry-run"], {}, "--dry-run sends nothing, --yes and --resume do", 2),
        (["--repo", "set", "--resume"], {}, "was begun on this machine and left open", 2),
        (SENT, {"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE is set: unset it to publish", 2),
    ],
)
def test_what_cannot_be_published_is_one_line(
    run_dir: Path,
    hub: Hub,
    environment: dict[str, str],
    arguments: list[str],
    changes: dict[str, str],
    message: str,
    code: int,
) -> None:
    assert message in refused(publish(run_dir, *arguments, **environment | changes), code)
    assert hub.repos == {}


@pytest.mark.nightly
def test_no_run_no_datasets_and_no_network_are_one_line(
    tmp_path: Path, run_dir: Path, environment: dict[str, str]
) -> None:
    assert "holds no run" in refused(publish(tmp_path / "none", *SENT, **environment))
    run_flow(echo_flow(stages=[{"rollout": {"trials": 1}}]), str(tmp_path / "bare"))
    assert "holds no datasets of its current flow" in refused(
        publish(tmp_path / "bare", *SENT, **environment)
    )
    nowhere = environment | {"HF_ENDPOINT": "http://127.0.0.1:9"}
    assert "http://127.0.0.1:9: whoami: cannot be reached" in refused(
        publish(run_dir, *SENT, **nowhere), code=1
    )
