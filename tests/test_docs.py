"""What the docs tell a user to write works as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from synth.schemas.flow import Flow
from tests.flow_files import SYNTH, run_flow
from tests.synth.models.chat_brains import called
from tests.synth.models.chat_server import ChatServer

ROOT = Path(__file__).resolve().parents[1]


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def newcomer(tmp_path: Path) -> Path:
    """A folder with what the page on worlds says to save there."""
    world, explored = blocks("your-environment.md", "python")
    assert len(world.splitlines()) < 100
    (tmp_path / "room.py").write_text(world)
    (tmp_path / "explored.py").write_text(explored)
    flow, _, explore = blocks("your-environment.md", "yaml")
    (tmp_path / "flow.yaml").write_text(flow)
    (tmp_path / "explored.yaml").write_text(explore)
    return tmp_path


def in_folder(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*SYNTH, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
def test_the_world_in_the_docs_is_sound_and_runs_with_the_commands_that_stand_there(newcomer: Path) -> None:
    commands = re.findall(r"^\$ synth (.*)$", "\n".join(blocks("your-environment.md", "console")), re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["audit", "run", "export", "run", "audit"]
    audited, ran, exported, explored, asked = (in_folder(newcomer, *command.split()) for command in commands)
    (promised,) = (line for line in blocks("your-environment.md", "console")[0].splitlines() if line.startswith("Sound"))
    assert promised in audited.stdout.splitlines(), audited.stdout + audited.stderr
    assert ran.returncode == 0, ran.stderr
    assert "20 success" in ran.stdout
    assert "│ export sft           │ 20 │   20 │ rows" in ran.stdout
    assert exported.returncode == 0, exported.stderr
    assert list((newcomer / "axolotl").iterdir())
    assert explored.returncode == 0, explored.stderr
    kept = next(line for line in explored.stdout.splitlines() if line.startswith("│ reverse_task")).split("│")[3]
    assert int(kept) >= 5, explored.stdout
    assert "│ export sft           │ " in explored.stdout
    assert asked.returncode == 0, asked.stdout + asked.stderr
    assert "none failed" in asked.stdout


def test_the_world_in_the_docs_is_played_by_a_model(newcomer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def brain(body: dict[str, Any]) -> dict[str, Any]:
        wanted = int(next(m["content"] for m in body["messages"] if m["role"] == "user").split()[0])
        return (
            {"role": "assistant", "content": "Done."}
            if body["messages"][-1]["role"] == "tool"
            else called("set_heating", {"celsius": wanted})
        )

    monkeypatch.chdir(newcomer)
    monkeypatch.delitem(sys.modules, "room", raising=False)
    content = yaml.safe_load((newcomer / "flow.yaml").read_text())
    content["stages"][-1] = {"export": {"kinds": ["sft"]}}
    with ChatServer(brain) as server:
        content["models"] = yaml.safe_load(blocks("your-environment.md", "yaml")[1])["models"]
        content["models"]["explorer"]["base_url"] = server.url
        _, reports, spoken = run_flow(Flow.model_validate(content), str(newcomer / "run"))
    assert reports["rollout"]["outcomes"] == {"success": 20}, spoken
    assert {f["name"]: f["kept"] for f in reports["filter"]["filters"]} == {"solved": {"success": 20}, "reexecuted": {"same": 20}}
    assert reports["export"]["datasets"]["sft"]["rows"] == 20


def test_every_flow_in_configs_and_every_page_named_in_the_readme_is_there() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in re.findall(r"\]\((docs/[^)]+)\)", readme) + re.findall(r"configs/\w+\.yaml", readme):
        assert (ROOT / name).exists(), name
    for path in (ROOT / "configs").glob("*.yaml"):
        Flow.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))


def test_the_readme_says_the_commands_that_ci_runs() -> None:
    readme, ci = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", ".ci/run"))
    for command in ("make quickstart", "make test"):
        assert command in readme
        assert f"\n{command}\n" in ci
