"""The closing line that tells what was mended in replies, over whole runs against a server that
leaves calls in the text.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from synth.engine.runs.summary import summary_lines
from synth.ledger import StoredLedger
from synth.schemas.outcome import Outcome
from tests.flow_files import echo_flow, model_flow, run_flow
from tests.synth.models.chat_brains import Body, Brain, echo_expert
from tests.synth.models.chat_server import ChatServer


def left_in_the_text(body: Body) -> dict[str, Any]:
    """The echo expert, its calls as Qwen3-Coder writes them and no parser reads them."""
    message = echo_expert(body)
    calls = message.pop("tool_calls", [])
    for call in calls:
        given = json.loads(call["function"]["arguments"]).items()
        parameters = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in given)
        message["content"] = (
            f"<tool_call>\n<function={call['function']['name']}>\n{parameters}"
            "</function>\n</tool_call>"
        )
    return message


def told(brain: Brain, folder: Path) -> list[str]:
    """The lines about repairs after a run of 8 episodes of 4 calls; all of them succeed."""
    with ChatServer(brain) as server:
        run, reports, _ = run_flow(model_flow(server.url), str(folder))
    assert [trajectory.outcome for trajectory in StoredLedger(str(folder)).trajectories()] == [
        Outcome.SUCCESS
    ] * 8
    return [said for label, said in summary_lines(run, reports) if label == "repairs"]


def test_calls_that_were_read_from_text_are_told_by_kind(tmp_path: Path) -> None:
    assert told(left_in_the_text, tmp_path) == [
        "32 turns: call_id_missing 32, tool_call_recovered 32, tool_call_xml 32"
    ]


@pytest.mark.slow
def test_where_nothing_was_mended_nothing_is_told(tmp_path: Path) -> None:
    assert told(echo_expert, tmp_path / "model") == []
    run, reports, _ = run_flow(echo_flow(), str(tmp_path / "scripted"))
    assert not [said for label, said in summary_lines(run, reports) if label == "repairs"]
