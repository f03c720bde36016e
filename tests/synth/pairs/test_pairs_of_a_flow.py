"""Pairs and labels of whole flows: what their tests accepted, as the trajectories bear it out; the
same when read again.
"""

from pathlib import Path

import msgspec
import pytest

from benchmarks.critical_steps import EXPLORER
from synth.ledger import StoredLedger
from synth.pairs import (
    KtoReport,
    LabelSettings,
    PairReport,
    PairSettings,
    StepReport,
    kto_labels,
    preference_pairs,
    step_labels,
)
from synth.schemas.evidence.pairs import Tier
from synth.schemas.flow import Flow
from synth.schemas.outcome import Outcome
from synth.text.transcript.acts import act_digest
from tests.flow_files import run_flow
from tests.synthesizers.fork_flows import fork_flow
from tests.synthesizers.fork_world import dice

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def storefront(tmp_path_factory: pytest.TempPathFactory) -> StoredLedger:
    url = str(tmp_path_factory.mktemp("storefront") / "run")
    run_flow(
        Flow.model_validate(
            {
                "name": "pairs",
                "seed": 1,
                "env": {"name": "storefront", "tasks": 16},
                "models": {"explorer": dict(EXPLORER)},
                "stages": [{"rollout": {"trials": 3}}, {"critical_step": {}}],
            }
        ),
        url,
    )
    return StoredLedger(url)


def test_every_pair_can_be_found_again_in_the_trajectories_that_it_names(
    storefront: StoredLedger,
) -> None:
    assert list(preference_pairs(storefront, PairSettings(), PairReport())) == [], (
        "all of it is scripted"
    )
    settings, report = PairSettings(include_scripted=True), PairReport()
    rows = list(preference_pairs(storefront, settings, report))
    assert len(rows) == report.rows > 0
    for row in rows:
        chosen, rejected = (
            storefront.trajectory(side.trajectory_id)
            for side in (row.pair.chosen, row.pair.rejected)
        )
        at = row.pair.prefix.turn
        assert chosen.outcome is Outcome.SUCCESS
        assert rejected.outcome is Outcome.FAILURE
        assert [(t.content, t.tool_calls, t.observations) for t in chosen.turns[:at]] == [
            (t.content, t.tool_calls, t.observations) for t in rejected.turns[:at]
        ]
        assert act_digest(chosen.turns[at]) != act_digest(rejected.turns[at])
        assert row.pair.evidence.q_pos > row.pair.evidence.q_neg
    assert len({row.pair.pair_id for row in rows}) == len(rows)
    assert (
        list(preference_pairs(StoredLedger(storefront.storage.url), settings, PairReport())) == rows
    )


def test_positives_pass_as_often_as_their_task_and_every_negative_has_its_positive(
    storefront: StoredLedger,
) -> None:
    labels = [
        row.label
        for row in kto_labels(storefront, LabelSettings(include_scripted=True), KtoReport())
    ]
    positives, negatives = (
        [one for one in labels if one.desirable],
        [one for one in labels if not one.desirable],
    )
    assert positives
    assert negatives
    assert all(one.task_rate is not None and one.q >= one.task_rate for one in positives)
    assert all(
        one.matched_by == "prompt" or one.stratum in {other.stratum for other in positives}
        for one in negatives
    )


def test_steps_have_counted_values_and_the_check_blames_turns_of_the_policy(
    storefront: StoredLedger,
) -> None:
    rows = list(step_labels(storefront, LabelSettings(include_scripted=True), StepReport()))
    counted = [row.label for row in rows if row.label.tier is Tier.INTERVENTIONAL]
    assert counted
    assert all(0 <= one.successes <= one.n and one.n for one in counted)
    assert all(one.q is not None or one.label is not None for one in counted)
    assert any(one.q is not None and one.label is None for one in counted)
    exact = [row for row in rows if row.label.tier is Tier.GOLD_RULE]
    assert exact
    assert all(
        row.step.sampled_by == "policy"
        and row.label.label is False
        and row.trajectory.parent_id is None
        for row in exact
    )


def test_an_act_whose_argument_stands_nowhere_is_not_to_be_learnt_even_where_it_wins(
    tmp_path: Path,
) -> None:
    """The fork's expert takes the right way, which no message of that world ever names."""
    dice.opened, dice.thrown, dice.dies_at = 0, [], None
    url = str(tmp_path / "run")
    run_flow(fork_flow(), url)
    report = PairReport()
    assert (
        list(preference_pairs(StoredLedger(url), PairSettings(include_scripted=True), report)) == []
    )
    assert report.left_out["chosen_unjustified_argument"] == 6
    steps = list(step_labels(StoredLedger(url), LabelSettings(include_scripted=True), StepReport()))
    with_labels = [row.label for row in steps if row.label.label is not None]
    assert {
        (msgspec.json.decode(row.step.tool_calls[0].arguments)["way"], row.label.label)
        for row in steps
        if row.label.label is not None
    } == {("right", True), ("left", False)}
    assert len(with_labels) == 12
