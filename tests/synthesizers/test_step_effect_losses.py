"""Continuations that are lost, cut off or of another world give no verdict for an act."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.engine.study.effects.effect import Side
from synth.engine.study.episodes import Continuation
from synth.policies.chat import chat_policy
from synth.policies.mixture import mixture_policy
from synth.policies.scripted import expert_policy, random_policy
from synth.rollout.limits import Limits
from synth.schemas.errors import SynthError
from synth.schemas.outcome import Fault, Outcome
from tests.synthesizers.effect_bench import Bench
from tests.synthesizers.fork_world import NAME, SPEC, dice, roller
from tests.synthesizers.step_effects import difference

pytestmark = pytest.mark.usefixtures("own_state")


def test_faults_are_no_verdicts_and_beyond_a_quarter_nothing_is_said(tmp_path: Path) -> None:
    (effect,) = Bench(tmp_path, left=0, right=100, breaks_from=0).tested()
    assert (effect.accepted, effect.reason, difference(effect)) == (None, "faults", None)
    assert (effect.good.n, effect.bad.n, effect.invalid) == (0, 0, 4)
    assert not effect.open, "a broken world breaks again"
    assert {t.fault for t in effect.continuations} == {Fault.ENVIRONMENT}
    assert len(effect.continuations) == 8, (
        "each was tried again once in its slot, and replaced by none"
    )


@pytest.mark.slow
def test_a_lost_continuation_never_helps_an_act_to_be_accepted(tmp_path: Path) -> None:
    for seed in range(60):
        bench = Bench(tmp_path / str(seed), left=0, right=100, breaks_from=85)
        (effect,) = bench.tested(partial(bench.effect, seed=seed))
        assert effect.good.successes == effect.good.n
        assert effect.bad.successes == 0
        assert effect.good.n + effect.bad.n + effect.invalid == 2 * effect.stopped_at
        if effect.accepted:
            assert (
                effect.good.successes - (effect.stopped_at - effect.bad.n)
                >= {4: 4, 6: 5, 8: 5}[effect.stopped_at]
            )
        elif effect.accepted is None:
            assert effect.invalid > effect.stopped_at / 2


def test_a_truncated_continuation_counts_as_not_solved(tmp_path: Path) -> None:
    bench = Bench(tmp_path, left=0, right=100)
    (effect,) = bench.tested(partial(bench.effect, limits=Limits(max_turns=1)))
    assert {t.outcome for t in effect.continuations} == {Outcome.TRUNCATED}
    assert (effect.accepted, effect.good.successes, effect.good.n, effect.invalid) == (
        False,
        0,
        2,
        0,
    )


def test_a_world_that_is_not_the_recorded_one_gives_no_verdict(tmp_path: Path) -> None:
    (effect,) = Bench(tmp_path, left=0, right=100, drifts=True).tested()
    assert (effect.accepted, effect.reason, effect.good.n, effect.bad.n) == (None, "faults", 0, 0)
    assert {t.fault for t in effect.continuations} == {Fault.DRIFT}


def test_a_task_without_a_check_gives_no_verdict(tmp_path: Path) -> None:
    bench = Bench(tmp_path, left=0, right=100)
    bench.task = msgspec.structs.replace(bench.task, check=None)
    (effect,) = bench.tested()
    assert (effect.accepted, effect.reason, difference(effect)) == (None, "no_verdict", None)


def test_a_continuation_of_which_the_check_cannot_tell_is_lost_as_one_that_a_fault_took() -> None:
    passed, undefined = (
        Continuation(name, outcome)
        for name, outcome in (("a", Outcome.SUCCESS), ("b", Outcome.UNKNOWN))
    )
    side = Side((passed, undefined, passed))
    assert (side.n, side.successes, side.lost, side.rate) == (2, 2, 1, 1.0)
    assert side.in_order == (True, None, True)


def test_a_ceiling_leaves_a_test_open(tmp_path: Path) -> None:
    bench = Bench(tmp_path, left=0, right=100)
    bench.run.stopped = "max_tokens 1 is reached"
    (effect,) = bench.tested()
    assert (effect.accepted, effect.reason, effect.open, effect.invalid) == (
        None,
        "not_started",
        True,
        0,
    )
    assert dice.opened == 0


def test_one_flip_is_exact_for_a_policy_that_is_deterministic_in_a_world_that_is(
    tmp_path: Path,
) -> None:
    sure = msgspec.structs.replace(roller({}, model_name=None, sampling={}), deterministic=True)
    saved, lost = (
        Bench(tmp_path / "a", sure, left=0, right=100).tested(),
        Bench(tmp_path / "b", sure, left=100, right=100).tested(),
    )
    assert [(e.accepted, e.method, e.good.n, e.bad.n, e.stopped_at) for e in (*saved, *lost)] == [
        (True, "flip_deterministic", 1, 1, 1),
        (False, "flip_deterministic", 1, 1, 1),
    ]
    bench = Bench(tmp_path / "c", sure, left=0, right=100)
    bench.run.spec_of = lambda name, settings: msgspec.structs.replace(SPEC, deterministic=False)
    assert bench.tested()[0].method == "sequential"


def test_which_policies_are_deterministic() -> None:
    def chat(**sampling: Any) -> bool:
        return chat_policy({}, model_name="m", sampling=sampling).deterministic

    assert expert_policy({"profiles": "correct"}, model_name=None, sampling={}).deterministic
    assert not expert_policy({"profiles": "mixed"}, model_name=None, sampling={}).deterministic, (
        "each continuation draws its misconceptions anew"
    )
    assert not chat(temperature=0), "servers answer one prompt differently at temperature 0 too"
    assert not chat(temperature=0.7)
    assert not chat(), "what the server draws by is not known"
    assert not random_policy({}, model_name=None, sampling={}).deterministic
    assert not mixture_policy(
        {"of": [{"policy": "expert"}, {"policy": "expert"}]}, model_name=None, sampling={}
    ).deterministic


def test_an_interrupted_test_goes_on_with_the_continuations_that_were_played(
    tmp_path: Path,
) -> None:
    whole = Bench(tmp_path / "whole", left=0, right=100)
    (expected,) = whole.tested()
    bench = Bench(tmp_path / "cut", left=0, right=100)
    calls = [0]
    sound = bench.run.open_env

    def dies(name: str, settings: Any) -> Any:
        calls[0] += 1
        if calls[0] == 6:
            raise SynthError("the disk is full")
        return sound(name, settings)

    bench.run.open_env = dies
    with pytest.raises(SynthError, match="the disk is full"), bench.journal("s", keep=True):
        asyncio.run(bench.effect())
    bench.run.open_env = sound
    (effect,) = bench.tested()
    assert (effect.good.ids, effect.bad.ids, effect.accepted) == (
        expected.good.ids,
        expected.bad.ids,
        True,
    )


def test_the_world_is_named_as_its_module(tmp_path: Path) -> None:
    assert Bench(tmp_path).task.env == NAME
