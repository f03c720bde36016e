"""What synth exports, read back: the same turns, from every form that holds whole chats."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from synth.exporters.kinds.sft_rows import sft_row
from synth.exporters.registry import form_of
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn
from tests.synth.exporters.solved import trajectory
from tests.synth.importers.imports import read, read_document
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


@pytest.mark.parametrize(
    ("outcome", "termination"), [("success", "done"), ("failure", "done"), ("truncated", "stuck")]
)
@pytest.mark.parametrize("name", [one for one in FORMS if one != "openai"])
def test_verdicts_are_read_back(tmp_path: Path, name: str, outcome: str, termination: str) -> None:
    ended = {"outcome": Outcome(outcome), "termination": Termination(termination)}
    found = again(tmp_path, name, trajectory(turns=TURNS, **ended))
    assert found.outcome == outcome


@pytest.mark.parametrize("name", [one for one in FORMS if one not in ("llamafactory", "sts")])
def test_what_carries_no_loss_carries_none_when_it_is_read_back(tmp_path: Path, name: str) -> None:
    masked = (TURNS[0], replace(TURNS[1], mask="provider_run"), TURNS[2])
    found = again(tmp_path, name, trajectory(turns=masked))
    assert [turn.mask is None for turn in found.turns] == [True, False, True]


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": [{"role": "user", "content": "q"}], "chosen": "a", "rejected": "b"},
        {"prompt": "q", "completion": "a", "label": False},
        {
            "conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}],
            "kto_tag": True,
        },
    ],
)
def test_an_answer_that_was_preferred_has_no_verdict_of_its_row(
    tmp_path: Path, row: dict[str, Any]
) -> None:
    found, bad = read_document(tmp_path, row | {"outcome": "success", "reward": 1.0})
    assert (bad, {one.trajectory.outcome for one in found}) == ([], {"unknown"})
    assert {mark.metric for one in found for mark in one.marks} == {"preferred"}
