"""What exports would leave out takes no share of a selection."""

from typing import Any

import pytest

from synth.exporters.taken_in import TakenIn
from synth.schemas.flow import Flow


def flow(*exports: dict[str, Any]) -> Flow:
    return Flow.model_validate({"name": "f", "stages": [{"export": given} for given in exports]})


@pytest.mark.parametrize(
    ("exports", "scripted", "benchmark", "held_out"),
    [
        ([], None, "benchmark", "held_out"),
        ([{}], "scripted", "benchmark", "held_out"),
        ([{"include_scripted": True}], None, "benchmark", "held_out"),
        ([{"allow_benchmark": True}, {"allow_held_out": True}], "scripted", None, None),
        ([{"kinds": ["rl"], "allow_benchmark": True}], None, "benchmark", "held_out"),
    ],
)
def test_a_success_is_refused_for_the_reason_of_the_exports(
    exports: list[dict[str, Any]], scripted: str | None, benchmark: str | None, held_out: str | None
) -> None:
    takes = TakenIn.by(flow(*exports), "sft")
    assert takes.refusal(None, False, "scripted") == scripted
    assert takes.refusal("tau-bench/test", False, "model") == benchmark
    assert takes.refusal(None, True, "model") == held_out
    assert takes.refusal(None, False, "model") is None


@pytest.mark.parametrize(
    ("export", "reason"),
    [
        ({}, "masked_turns"),
        ({"as": "trl"}, "masked_turns"),
        ({"unroll": "per_turn"}, None),
        ({"keep_masked": True}, None),
        ({"as": "axolotl"}, None),
    ],
)
def test_a_row_with_turns_without_loss_is_refused_where_no_export_has_a_place_for_it(
    export: dict[str, Any], reason: str | None
) -> None:
    assert TakenIn.by(flow(export), "sft").refusal(None, False, "model", masked=True) == reason


def test_runs_that_tested_an_act_are_taken_in_where_an_export_says_so() -> None:
    assert not TakenIn.by(flow({}), "sft").evidence
    assert TakenIn.by(flow({}, {"include_evidence": True}), "sft").evidence


def test_without_an_export_in_the_flow_masked_rows_are_left_to_a_later_one() -> None:
    assert TakenIn.by(flow(), "sft").refusal(None, False, "model", masked=True) is None
