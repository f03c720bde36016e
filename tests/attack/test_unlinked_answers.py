"""Trajectories of old ledgers whose tool results have no id, or answer no call, are in no row of
any form.
"""

import json
from pathlib import Path

import msgspec
import pytest

from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from synth.exporters.registry import FORMS
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn
from tests.synth.exporters.solved import export_sft, trajectory

CALLS = (ToolCall.received("c1", "find", "{}"), ToolCall.received("c2", "ship", "{}"))


def tool(call_id: str | None, name: str | None = None) -> Observation:
    return Observation("row", Source.TOOL, call_id, name)


BROKEN = {
    "no id": (tool(None, "find"), tool("c2")),
    "no id at all": (tool(None), tool(None)),
    "an empty id": (tool(""), tool("c2")),
    "a strange id": (tool("c1"), tool("c9")),
    "an answer twice": (tool("c1"), tool("c2"), tool("c1")),
    "an answer missing": (tool("c1"),),
    "no answer": (),
}
SFT_FORMS = sorted(form for kind, form in FORMS if kind == "sft")


def made(observations: tuple[Observation, ...]) -> Trajectory:
    turns = (
        Turn(index=0, tool_calls=CALLS, observations=observations),
        Turn(index=1, content="Here it is."),
    )
    return trajectory(turns=turns)


@pytest.mark.parametrize("form", SFT_FORMS)
@pytest.mark.parametrize("name", BROKEN)
def test_no_form_of_sft_holds_it(tmp_path: Path, name: str, form: str) -> None:
    given = [(made(BROKEN[name]), {})]
    report = export_sft(given, DatasetFolder(str(tmp_path / "out")), RowSettings(form=form))
    assert report.rows == 0
    assert set(report.left_out) <= {
        "tool_result_without_id",
        "tool_result_without_call",
        "call_without_tool_result",
    }


def test_what_is_linked_is_written_with_its_ids(tmp_path: Path) -> None:
    given = [(made((tool("c2"), tool("c1"))), {})]
    assert (
        export_sft(given, DatasetFolder(str(tmp_path / "out")), RowSettings(form="openai")).rows
        == 1
    )
    lines = [
        json.loads(line)
        for path in (tmp_path / "out").glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert [
        one["tool_call_id"] for line in lines for one in line["messages"] if one["role"] == "tool"
    ] == ["c2", "c1"]


def test_an_opening_with_a_tools_answer_is_in_no_row(tmp_path: Path) -> None:
    opened = msgspec.structs.replace(made((tool("c1"), tool("c2"))), opening=(tool("c0"),))
    assert export_sft([(opened, {})], DatasetFolder(str(tmp_path / "out")), RowSettings()).rows == 0
