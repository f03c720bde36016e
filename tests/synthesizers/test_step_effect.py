"""What an act does to success: counted in live continuations whose chances are known, faults and
the recorded failure never among them.
"""

import asyncio
from functools import partial
from pathlib import Path

import msgspec
import pytest

from synth.engine.study.effects.effect import Effect
from synth.engine.study.episodes import ShardEpisodes
from synth.rollout.limits import Limits
from synth.rollout.start import ForcedAct, recorded_act
from synth.schemas.policy import Act
from synth.schemas.trajectory import Observation
from tests.synthesizers.effect_bench import RIGHT, Bench
from tests.synthesizers.fork_world import dice, take
from tests.synthesizers.step_effects import difference

pytestmark = pytest.mark.usefixtures("own_state")


def test_an_act_that_always_saves_is_accepted_after_four_continuations_a_side(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, left=0, right=100)
    (effect,) = bench.tested()
    assert (effect.accepted, effect.stopped_at, effect.method, effect.invalid) == (
        True,
        4,
        "sequential",
        0,
    )
    assert (effect.good.successes, effect.good.n, effect.bad.successes, effect.bad.n) == (
        4,
        4,
        0,
        4,
    )
    assert difference(effect) == 1.0
    assert (
        dice.opened
        == len(effect.continuations)
        == len({t.slot_id for t in effect.continuations})
        == 8 + 8
    ), "four a side more after it was accepted"


def test_an_act_that_changes_nothing_stops_after_two(tmp_path: Path) -> None:
    for chance in (0, 100):
        (effect,) = Bench(tmp_path / str(chance), left=chance, right=chance).tested()
        assert (effect.accepted, effect.stopped_at, difference(effect)) == (False, 2, 0.0)


def test_each_continuation_throws_dice_of_its_own_and_is_by_the_policy_under_its_trial(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, left=0, right=100)
    (effect,) = bench.tested()
    assert len(set(dice.thrown)) > 4, "eight throws of a hundred"
    for t in effect.continuations:
        assert (t.synthesizer, t.parent_id, t.pivot_turn, t.policy, t.role) == (
            *("critical_step", bench.parent.trajectory_id, 0, "roller", "explorer"),
        )
        assert [turn.mask for turn in t.turns] == ["tested_act", None]


def test_the_recorded_failure_is_never_counted(tmp_path: Path) -> None:
    bench = Bench(tmp_path, left=0, right=100)
    (effect,) = bench.tested()
    assert bench.parent.trajectory_id not in {*effect.good.ids, *effect.bad.ids}
    assert effect.bad.n == 4, "those that were played, not one more"


def test_alternatives_at_a_state_share_the_continuations_of_the_own_act(tmp_path: Path) -> None:
    bench = Bench(tmp_path, left=0, right=100)
    rest = ForcedAct(act=Act(turn=take("left")), mask="tested_act", injected="detour")
    first, second, again = bench.tested(bench.effect, partial(bench.effect, rest), bench.effect)
    assert first.bad.ids[:2] == second.bad.ids
    assert (len(first.continuations), len(second.continuations), len(again.continuations)) == (
        16,
        2,
        0,
    )
    assert msgspec.structs.replace(again, continuations=first.continuations) == first
    assert dice.opened == 18


def test_tests_of_one_state_at_the_same_time_share_them_too(tmp_path: Path) -> None:
    bench = Bench(tmp_path, left=0, right=100)

    async def both() -> list[Effect]:
        shared = ShardEpisodes(bench.run, "s")
        return list(await asyncio.gather(bench.effect(shared=shared), bench.effect(shared=shared)))

    with bench.journal("s"):
        first, second = asyncio.run(both())
    assert dice.opened == len(first.continuations) + len(second.continuations) == 16


def test_what_the_ledger_holds_is_counted_and_not_played_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, left=10, right=90)
    first = bench.tested()
    bench.commit(first)
    dice.opened = 0
    (again,) = bench.tested()
    assert dice.opened == 0
    assert again.continuations == []
    assert msgspec.structs.replace(again, continuations=first[0].continuations) == first[0]


def test_an_act_against_itself_is_played_on_both_sides_by_draws_of_their_own(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, left=50)
    own = ForcedAct(act=recorded_act(bench.parent.turns[0]), mask="tested_act")
    (effect,) = bench.tested(partial(bench.effect, own, own))
    assert not set(effect.good.ids) & set(effect.bad.ids)
    assert dice.opened == 2 * effect.stopped_at


def test_later_draws_are_other_continuations(tmp_path: Path) -> None:
    bench = Bench(tmp_path, left=0, right=100)
    first, later = bench.tested(bench.effect, partial(bench.effect, draws_from=17))
    assert not {*first.good.ids, *first.bad.ids} & {*later.good.ids, *later.bad.ids}


def test_what_a_slot_hangs_on_is_all_that_determines_the_continuation(tmp_path: Path) -> None:
    bench = Bench(tmp_path, left=0, right=100)

    def answered(text: str, observations: tuple[Observation, ...]) -> tuple[Observation, ...]:
        return tuple(msgspec.structs.replace(o, content=text) for o in observations)

    same = [
        RIGHT,
        msgspec.structs.replace(RIGHT, injected="wrong way"),
        msgspec.structs.replace(RIGHT, mask=None),
        msgspec.structs.replace(RIGHT, alter=partial(answered, "stale")),
        msgspec.structs.replace(RIGHT, alter=partial(answered, "garbled")),
        ForcedAct(act=Act(turn=take("up")), mask="tested_act"),
    ]
    others = [{"limits": Limits(max_turns=7)}, {"seed": 6}, {"synthesizer": "failure_injection"}]
    effects = bench.tested(
        *(partial(bench.effect, put) for put in same),
        *(partial(bench.effect, **other) for other in others),
    )
    slots = [
        {t.slot_id for t in effect.continuations if t.trajectory_id in effect.good.ids}
        for effect in effects
    ]
    assert len(set().union(*slots)) == sum(map(len, slots))
