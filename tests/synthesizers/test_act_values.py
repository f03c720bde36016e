"""Values of acts at a state: from which continuations, counted how, and when there are none."""

import pytest

from synth.engine.study.arms import Episodes
from synth.engine.study.effects.effect import Effect, Side, TestMethod
from synth.engine.study.effects.values import ActValue, act_values
from synth.engine.study.episodes import Continuation
from synth.schemas.environment import AgentTurn
from synth.schemas.outcome import Outcome
from synth.text.transcript.acts import act_digest
from tests.synthesizers.fork_world import take

OWN, RIGHT, UP = take("left"), take("right"), take("up")
WON, LOST = Outcome.SUCCESS, Outcome.FAILURE


def side(name: str, played: str) -> Side:
    """`+` passed, `-` failed, `?` lost to a fault."""
    ended = {"+": WON, "-": LOST}
    return Side(
        tuple(
            Continuation(fault="environment")
            if mark == "?"
            else Continuation(f"{name}{at}", ended[mark])
            for at, mark in enumerate(played)
        )
    )


def played(
    act: AgentTurn,
    good: str,
    bad: str,
    *,
    accepted: bool | None = False,
    method: TestMethod = "sequential",
    reason: str | None = None,
    control: AgentTurn = OWN,
) -> Episodes:
    """An act against the own one."""
    name = str(act_digest(act))
    effect = Effect(
        accepted=accepted,
        method=method,
        good=side(f"good {name}", good),
        bad=side(f"own {act_digest(control)}", bad),
        continuations=(),
        reason=reason,
    )
    return Episodes({}, {"treated": effect}, forced={"treated": act, "control": control})


def values(*found: Episodes) -> dict[str, ActValue]:
    return {one.act: one for one in act_values(found, OWN)}


def test_a_test_that_stopped_gives_values_all_the_same() -> None:
    # stopped at two with 1 and 1: in half of the ways the first one passed
    found = values(played(RIGHT, "+-", "-+"))
    assert found[act_digest(OWN)] == ActValue(act_digest(OWN), 1, 2, 0.5)
    assert found[act_digest(RIGHT)] == ActValue(act_digest(RIGHT), 1, 2, 0.5)


def test_tests_that_share_the_own_act_are_counted_jointly() -> None:
    """The first test stopped at two: 0 against 0 or more. The second was accepted at four with 4
    against 0, so the own act failed each time.
    """
    found = values(played(UP, "--", "--"), played(RIGHT, "++++", "----", accepted=True))
    assert {act: one.rate for act, one in found.items()} == {
        act_digest(OWN): 0.0,
        act_digest(UP): 0.0,
        act_digest(RIGHT): 1.0,
    }
    assert found[act_digest(OWN)].n == 4, "each continuation once"


def test_an_a_a_test_adds_nothing_to_the_value_but_its_stop() -> None:
    found = values(played(RIGHT, "-+", "+-"), played(OWN, "-+", "+-"))
    assert set(found) == {act_digest(OWN), act_digest(RIGHT)}
    assert found[act_digest(OWN)].n == 2


def test_where_a_test_is_undefined_no_rate_is_told_at_the_state() -> None:
    lost = played(UP, "?-", "?-", accepted=None, reason="faults")
    found = values(played(RIGHT, "+-", "-+"), lost)
    assert {one.rate for one in found.values()} == {None}
    assert found[act_digest(RIGHT)].n == 2


def test_without_a_verdict_of_the_check_there_is_no_value() -> None:
    assert values(played(RIGHT, "--", "--", accepted=None, reason="no_verdict")) == {}


def test_acts_that_stand_on_a_side_of_two_kinds_have_no_rate() -> None:
    """The way up is tested against the own one, and the way right against it."""
    found = values(played(UP, "+-", "-+"), played(RIGHT, "-+", "+-", control=UP))
    assert found[act_digest(UP)].rate is None
    assert found[act_digest(OWN)].rate == found[act_digest(RIGHT)].rate == 0.5


@pytest.mark.parametrize(("good", "bad"), [("+", "-"), ("-", "+"), ("-", "-")])
def test_a_flip_is_what_it_is(good: str, bad: str) -> None:
    found = values(played(RIGHT, good, bad, method="flip_deterministic"))
    assert found[act_digest(RIGHT)].rate == float(good == "+")
    assert found[act_digest(OWN)].rate == float(bad == "+")
