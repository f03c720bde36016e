"""A run with a server that tells its key wherever it can: no byte that the run leaves behind holds
it, and a new key redoes nothing.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from synth.confinement import missing
from synth.flows.deployments.deployment import Deployment
from synth.flows.deployments.settings import refuse_unknown, settled
from synth.flows.own.flow_file import flow_of
from synth.flows.resolve import resolve
from synth.keys.looks import without_keys
from synth.ledger.storage import Storage
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from tests.attack.key_echoes import texts, told
from tests.flow_files import read_flow

PYTHON = "/usr/bin/python3"
KEY, NEXT = "tok_Zq8/Lw+4711xYpT.v2=Kd93", "tok_another/9+One.0815=aBcDeF"
pytestmark = [
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.skipif(not Path(PYTHON).exists(), reason="no python3 in /usr/bin"),
]


def flow(code: Path) -> dict[str, Any]:
    return {
        "name": "shop",
        "seed": 5,
        "env": {
            "name": "mcp",
            "tasks": 0,
            "command": [PYTHON, str(code / "telling_server.py")],
            "read_only": [str(code)],
            "environment": {"SHOP_TOKEN": {"from_env": "MY_SHOP_TOKEN"}, "LANG": "C.UTF-8"},
            "without": ["break", "cut"],
            "stateless": True,
        },
        "models": {"explorer": {"policy": "random"}},
        "stages": [
            {"reverse_task": {"explorations": 2, "steps": 3}},
            {"rollout": {"trials": 1, "limits": {"max_turns": 4}}},
            {"filter": ["solved"]},
            {"export": {"kinds": ["rl"], "as": "trl"}},
            {"report": {}},
        ],
    }


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder with a flow, whose server worlds may read: they run as another user, whom pytest's
    own folders are closed to.
    """
    with tempfile.TemporaryDirectory(prefix="synth-attack-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "code").mkdir()
        shutil.copy(Path(__file__).parent / "telling_server.py", folder / "code")
        (folder / "shop.yaml").write_text(yaml.safe_dump(flow(folder / "code")))
        yield folder


def synth(place: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "synth.cli.main", *words]
    environment = {
        **os.environ,
        "SYNTH_STATE_DIR": str(place / "state"),
        "PYTHONPATH": os.pathsep.join(sys.path),
        **variables,
    }
    return subprocess.run(
        command,
        cwd=place,
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
    )


def test_a_run_holds_no_key_anywhere_and_a_new_key_redoes_nothing(place: Path) -> None:
    first = synth(place, "run", "shop.yaml", MY_SHOP_TOKEN=KEY)
    assert first.returncode == 0, first.stderr
    left = (
        texts(place / "runs")
        | texts(place / "state")
        | {"stdout": first.stdout, "stderr": first.stderr}
    )
    assert sum("<MY_SHOP_TOKEN>" in text for text in left.values()) >= 4, (
        "the server has told it, and a mark stands there"
    )
    assert any("datasets" in name for name in left)
    assert {name for name, text in left.items() if told(text, KEY, 1)} == set()
    again = synth(place, "run", "shop.yaml", MY_SHOP_TOKEN=NEXT)
    assert again.returncode == 0, again.stderr
    asked = (
        "sql",
        "runs/shop",
        "SELECT trajectory_id, slot_id, stage_key FROM trajectories ORDER BY 1",
        "--json",
    )
    rows = synth(place, *asked)
    assert rows.returncode == 0
    assert "redone" not in again.stderr
    manifests = {
        name: text for name, text in texts(place / "runs" / "shop").items() if "/manifest/" in name
    }
    assert {
        name: text for name, text in left.items() if "/manifest/" in name and "/runs/" in name
    } == manifests
    assert json.loads(rows.stdout)
    shown = synth(
        place,
        "replay",
        "runs/shop",
        json.loads(rows.stdout)[0]["trajectory_id"],
        MY_SHOP_TOKEN=NEXT,
    )
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert not told(shown.stdout + shown.stderr, NEXT, 1)


def test_without_the_variable_a_run_ends_in_one_line_with_exit_code_2(place: Path) -> None:
    ended = synth(place, "run", "shop.yaml")
    assert ended.returncode == 2, ended.stderr
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("synth: ")
    assert "env.environment.SHOP_TOKEN: the environment variable MY_SHOP_TOKEN is not set" in last


def test_a_deployment_carries_the_name_alone(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SHOP_TOKEN", KEY)
    content = flow(place / "code")
    order = Deployment(name="d", content=content, run_dir="runs/d", cwd="/tmp")
    assert "MY_SHOP_TOKEN" in json.dumps(order.parameters())
    assert not told(json.dumps(order.parameters()) + repr(order), KEY)
    assert not told(
        Flow.model_validate(flow_of(content, (), "x").model_dump()).model_dump_json(), KEY
    )


LITERAL = "sk-live-0123456789abcdefABCDEF"
OVERRIDES = (
    "env.environment.SHOP_TOKEN={key}",
    "env.command=[server, --token={key}]",
    "env.system_prompt=the key is {key}",
    "env.tasks.deep={key}",
    "models.explorer.api_key={key}",
    "stages.rollout.trials.x={key}",
    "name.{key}=1",
    "env.environment.OTHER=https://u:{key}@h/",
)


@pytest.mark.parametrize("override", OVERRIDES)
def test_a_literal_key_in_an_override_is_refused(place: Path, override: str) -> None:
    with pytest.raises(ConfigError) as found:
        resolve(read_flow(place / "shop.yaml", [override.format(key=LITERAL)]))
    assert not told(without_keys(str(found.value)), LITERAL)


@pytest.mark.parametrize("override", [OVERRIDES[3], OVERRIDES[6]])
def test_the_command_line_ends_in_one_line_that_does_not_repeat_it(
    place: Path, override: str
) -> None:
    ended = synth(
        place, "run", "shop.yaml", "--set", override.format(key=LITERAL), MY_SHOP_TOKEN=KEY
    )
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1), ended.stderr
    assert not told(ended.stdout + ended.stderr, LITERAL)
    assert not (place / "runs").exists()


URLS = (
    "s3://AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMIK7MDENG@bucket/run",
    "gs://someone@bucket/run",
    "https://u:pw12345678@h/run",
)


@pytest.mark.parametrize("url", URLS)
def test_a_run_directory_with_a_key_in_its_url_is_refused_and_not_repeated(url: str) -> None:
    for opened in (Storage, refuse_unknown, lambda given: settled(given, remote=True)):
        with pytest.raises(ConfigError) as found:
            opened(url)
        assert "@" not in str(found.value)
        assert "holds a user name or a key" in str(found.value)


def test_the_command_line_refuses_such_a_url_in_one_line(place: Path) -> None:
    ended = synth(place, "run", "shop.yaml", "--run-dir", URLS[0], MY_SHOP_TOKEN=KEY)
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1), ended.stderr
    assert "wJalr" not in ended.stderr
