"""What data sets hold of retries, and flows that cannot work."""

import json
from pathlib import Path
from typing import Any

import pytest

from synth.schemas.errors import FlowError
from synth.schemas.outcome import Outcome
from tests.flow_files import run_flow
from tests.synth.models.chat_brains import Body
from tests.synth.models.chat_server import ChatServer
from tests.synthesizers.reflection.desk import (
    LESSON,
    guided,
    reflecting_flow,
    stutterer,
)
from tests.synthesizers.reflection.test_by_model import retries

pytestmark = pytest.mark.slow


def test_a_lesson_that_shows_in_the_retry_is_a_leak_and_is_kept_out_of_data_sets(
    tmp_path: Path,
) -> None:
    def brain(body: Body) -> dict[str, Any]:
        message = stutterer()(body)
        return (
            message | {"content": "As the guidance says."}
            if guided(body) and message.get("tool_calls")
            else message
        )

    export = {"export": {"kinds": ["sft"], "keep_masked": True}}
    with ChatServer(brain) as server:
        run, reports, _ = run_flow(reflecting_flow(server.url, None, export), str(tmp_path / "run"))
    assert reports["reflect_retry"]["rejected"] == {"leak:reference_to_help": 2}
    assert {retry.outcome for retry in retries(run.ledger)} == {Outcome.SUCCESS}
    assert reports["export"]["datasets"]["sft"]["rows"] == 0
    assert reports["export"]["datasets"]["sft"]["filtered"] == {"leak:reference_to_help": 2}


def test_exported_rows_hold_no_guidance_and_no_loss_before_the_pivot(tmp_path: Path) -> None:
    from datasets import load_dataset

    export = {"export": {"kinds": ["sft"], "keep_masked": True}}
    with ChatServer(stutterer()) as server:
        run_flow(reflecting_flow(server.url, None, export), str(tmp_path / "run"))
    rows = list(
        load_dataset(
            str(tmp_path / "run" / "datasets" / "sft"),
            split="train",
            cache_dir=str(tmp_path / "cache"),
        )
    )
    assert len(rows) == 2
    for row in rows:
        assert not any(words in json.dumps(row) for words in (LESSON, "keep in mind"))
        assert (row["trained_turns"], row["masked_turns"]) == (
            [1, 2, 3],
            [{"turn": 0, "reason": "before_pivot"}],
        )
        assert (row["synthesizer"], row["gold_informed"]) == ("reflect_retry", False)


@pytest.mark.parametrize(
    ("retry", "models", "problem"),
    [
        (
            {"reflector": "model"},
            {"explorer": {"policy": "expert"}},
            "reflector: model asks the role 'reflector'",
        ),
        (
            {},
            {"explorer": {"policy": "expert"}, "reflector": {"policy": "expert"}},
            "the role 'reflector' has no model to ask",
        ),
        (
            {"role": "other"},
            {"explorer": {"policy": "expert"}},
            "role 'other' plays no agent in this flow",
        ),
        (
            {"attempts": 2, "equal_budget": True},
            {"explorer": {"policy": "expert"}},
            "leave attempts at 1",
        ),
        ({"reflector": "oracle"}, {"explorer": {"policy": "expert"}}, "reflector"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_made(
    tmp_path: Path, retry: dict[str, Any], models: dict[str, Any], problem: str
) -> None:
    with pytest.raises(FlowError, match=problem) as caught:
        run_flow(reflecting_flow("", retry, models=models), str(tmp_path / "run"))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()
