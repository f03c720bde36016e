"""Progress: a bar on a terminal, plain lines elsewhere, nothing when quiet."""

import io

from schemas.outcome import Fault
from schemas.trajectory import Usage
from synth.run.progress import LiveProgress, PlainProgress, Progress, progress_for
from tests.trajectories import make_fault, make_trajectory


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def work(progress: Progress) -> None:
    progress.start("rollout", 3, "episodes")
    progress.advance([make_trajectory("a", totals=Usage(900, 100, 0, 1, 0.5))])
    progress.advance([make_fault("b", 0, Fault.MODEL), make_trajectory("b", 1, totals=Usage(900, 100, 0, 1, 0.25))])
    progress.stop()
    progress.say("done")


def test_plain_lines_tell_outcomes_faults_tokens_and_money() -> None:
    stream = io.StringIO()
    work(PlainProgress(stream))
    first, second = stream.getvalue().splitlines()
    assert first.startswith("rollout: 2/3 episodes in ")
    assert first.endswith(", 100 % success, 1 faults, 2.0k tokens, $1.00")
    assert second == "done"


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
