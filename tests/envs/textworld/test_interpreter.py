"""What the game says is freed of the interpreter's own lines."""

import pytest

pytest.importorskip(
    "synth.envs.textworld",
    reason="the extra is missing: pip install -c constraints.txt -e '.[textworld]'",
    exc_type=ImportError,
)

from synth.envs.textworld.config import TextWorldConfig
from synth.envs.textworld.games import made_games
from synth.envs.textworld.interpreter import Interpreter, _plain
from tests.envs.textworld.installed import SEED, SMALL

TAKEN = (
    "\n[removing the sock from the box]\n[(1) taking the sock]\nYou take the sock from the "
    "box.\n[(1) taking the sock - succeeded]\n\n"
    "[removing the sock from the box - succeeded]\n\n>                       -= Attic =-0/8"
)


def test_trace_and_status_line_are_taken_out() -> None:
    assert _plain(TAKEN) == "You take the sock from the box."


def test_paragraphs_stay_and_runs_of_empty_lines_become_one() -> None:
    said = (
        "\n[looking]\n-= Attic =-\nAn attic.\n\n\n   \nA box.\n[looking - succeeded]\n\n>   "
        "-= Attic =-1/17"
    )
    assert _plain(said) == "-= Attic =-\nAn attic.\n\nA box."


@pytest.mark.slow
def test_an_actions_parts_are_no_actions_of_their_own() -> None:
    (made,) = made_games(TextWorldConfig.model_validate(SMALL), [SEED * 1_000_003])
    interpreter = Interpreter(made.path)
    assert interpreter.give("look").succeeded == ("looking",)
    assert interpreter.give("go nowhere").succeeded == ()
    assert interpreter.opening.startswith("-= ")
    assert "$$" not in interpreter.opening, "the banner is not shown"
