"""Skill texts go out beside the rows that end their chains, and with nothing that may not leave."""

import json
from pathlib import Path
from typing import Any

import pytest
from datasets import load_dataset

from synth.exporters.export import export
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from synth.hub.source import found
from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.flow import Flow
from tests.filters.pdi.test_index import flow, made
from tests.synth.models.chat_server import ChatServer

pytestmark = pytest.mark.slow
TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


def skill(body: dict[str, Any]) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": "Read every page, then act; ask order {first} and write to mia.stone@acme.io "
        f"with {TOKEN}.",
    }


def with_export(writer: ChatServer) -> Flow:
    return flow(
        40,
        writer,
        after=(
            {
                "export": {
                    "kinds": ["sft"],
                    "as": "trl",
                    "include_scripted": True,
                    "unroll": "per_turn",
                }
            },
        ),
    )


@pytest.mark.nightly
def test_a_data_set_has_the_skill_texts_of_its_rows_beside_it_and_loads_as_before(
    tmp_path: Path,
) -> None:
    with ChatServer(skill) as server:
        run, _ = made(tmp_path, with_export(server))
    folder = tmp_path / "run/datasets/sft"
    lines = [json.loads(line) for line in (folder / "skills.jsonl").read_text().splitlines()]
    rows = load_dataset(str(folder), split="train")
    assert {line["trajectory_id"] for line in lines} <= {row["trajectory_id"] for row in rows}
    with connect(run.ledger) as connection:
        known = {
            one
            for (one,) in connection.execute(
                "SELECT subject_id FROM scores WHERE metric = 'skill'"
            ).fetchall()
        }
    assert {line["trajectory_id"] for line in lines} == known & {
        row["trajectory_id"] for row in rows
    }
    assert lines
    assert all(line.keys() == {"trajectory_id", "task_id", "skill", "pdi_index"} for line in lines)
    for line in lines:
        assert TOKEN not in line["skill"]
        assert "mia.stone" not in line["skill"]
        assert "[REDACTED:email]" in line["skill"]
    assert "skills.jsonl" in (folder / "README.md").read_text()
    assert [config.name for config in found(run.ledger, (), tmp_path / "aside").configs] == [
        "sft"
    ], "it can be published all the same"


def test_rows_without_a_chain_have_no_such_file(tmp_path: Path) -> None:
    run, _ = made(tmp_path, flow(10, None))
    folder = DatasetFolder(tmp_path / "out")
    export(
        "sft",
        StoredLedger(run.ledger.storage.url),
        folder,
        RowSettings.model_validate({"include_scripted": True}),
    )
    assert (tmp_path / "out/README.md").is_file()
    assert not (tmp_path / "out/skills.jsonl").exists()
