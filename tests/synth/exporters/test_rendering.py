"""Rows of real trajectories through the chat templates that TRL trains with: what carries loss is
what the assistant wrote.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from synth.exporters.proof.rendered import scalars, stands_in
from synth.exporters.template import FAMILIES, student_template
from synth.importers.records import Imported
from tests.synth.exporters.solved import SHIP, export_sft, load, trajectory
from tests.synth.importers.imports import imported

DATA = Path(__file__).parents[4] / "shared" / "data"
LEAVE_CALLS_OUT = ("llama3", "phi3", "deepseek_r1_distill", "lfm2", "qwen2_5_vl")

DROP_TEXT_BESIDE_CALLS = ("gptoss", "deepseekv3")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The rows of an SFT export of all real trajectories with `--allow-benchmark`, and one that
    thinks and calls.
    """
    pytest.importorskip("trl", reason="needs the extra: pip install -e '.[train]'")
    folder = tmp_path_factory.mktemp("rendered")
    found = [f.trajectory for f in imported([DATA]) if isinstance(f, Imported)]
    export_sft(
        [(t, {}) for t in [*found, trajectory(tools=(SHIP,))]],
        DatasetFolder(folder / "sft"),
        RowSettings(allow_benchmark=True, unroll="whole"),
    )
    return load(folder / "sft", folder / "cache")


def rendered(row: dict[str, Any], name: str) -> tuple[str, list[str]]:
    """(what carries no loss, what each assistant message gives that does)"""
    text, places = student_template(f"trl:{name}").spans(row["messages"], row["tools"])
    ends = [0, *(end for _, end in places)]
    starts = [*(start for start, _ in places), len(text)]
    return "\n".join(text[end:start] for end, start in zip(ends, starts, strict=True)), [
        text[start:end] for start, end in places
    ]


def said_by(row: dict[str, Any], *roles: str) -> list[dict[str, Any]]:
    return [message for message in row["messages"] if message["role"] in roles]


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="real trajectories absent: ../shared/data")
@pytest.mark.parametrize("name", FAMILIES)
def test_every_row_renders_and_only_what_the_assistant_wrote_carries_loss(
    rows: list[dict[str, Any]], name: str
) -> None:
    assert len(rows) == 623 + 1
    for row in rows:
        rest, trained = rendered(row, name)
        answers = said_by(row, "assistant")
        assert len(trained) == len(answers)
        for message in said_by(row, "system", "user", "tool"):
            assert stands_in(message["content"].strip(), rest)
        for text, message in zip(trained, answers, strict=True):
            assert "None" not in text or "None" in json.dumps(message)
            for call in message.get("tool_calls", ()):
                assert call["function"]["name"] in text
                assert all(
                    stands_in(scalar, text) for scalar in scalars(call["function"]["arguments"])
                )
            assert message["content"].strip() in text or (
                name in DROP_TEXT_BESIDE_CALLS and message["tool_calls"]
            )


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="real trajectories absent: ../shared/data")
@pytest.mark.parametrize("name", LEAVE_CALLS_OUT)
def test_templates_that_the_card_warns_of_leave_the_calls_out(
    rows: list[dict[str, Any]], name: str
) -> None:
    row = rows[-1]
    _, trained = rendered(row, name)
    assert [
        c["function"]["name"] for m in said_by(row, "assistant") for c in m.get("tool_calls", ())
    ] == ["find"]
    assert not any("find" in text for text in trained)
