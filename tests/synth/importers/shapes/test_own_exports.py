"""What synth exports, read back: the same turns, from every form that holds whole chats."""

import json
from pathlib import Path
from typing import Any

import pytest

from synth.exporters.kinds.sft_rows import sft_row
from synth.exporters.registry import form_of
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn
from tests.synth.exporters.solved import trajectory
from tests.synth.importers.imports import read
from tests.synth.importers.shapes.dialogues import outline

TURNS = (
    Turn(
        index=0,
        content="I look.",
        thought="Where?",
        tool_calls=(ToolCall("c1", "find", '{"order": 7}'), ToolCall("c2", "find", '{"order": 8}')),
        observations=(
            Observation("Graz", Source.TOOL, "c1"),
            Observation("Linz", Source.TOOL, "c2"),
        ),
    ),
    Turn(index=1, content="Graz and Linz.", observations=(Observation("Thanks", Source.USER),)),
    Turn(index=2, content="Bye."),
)
FORMS = ("openai", "atif", "trl", "axolotl", "llamafactory", "verl", "sts")


def again(tmp_path: Path, name: str, source: Trajectory) -> Trajectory:
    """A trajectory as a form holds it, and as it comes in from there."""
    form = form_of("sft", name)
    record: dict[str, Any] = form.record(sft_row(source, form))
    text = record.get("text") or record.get("line")
    if name == "trl":
        record |= {key: [json.loads(one) for one in record[key]] for key in ("messages", "tools")}
    path = tmp_path / "export"
    path.write_text(text if text else json.dumps(record))
    (found,), bad = read(path)
    assert bad == []
    return found.trajectory


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_chats_is_read_back_to_the_same_turns(tmp_path: Path, name: str) -> None:
    source = trajectory(turns=TURNS)
    found = again(tmp_path, name, source)
    assert outline(found) == outline(source)
    if name != "openai":  # that API takes no thoughts
        assert found.turns[0].thought == "Where?"
    if name != "sts":  # its viewer knows no tools
        assert [tool["function"]["name"] for tool in found.tools] == [
            tool["function"]["name"] for tool in source.tools
        ]
