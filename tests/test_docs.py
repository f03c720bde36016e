"""What the docs tell a user to write works as it stands."""

import asyncio
import re
import sys
from pathlib import Path

import pytest
import yaml

from schemas.flow import Flow
from tests.flow_files import run_flow
from tests.synth.models.chat_brains import called
from tests.synth.models.chat_server import ChatServer

ROOT = Path(__file__).resolve().parents[1]


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL)


def test_the_environment_in_the_docs_runs_from_the_folder_that_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, audit = blocks("your-environment.md", "python")
    assert len(world.splitlines()) < 100
    (tmp_path / "dice.py").write_text(world)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "dice", raising=False)
    with ChatServer(lambda body: called("roll", {})) as server:
        content = yaml.safe_load(blocks("your-environment.md", "yaml")[0])
        content["models"]["explorer"]["base_url"] = server.url
        _, reports, said = run_flow(Flow.model_validate(content), str(tmp_path / "run"))
    assert reports["rollout"]["outcomes"] == {"success": 20}, said
    assert {f["name"]: f["kept"] for f in reports["filter"]["filters"]} == {"solved": {"success": 20}, "reexecuted": {"same": 20}}
    assert reports["export"]["datasets"]["sft"]["rows"] == 20
    exec(audit.replace("print(finding)", "assert finding.passed is not False, finding"), {"asyncio": asyncio})


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
