"""An accepted test is followed by continuations that it never saw, and no two acts share their
luck.
"""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from synth.engine.study.arms import Unit
from synth.engine.study.effects.effect import Effect
from synth.rollout.start import BranchPoint, ForcedAct
from synth.schemas.evidence.labels import UNSET, StepLabel
from synth.schemas.policy import Act
from tests.synthesizers.effect_bench import Bench
from tests.synthesizers.fork_world import dice, take
from tests.trajectories import make_trajectory

pytestmark = pytest.mark.usefixtures("own_state")


def test_an_accepted_act_is_continued_anew_by_draws_that_its_test_never_saw(
    tmp_path: Path,
) -> None:
    (effect,) = Bench(tmp_path, left=0, right=100).tested()
    label = StepLabel.tested(Unit(BranchPoint(make_trajectory(), 0)), effect)
    assert (label.q_confirm, label.confirm_pos, label.confirm_neg) == (1.0, 4, 0)
    fresh = (*effect.fresh_good.ids, *effect.fresh_bad.ids)
    assert len({*effect.good.ids, *effect.bad.ids, *fresh}) == 16
    assert {*effect.good.ids, *effect.bad.ids, *fresh} == {
        t.trajectory_id for t in effect.continuations
    }


def test_what_was_not_accepted_is_not_continued_anew(tmp_path: Path) -> None:
    (effect,) = Bench(tmp_path, left=100, right=100).tested()
    label = StepLabel.tested(Unit(BranchPoint(make_trajectory(), 0)), effect)
    assert (label.q_confirm, label.confirm_pos_ids) == (UNSET, UNSET)
    assert dice.opened == 4


def test_fresh_continuations_that_a_ceiling_kept_from_starting_leave_the_test_open(
    tmp_path: Path,
) -> None:
    whole = Bench(tmp_path / "whole", left=0, right=100)
    (expected,) = whole.tested()
    bench = Bench(tmp_path / "cut", left=0, right=100)
    sound = bench.run.open_env

    def stops(name: str, settings: Any) -> Any:
        if dice.opened == 8:
            bench.run.stopped = "max_tokens 1 is reached"
        return sound(name, settings)

    bench.run.open_env = stops
    (cut,) = bench.tested()
    assert (cut.accepted, cut.open, cut.reason) == (None, True, "not_started")
    bench.commit([cut])
    bench.run.open_env, bench.run.stopped = sound, None
    (again,) = bench.tested()
    assert (again.accepted, again.open, again.evidence()["q_confirm"]) == (True, False, 1.0)
    assert len(again.continuations) + len(cut.continuations) == len(expected.continuations)


def test_acts_do_not_share_their_luck(tmp_path: Path) -> None:
    """Policies draw by number: the same number after another act must be another draw."""
    bench = Bench(tmp_path, left=50, right=50)
    rest = ForcedAct(act=Act(turn=take("up")), mask="tested_act")
    first, other = bench.tested(bench.effect, partial(bench.effect, rest))

    def thrown(effect: Effect) -> list[str]:
        good = set(effect.good.ids)
        played = [t for t in effect.continuations if t.trajectory_id in good]
        return [t.turns[-1].tool_calls[0].arguments for t in played][:2]

    assert thrown(first) != thrown(other)
