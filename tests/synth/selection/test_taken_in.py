"""What exports would leave out takes no share of a selection."""

from typing import Any

import pytest

from synth.datasets.release import CHATS, Lineage, may_leave
from synth.flows.stages.export import ExportSettings, FlowRelease
from synth.schemas.trajectory import Authorship
from tests.trajectories import make_trajectory


def takes(kind: str, *exports: dict[str, Any]) -> FlowRelease:
    return FlowRelease.by([ExportSettings.model_validate(given) for given in exports], kind)


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
    release = takes("sft", *exports).release

    def refusal(**fields: Any) -> str | None:
        found = may_leave(Lineage(make_trajectory(**fields)), {}, CHATS, release)
        return None if found is None else found.counted

    assert refusal(authorship=Authorship.SCRIPTED) == scripted
    assert refusal(benchmark="tau-bench/test") == benchmark
    assert refusal(split="test") == held_out
    assert refusal() is None


@pytest.mark.parametrize(
    ("export", "place"),
    [
        ({}, True),
        ({"as": "trl", "unroll": "whole"}, False),
        ({"unroll": "per_turn"}, True),
        ({"keep_masked": True}, True),
        ({"as": "axolotl"}, True),
    ],
)
def test_a_row_with_turns_without_loss_is_taken_in_where_an_export_has_a_place_for_it(
    export: dict[str, Any], place: bool
) -> None:
    assert takes("sft", export).masked is place


def test_runs_that_tested_an_act_are_taken_in_where_an_export_says_so() -> None:
    assert not takes("sft", {}).release.include_evidence
    assert takes("sft", {}, {"include_evidence": True}).release.include_evidence


def test_without_an_export_in_the_flow_masked_rows_are_left_to_a_later_one() -> None:
    assert takes("sft").masked
