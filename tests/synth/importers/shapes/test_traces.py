"""Logs of single calls add up to the conversations that they belong to, whoever wrote them."""

from pathlib import Path
from typing import Any

import pytest

from tests.synth.importers.imports import read_lines
from tests.synth.importers.shapes.dialogues import (
    CHAT,
    OUTLINE,
    PARAMETERS,
    TOOL,
    outline,
)
from tests.synth.importers.shapes.trace_records import FIRST, LOGS, SECOND, completion, pair


@pytest.mark.parametrize("log", LOGS.values(), ids=LOGS.keys())
def test_the_calls_of_a_log_are_one_conversation(tmp_path: Path, log: list[Any]) -> None:
    found, bad = read_lines(tmp_path, log)
    assert bad == []
    assert [outline(one) for one in found] == [OUTLINE]
    assert found[0].trajectory.model == "m-1"


def test_tools_sampling_and_tokens_of_a_log_come_along(tmp_path: Path) -> None:
    (found,), _ = read_lines(tmp_path, LOGS["request and response"])
    trajectory = found.trajectory
    assert trajectory.tools == (TOOL,)
    assert trajectory.sampling == {"temperature": 0.5}
    assert [turn.usage and turn.usage.prompt_tokens for turn in trajectory.turns] == [10, 10]


def test_two_conversations_of_one_log_are_two_and_a_second_try_is_its_own(tmp_path: Path) -> None:
    other = {**FIRST, "messages": [{"role": "user", "content": "Else?"}]}
    log = [
        pair(FIRST, completion(CHAT[2])),
        pair(other, completion({"role": "assistant", "content": "No."})),
        pair(SECOND, completion(CHAT[4])),
        pair(other, completion({"role": "assistant", "content": "Yes."})),
    ]
    found, bad = read_lines(tmp_path, log)
    assert bad == []
    assert [len(one.trajectory.turns) for one in found] == [2, 1, 1]
    assert found[1].trajectory.turns[0].content == "No."


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            {"custom_id": "a", "response": {"status_code": 200, "body": completion(CHAT[4])}},
            "custom_id",
        ),
        (pair(FIRST, {"error": {"message": "rate limit"}}), "failed"),
    ],
)
def test_a_call_without_its_other_half_is_refused_with_what_to_do(
    tmp_path: Path, line: Any, said: str
) -> None:
    found, bad = read_lines(tmp_path, [*LOGS["request and response"], line])
    assert len(found) == 1
    assert [said in one.detail for one in bad] == [True]


assert PARAMETERS
