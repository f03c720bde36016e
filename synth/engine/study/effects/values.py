"""What acts at a state are worth, from the tests there: unbiased success rates by path counts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from synth.engine.study.arms import CONTROL, Episodes, Unit
from synth.engine.study.effects.effect import Effect, Side
from synth.engine.study.step_tests import VALUE
from synth.ledger.ledger import Score
from synth.schemas import AgentTurn, StepValue
from synth.stats.path_counts import arm_count, path_values
from synth.text.transcript.acts import act_digest


class ActValue(msgspec.Struct, frozen=True):
    """An act at a state, by its digest: `successes` of its `n` continuations in the tests there,
    and the unbiased `rate`; None where it cannot be told.
    """

    act: str
    successes: int
    n: int
    rate: float | None


class _Tested(msgspec.Struct, frozen=True):
    """A test of one act against another, by their digests."""

    treated: str
    control: str
    effect: Effect


def act_values(played: Sequence[Episodes], own: AgentTurn) -> Iterator[ActValue]:
    """Yields every act that the tests at a state have continued, each once, accepted or not.

    Tests of different acts against one control are counted jointly. An A/A test counts as one of
    them, and adds nothing to the value of the act. Without a verdict of the check there is nothing
    to count.
    """
    tests = [test for one in played for test in _tests(one, own)]
    tests = [test for test in tests if test.effect.reason != "no_verdict"]
    rates = _rates(tests)

    for act, sides in _sides(tests).items():
        solved = {
            identity: won
            for side in sides
            for identity, won in zip(side.ids, side.solved, strict=True)
        }
        if solved:
            yield ActValue(act, sum(solved.values()), len(solved), rates.get(act))


def value_rows(unit: Unit, played: Sequence[Episodes], on_policy_for: str) -> Iterator[Score]:
    """Yields a row per act that was continued; each continuation counts once, the recorded
    trajectory and the fresh continuations of accepted tests never.
    """
    state = unit.state
    for one in act_values(played, state.own):
        about = StepValue(
            proposed_by=unit.rule,
            own=act_digest(state.own),
            on_policy_for=on_policy_for,
            act=one.act,
            successes=one.successes,
            n=one.n,
        )
        yield Score(state.parent.trajectory_id, VALUE, one.rate, state.turn, about)


def _tests(played: Episodes, own: AgentTurn) -> Iterator[_Tested]:
    """The tests among arms, with what each arm put there."""
    control = act_digest(played.forced.get(CONTROL, own))
    for name, effect in played.effects.items():
        yield _Tested(act_digest(played.forced.get(name, own)), control, effect)


def _sides(tests: Iterable[_Tested]) -> Mapping[str, Sequence[Side]]:
    """The continuations of each act, those of an A/A test once."""
    found: dict[str, list[Side]] = {}
    for test in tests:
        found.setdefault(test.control, []).append(test.effect.bad)
        if test.treated != test.control:
            found.setdefault(test.treated, []).append(test.effect.good)
    return found


def _rates(tests: Sequence[_Tested]) -> Mapping[str, float]:
    """Unbiased rates by act; acts on which the tests share a side otherwise have none."""
    if any(test.effect.accepted is None for test in tests):
        return {}

    flips = [test.effect for test in tests if test.effect.method == "flip_deterministic"]
    if flips:
        sides = _sides(tests).items()
        return {act: float(any(one.successes for one in found)) for act, found in sides}

    # an act that is put there by two arms is one side of both
    places = Counter({test.control for test in tests})
    places.update(test.treated for test in tests if test.treated != test.control)
    joint = [
        _joint([test for test in tests if test.control == control])
        for control in {test.control for test in tests}
    ]

    return {act: rate for found in joint for act, rate in found.items() if places[act] == 1}


def _joint(tests: Sequence[_Tested]) -> Mapping[str, float]:
    """The rates of acts that were tested against one control, and of the control."""
    longest = max((test.effect.bad for test in tests), key=lambda side: len(side.played))
    control, *treated = (
        arm_count(side.in_order) for side in (longest, *(test.effect.good for test in tests))
    )
    if not all(sum(arm.valid) for arm in (control, *treated)):
        return {}

    own, *others = path_values(control, tuple(treated))
    # an A/A test says of its act what the control says already, so that comes last
    acts = [test.treated for test in tests]
    return {**dict(zip(acts, others, strict=True)), tests[0].control: own}
