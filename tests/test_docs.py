"""What the docs tell a user to write works as it stands."""

import json
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
    return re.findall(
        rf"```{language}\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL
    )


def with_gold(short: str, gold: str) -> str:
    """The first environment of the page with what the page says to put in place of its `tasks`."""
    return (
        short[: short.index("    def tasks")].replace("import Require", "import Call, Require")
        + gold
    )


@pytest.fixture
def newcomer(tmp_path: Path) -> Path:
    """A folder with what the page on environments says to save there."""
    lockers, gold, world, explored = blocks("your-environment.md", "python")
    assert len(lockers.splitlines()) <= 25
    assert len(with_gold(lockers, gold).splitlines()) <= 25 + 8
    assert len(world.splitlines()) < 130
    (tmp_path / "lockers.py").write_text(lockers)
    (tmp_path / "room.py").write_text(world)
    (tmp_path / "explored.py").write_text(explored)
    flow, _, explore = blocks("your-environment.md", "yaml")
    (tmp_path / "flow.yaml").write_text(flow)
    (tmp_path / "explored.yaml").write_text(explore)
    return tmp_path


def in_folder(
    folder: Path, *arguments: str, timeout_s: float = 120
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*SYNTH, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def last_line(asked: "subprocess.CompletedProcess[str]") -> str:
    assert asked.returncode == 0, asked.stdout + asked.stderr
    return asked.stdout.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.nightly
def test_the_environments_in_the_docs_are_sound_and_run_with_the_commands_that_stand_there(
    newcomer: Path,
) -> None:
    consoles = blocks("your-environment.md", "console")
    commands = re.findall(r"^\$ synth (.*)$", "\n".join(consoles), re.MULTILINE)
    assert [command.split()[0] for command in commands] == [
        "audit",
        "audit",
        "run",
        "export",
        "audit",
        "run",
        "audit",
    ]
    short, whole, ran, exported, by_hand, explored, asked = (
        command.split() for command in commands
    )
    promised = [line for text in consoles for line in text.splitlines() if line.startswith("Sound")]
    lockers = newcomer / "lockers.py"
    assert last_line(in_folder(newcomer, *short)) == promised[0]
    lockers.write_text(with_gold(lockers.read_text(), blocks("your-environment.md", "python")[1]))
    assert last_line(in_folder(newcomer, *whole)) == promised[1]
    assert last_line(in_folder(newcomer, *by_hand)) == promised[2]
    for flow in ("flow.yaml", "room.yaml"):
        (newcomer / "room.yaml").write_text(
            (newcomer / "flow.yaml").read_text().replace("lockers:Lockers", "room:WORLD")
        )
        played = in_folder(
            newcomer,
            *(flow if word == "flow.yaml" else word for word in ran),
            "--run-dir",
            f"runs/{flow}",
        )
        assert played.returncode == 0, played.stderr
        assert "20 success" in played.stdout
        assert "│ export sft           │ 20 │   20 │ rows" in played.stdout
    assert in_folder(newcomer, *ran).returncode == 0
    assert in_folder(newcomer, *exported).returncode == 0
    assert list((newcomer / "axolotl").iterdir())
    walked = in_folder(newcomer, *explored)
    assert walked.returncode == 0, walked.stderr
    kept = next(
        line for line in walked.stdout.splitlines() if line.startswith("│ reverse_task")
    ).split("│")[3]
    assert int(kept) >= 5, walked.stdout
    assert "│ export sft           │ " in walked.stdout
    assert "none failed" in last_line(in_folder(newcomer, *asked))


@pytest.mark.slow
def test_the_environment_in_the_docs_is_played_by_a_model(
    newcomer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def brain(body: dict[str, Any]) -> dict[str, Any]:
        last = body["messages"][-1]
        if last["role"] == "user":
            return called("read_note", {})
        if last["content"].startswith("{"):  # the note
            return called("unlock", {"door": "red", "code": json.loads(last["content"])["red"]})
        return {"role": "assistant", "content": "The red locker is open."}

    monkeypatch.chdir(newcomer)
    monkeypatch.delitem(sys.modules, "lockers", raising=False)
    content = yaml.safe_load((newcomer / "flow.yaml").read_text())
    content["stages"][-1] = {"export": {"kinds": ["sft"]}}
    with ChatServer(brain) as server:
        content["models"] = yaml.safe_load(blocks("your-environment.md", "yaml")[1])["models"]
        content["models"]["explorer"]["base_url"] = server.url
        _, reports, spoken = run_flow(Flow.model_validate(content), str(newcomer / "run"))
    assert reports["rollout"]["outcomes"] == {"success": 20}, spoken
    assert {f["name"]: f["kept"] for f in reports["filter"]["filters"]} == {
        "solved": {"success": 20},
        "reexecuted": {"same": 20},
    }
    assert reports["export"]["datasets"]["sft"]["rows"] == 20


@pytest.mark.slow
@pytest.mark.nightly
def test_mypy_sees_the_types_of_the_environment_in_the_docs_from_outside(newcomer: Path) -> None:
    lockers = newcomer / "lockers.py"
    code = with_gold(lockers.read_text(), blocks("your-environment.md", "python")[1])
    lockers.write_text(f"{code}\nreveal_type(Lockers.unlock)\nLockers().unlock('pink', 1)\n")
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "lockers.py"],
        cwd=newcomer,
        env=os.environ | {"MYPYPATH": str(ROOT / ".dev")},
        capture_output=True,
        text=True,
        check=False,
    )
    signature = (
        "def (self: lockers.Lockers, door: Literal['red'] | Literal['green'] | "
        "Literal['blue'], code: int) -> str"
    )
    assert [signature in line for line in found.stdout.splitlines() if "note:" in line] == [True], (
        found.stdout
    )
    (error,) = (line for line in found.stdout.splitlines() if "error:" in line)
    assert "has incompatible type \"Literal['pink']\"" in error


def test_every_flow_in_configs_and_every_page_named_in_the_readme_is_there() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in re.findall(r"\]\((docs/[^)]+)\)", readme) + re.findall(
        r"configs/\w+\.yaml", readme
    ):
        assert (ROOT / name).exists(), name
    for path in (ROOT / "configs").glob("*.yaml"):
        Flow.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))


def test_the_readme_says_the_commands_that_ci_runs() -> None:
    readme, ci = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", ".ci/run"))
    for command in ("make quickstart", "make test"):
        assert command in readme
        assert f"\n{command}\n" in ci
