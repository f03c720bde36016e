"""Progress: a bar on a terminal, plain lines elsewhere, nothing when quiet."""

import io
import re

import pytest

from synth.engine.numbers import short_count, short_duration
from synth.engine.progress import LiveProgress, PlainProgress, Progress, progress_for, time_left
from synth.schemas.outcome import Fault
from synth.schemas.trajectory import Usage
from tests.trajectories import make_fault, make_trajectory


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def work(progress: Progress) -> None:
    progress.start("rollout", 3, "episodes")
    progress.advance([make_trajectory("a", totals=Usage(900, 100, 0, 1, 0.5))])
    progress.advance(
        [
            make_fault("b", 0, Fault.MODEL),
            make_trajectory("b", 1, totals=Usage(900, 100, 0, 1, 0.25)),
        ]
    )
    progress.stop()
    progress.say("done")


def test_plain_lines_tell_outcomes_faults_tokens_and_money() -> None:
    stream = io.StringIO()
    work(PlainProgress(stream))
    first, second = stream.getvalue().splitlines()
    assert first.startswith("rollout: 2/3 episodes in ")
    assert first.endswith(", 100 % success, 1 attempt ended in a fault, 2.0k tokens, $1.00")
    assert second == "done"


@pytest.mark.parametrize("kind", [PlainProgress, LiveProgress])
def test_episodes_of_which_every_attempt_ended_in_a_fault_are_not_told_as_done(
    kind: type[PlainProgress | LiveProgress],
) -> None:
    stream = io.StringIO()
    progress = kind(stream)
    progress.start("rollout", 2, "episodes")
    for slot in ("a", "b"):
        progress.advance([make_fault(slot, attempt, Fault.MODEL) for attempt in range(3)])
    progress.stop()
    assert re.search(
        r"rollout: 0(/2)? episodes in .*, 6 attempts ended in faults", stream.getvalue()
    )


@pytest.mark.parametrize("kind", [PlainProgress, LiveProgress])
def test_an_interrupted_stage_tells_what_is_committed_and_what_is_done_again(
    kind: type[PlainProgress | LiveProgress],
) -> None:
    stream = io.StringIO()
    progress = kind(stream)
    progress.start("reverse_task", 8, "explorations")
    progress.step(7)
    progress.committed(4)
    progress.stop()
    told = " ".join(stream.getvalue().split())
    assert (
        "reverse_task: 4 explorations are committed; 3 more had ended and are done again (replies "
        "of models are kept)" in told
    )
    assert re.search("reverse_task: 4(/8)? explorations in ", told)


def test_quiet_says_nothing() -> None:
    stream = io.StringIO()
    work(PlainProgress(stream, quiet=True))
    assert stream.getvalue() == ""


def test_a_terminal_keeps_a_line_per_stage() -> None:
    stream = Terminal()
    work(LiveProgress(stream))
    assert "rollout: 2 episodes in " in stream.getvalue()


def test_the_kind_follows_the_stream() -> None:
    assert isinstance(progress_for(Terminal()), LiveProgress)
    assert isinstance(progress_for(io.StringIO()), PlainProgress)
    assert isinstance(progress_for(Terminal(), quiet=True), PlainProgress)


def test_turns_and_tokens_of_episodes_under_way_are_told_before_any_is_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("synth.engine.progress.PLAIN_EVERY_S", 0.0)
    stream = io.StringIO()
    progress = PlainProgress(stream)
    progress.start("rollout", 100, "episodes")
    for _ in range(1200):
        progress.turned(Usage(7_000, 700, 0, 1, 0.001))
    assert (
        stream.getvalue().splitlines()[-1]
        == "rollout: 0/100 episodes, 1.2k turns, 9.2M tokens, $1.20"
    )


def test_tokens_of_a_finished_episode_are_not_told_twice() -> None:
    stream = io.StringIO()
    progress = PlainProgress(stream)
    progress.start("rollout", 3, "episodes")
    progress.turned(Usage(900, 100, 0, 1))
    progress.advance([make_trajectory("a", totals=Usage(900, 100, 0, 1))])
    progress.stop()
    assert stream.getvalue().rstrip().endswith(", 100 % success, 1.0k tokens")


def test_an_interrupted_stage_tells_its_turns_even_where_no_episode_was_finished() -> None:
    stream = io.StringIO()
    progress = PlainProgress(stream)
    progress.start("rollout", 3, "episodes")
    progress.turned(Usage(900, 100, 0, 1))
    progress.stop()
    assert stream.getvalue().startswith("rollout: 0/3 episodes in ")


@pytest.mark.parametrize(
    ("done", "total", "took_s", "said"),
    [
        (0, 320, 600, ""),
        (3, 320, 600, ""),
        (32, 320, 2, ""),
        (32, 320, 60, "about 9 min left"),
        (160, 320, 60, "about 60 s left"),
        (16, 320, 600, "about 3 h 10 min left"),
        (320, 320, 60, ""),
        (5, 0, 60, ""),
    ],
)
def test_the_time_left_is_told_only_where_enough_is_done(
    done: int, total: int, took_s: float, said: str
) -> None:
    assert time_left(done, total, took_s) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0"),
        (950, "950"),
        (1000, "1.0k"),
        (99_949, "99.9k"),
        (640_000, "640k"),
        (9_216_900, "9.2M"),
        (3 * 10**9, "3.0G"),
    ],
)
def test_counts_are_told_as_people_say_them(count: int, said: str) -> None:
    assert short_count(count) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (42, "42 s"),
        (120, "2 min"),
        (3600, "60 min"),
        (12_000, "3 h 20 min"),
        (14_400, "4 h"),
        (400_000, "5 days"),
    ],
)
def test_durations_are_told_as_people_say_them(seconds: float, said: str) -> None:
    assert short_duration(seconds) == said


def test_a_notice_is_broken_between_words_and_a_path_is_not_broken() -> None:
    words = (
        "rules reflect, by what the check found wrong: the retries are gold_informed, and "
        "show nothing about whether reflection works"
    )
    path = "/" + "a" * 100
    stream = Terminal()
    progress = LiveProgress(stream)
    progress._bar.console.width = 40
    progress.say(f"{words} {path}")
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    assert " ".join(lines) == f"{words} {path}"
    assert lines[-1] == path
    assert all(len(line) <= 40 for line in lines[:-1])


def test_a_log_has_each_notice_in_one_line() -> None:
    stream = io.StringIO()
    PlainProgress(stream).say("word " * 60)
    assert stream.getvalue().count("\n") == 1


def test_a_stage_that_was_done_to_its_end_leaves_no_share_of_what_was_planned_at_most() -> None:
    stream = io.StringIO()
    progress = PlainProgress(stream)
    progress.start("failure_injection", 92, "attempts")
    progress.step(91)
    progress.stop(whole=True)
    assert stream.getvalue().startswith("failure_injection: 91 attempts in ")
