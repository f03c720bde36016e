"""Verdicts come in the order of the flow, whatever order a database gives them in."""

from pathlib import Path

import pytest

from synth.ledger import StageRef, StoredLedger
from synth.ledger.decisions import by_filter, decision_order, with_decisions
from synth.ledger.ledger import Decision
from synth.ledger.log.manifest import StageLine
from synth.schemas.filtering import Verdict
from synth.set_aside import SetAside
from tests.trajectories import make_trajectory

IN_FLOW = ["solved", "provenance", "duplicates"]
"""Neither their alphabetical order nor that in which they are committed below."""


@pytest.fixture
def ledger(tmp_path: Path) -> StoredLedger:
    """Three trajectories that every filter drops; what is committed first is last in the flow."""
    ledger = StoredLedger(str(tmp_path / "run"), create=True)
    tried = [make_trajectory(slot) for slot in "abc"]
    ledger.begin_stage(StageLine("rollout", "rollout", {}))
    ledger.commit(StageRef("rollout", "rollout"), trajectories=tried)
    ledger.begin_stage(StageLine("filter", "filter", {}))
    ledger.begin_stage(StageLine("select", "select", {}))
    ledger.commit(
        StageRef("select", "select"),
        decisions=[Decision(one.trajectory_id, "a_select", False, "cap") for one in tried],
    )
    for name in reversed(IN_FLOW):
        ledger.commit(
            StageRef("filter", "filter"),
            decisions=[Decision(one.trajectory_id, name, False, "no") for one in tried],
        )
    return ledger


def filters(ledger: StoredLedger) -> list[list[str]]:
    return [list(verdicts) for _, verdicts in with_decisions(ledger, SetAside())]


def test_verdicts_stand_in_the_order_of_stages_and_of_the_filters_that_the_report_names(
    ledger: StoredLedger,
) -> None:
    ledger.finish_stage(
        StageRef("filter", "filter"),
        {"kind": "filter", "filters": [{"name": name} for name in IN_FLOW]},
    )
    assert filters(ledger) == [[*IN_FLOW, "a_select"]] * 3


def test_filters_of_a_stage_without_a_report_stand_in_the_order_of_their_names(
    ledger: StoredLedger,
) -> None:
    assert filters(ledger) == [["duplicates", "provenance", "solved", "a_select"]] * 3


def test_where_a_filter_decided_in_two_stages_its_drop_stands(ledger: StoredLedger) -> None:
    keep, drop = Verdict(True, "fine"), Verdict(False, "no")
    for given in (
        [("filter", "solved", drop), ("select", "solved", keep)],
        [("filter", "solved", keep), ("select", "solved", drop)],
    ):
        assert by_filter(given, decision_order(ledger)) == {"solved": drop}
        assert by_filter(reversed(given), decision_order(ledger)) == {"solved": drop}
