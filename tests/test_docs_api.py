"""What docs/api.md tells a user to type works as it stands, in one namespace, with a loop running
as in a notebook.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

import synth
from tests.test_docs import blocks


@pytest.mark.slow
@pytest.mark.nightly
def test_the_page_on_python_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    run, look, mine, curate, bots, work = blocks("api.md", "python")
    flow, bots_flow = blocks("api.md", "yaml")
    (tmp_path / "mine.py").write_text(mine)
    (tmp_path / "mine.yaml").write_text(flow)
    (tmp_path / "bots.py").write_text(bots)
    (tmp_path / "bots.yaml").write_text(bots_flow)
    names: dict[str, Any] = {}

    async def notebook() -> None:
        for cell in (run, look, curate, work):
            exec(cell, names)

    asyncio.run(notebook())
    result = names["result"]
    assert sum(result.outcomes.values()) == len(list(names["ledger"].trajectories()))
    tasks = {t.task_id for t in names["ledger"].trajectories()}
    assert set(names["passed"].collect()["task_id"]) == tasks
    assert names["report"].rows > 0
    assert names["proof"].failed == []
    decided = names["curated"].ledger.frame("decisions").collect()
    assert {"solved", "mine:short"} <= set(
        decided["filter"]
    )  # beside what stages before them decided
    assert (tmp_path / "page.html").is_file()
    assert "Sound: 1 of 1 questions passed" in capsys.readouterr().out
    played = synth.run("bots.yaml", run_dir="runs/bots", quiet=True)
    assert played.outcomes["success"] == 4
