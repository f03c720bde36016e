"""Failed trials that a role repairs, and what becomes of corrections of no use."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.synth.models.chat_brains import Body, Brain, called, echo_expert
from tests.synth.models.chat_server import ChatServer
from tests.synthesizers.failures.flows_of_failures import asked, injected, scores
from tests.synthesizers.failures.test_chat_policy import chat_flow

pytestmark = pytest.mark.slow


def stops(body: Body) -> dict[str, Any]:
    """Says one word only, then finishes; what it has said beyond that, it goes on from."""
    done = sum(message["role"] == "assistant" for message in body["messages"])
    return called("finish", {}, f"call_{done}") if done == 1 else echo_expert(body)


def correcting(proposals: Callable[[Body], dict[str, Any]]) -> Brain:
    def replies(body: Body) -> dict[str, Any]:
        if str(body["messages"][0]["content"]).startswith("You read the log of an agent's attempt"):
            return {"role": "assistant", "content": json.dumps(proposals(body))}
        return stops(body)

    return replies


def second_word(body: Body) -> dict[str, Any]:
    """First a correction that does not help, then what does: the second word where the agent
    finished.
    """
    text = body["messages"][1]["content"]
    goal = json.loads(text.partition("\n")[0])["said"][0]["text"]
    word = goal.rpartition(": ")[2].split()[1] if "These were tried" in text else "nonsense"
    return {
        "step": 1,
        "content": None,
        "tool_calls": [{"name": "echo", "arguments": {"text": word}}],
    }


def test_a_role_repairs_failed_trials_and_is_told_what_did_not_help(tmp_path: Path) -> None:
    with ChatServer(correcting(second_word)) as server:
        report = injected(
            tmp_path / "run", chat_flow(server.url, {"per_task": 0, "repairs": 1}, corrector=True)
        )
    repairs = scores(tmp_path / "run", "repair")
    assert (report["attempted"], report["verified"]) == (2, 2)
    assert [row["value"] for row in repairs] == [0.0, 1.0, 0.0, 1.0]
    for row in repairs:
        assert (row["turn"], row["detail"]["strategy"], row["detail"]["earliest_tested"]) == (
            1,
            "role",
            False,
        )
        assert row["detail"]["original"]["tool_calls"][0]["name"] == "finish"
    assert set(asked(tmp_path / "run", "SELECT purpose, role FROM replies")) == {
        ("correct", "corrector")
    }


AS_BEFORE = {"step": 1, "tool_calls": [{"name": "finish", "arguments": {}}]}


@pytest.mark.parametrize("bad", [{"step": 99, "content": "x"}, {"step": 1}, AS_BEFORE])
def test_a_corrector_that_says_nothing_of_use_leaves_the_repair_to_the_expert(
    tmp_path: Path, bad: dict[str, Any]
) -> None:
    with ChatServer(correcting(lambda body: bad)) as server:
        report = injected(
            tmp_path / "run", chat_flow(server.url, {"per_task": 0, "repairs": 1}, corrector=True)
        )
    assert (report["attempted"], report["verified"]) == (2, 2)
    assert {row["detail"]["strategy"] for row in scores(tmp_path / "run", "repair")} == {"expert"}
