"""What the gates of attribution and luck rest on: paired differences, and paths of other passes."""

from collections.abc import Sequence

import msgspec
import pytest

from benchmarks.by_task import Estimate
from benchmarks.gates.automaton import process_score, score, steps, tier
from benchmarks.gates.leaks import held_out, retry
from benchmarks.gates.paired import Compared, interval
from synth.schemas import ToolCall, Trajectory, Turn
from synth.text.leaks import leaks
from tests.trajectories import make_trajectory


def test_whole_tasks_are_resampled() -> None:
    def mean(of: Sequence[float]) -> float:
        return sum(of) / len(of)

    alike = interval([[1.0] * 50, [0.0] * 50], mean)
    assert (alike.value, alike.low, alike.high) == (0.5, 0.0, 1.0)
    known = interval([[0.25]] * 40, mean)
    assert (known.low, known.high) == (0.25, 0.25)


@pytest.mark.parametrize(
    ("low", "high", "positives", "verdict"),
    [
        (0.01, 0.2, 50, "better"),
        (0.01, 0.2, 49, "undecided"),
        (-0.01, 0.2, 500, "undecided"),
        (0.0, 0.2, 500, "undecided"),
        (-0.2, -0.01, 50, "worse"),
    ],
)
def test_a_verdict_needs_fifty_positives_and_an_interval_without_0(
    low: float, high: float, positives: int, verdict: str
) -> None:
    assert Compared("a", "b", Estimate(0.1, low, high), positives).verdict == verdict


def passed(name: str, *tools: str) -> Trajectory:
    calls = [ToolCall.received("c", tool, "{}") for tool in tools]
    turns = tuple(Turn(at, tool_calls=(call,)) for at, call in enumerate(calls))
    return msgspec.structs.replace(make_trajectory(turns=0), trajectory_id=name, turns=turns)


def test_a_pass_is_scored_by_the_paths_of_five_others() -> None:
    alike = [passed(str(at), "get_order", "cancel_order") for at in range(6)]
    assert [step[0] for step in steps(alike[0])] == ["E", "I"]
    assert process_score(alike[0], alike) == 90
    assert process_score(alike[0], alike[:5]) is None
    # nothing matched, one stage of two: 25 for coherence, 18 / 2, 12 / 2
    assert score(steps(passed("x", "get_user")), steps(alike[0])) == 40
    assert [tier(value) for value in (60, 59, 37, 36)] == ["ideal", "solid", "solid", "lucky"]


def test_the_wordings_held_out_are_enough_and_none_is_fitted_to() -> None:
    words = held_out()
    secrets = [text for one in words.situations for text in one.secrets]
    harmless = [text for one in words.situations for text in one.harmless]
    assert len(words.references) >= 80
    assert len(secrets) >= 80
    assert len(harmless) >= 100
    one, lesson = retry(words.situations[0], secrets[0])
    assert one.guidance == lesson
    assert not leaks(retry(words.situations[0], harmless[0])[0])
