"""Files that synth wrote, read again: what keeps a turn or a whole row out of training survives."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.exporters.kinds.sft_rows import sft_row
from synth.exporters.registry import form_of
from synth.loss_turns import mask_reason
from synth.schemas.trajectory import SampledBy, Trajectory, Turn
from tests.synth.exporters.solved import trajectory
from tests.synth.importers.imports import read_document

FORMS = ("openai", "atif", "trl", "axolotl")
MASKED = (
    Turn(
        index=0,
        content="Hello.",
        sampled_by=SampledBy.CANNED,
        mask="canned_greeting",
        observations=trajectory().opening,
    ),
    Turn(index=1, content="before", observations=trajectory().opening),
    Turn(index=2, content="unsure", mask="unrecorded_prompt", observations=trajectory().opening),
    Turn(index=3, content="planted", injected="mistake", observations=trajectory().opening),
    Turn(index=4, content="good", observations=trajectory().opening),
)


def read_again(tmp_path: Path, name: str, source: Trajectory) -> Trajectory:
    """A trajectory as a form holds it, and as it comes in from there; rows of tables as `datasets`
    gives them out as JSON.
    """
    form = form_of("sft", name)
    record: dict[str, Any] = form.record(sft_row(source, form))
    text = record.get("text") or record.get("line")
    value = json.loads(text) if text else record
    if name == "trl":
        value |= {key: [json.loads(one) for one in value[key]] for key in ("messages", "tools")}
    (found,), bad = read_document(tmp_path, value)
    assert bad == []
    assert (found.task.benchmark, found.task.split) == (
        found.trajectory.benchmark,
        found.trajectory.split,
    )
    return found.trajectory


@pytest.mark.parametrize("name", FORMS)
def test_turns_without_loss_stay_without_loss_over_export_and_import(
    tmp_path: Path, name: str
) -> None:
    source = trajectory(turns=MASKED, opening=(), parent_id="t0", pivot_turn=2)
    reasons = [mask_reason(turn, turn.index) for turn in read_again(tmp_path, name, source).turns]
    assert [reason is None for reason in reasons] == [False, False, False, False, True]
    if name != "openai":
        assert reasons[1:4] == ["before_pivot", "unrecorded_prompt", "injected"]


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(
    "stamps", [{"benchmark": "tau-bench/airline"}, {"split": "test"}, {"split": "train"}, {}]
)
def test_what_keeps_a_row_out_of_exports_survives_export_and_import(
    tmp_path: Path, name: str, stamps: dict[str, str]
) -> None:
    source = trajectory(**stamps)
    found = read_again(tmp_path, name, source)
    assert (found.benchmark, found.held_out) == (source.benchmark, source.held_out)


def test_openai_lines_have_further_keys_only_where_exports_leave_a_row_out_unasked() -> None:
    form = form_of("sft", "openai")
    lines = [
        form.record(sft_row(trajectory(split=split), form))["line"] for split in ("train", "test")
    ]
    assert [
        set(msgspec.json.decode(line)) - {"messages", "tools", "parallel_tool_calls"}
        for line in lines
    ] == [set(), {"split"}]
