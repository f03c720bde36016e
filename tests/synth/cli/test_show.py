"""`synth show --prompt` and `synth diff`: what the model was shown, and a word where two
trajectories are hardly comparable.
"""

import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from msgspec import structs

from synth.cli.show import diff, readable, show
from synth.ledger import StageRef, StoredLedger
from synth.schemas.check import CheckResult, SubVerdict
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.trajectory import (
    Deviation,
    Observation,
    Planted,
    SampledBy,
    ToolCall,
    Trajectory,
    Turn,
    TurnedDown,
    Wording,
)
from tests.trajectories import TOOLS, make_trajectory, make_turn

SYSTEM = 'Look around.\n\n  "Quotes", <tags> and umlauts: äöü.'


@pytest.fixture
def run_dir(tmp_path: Path) -> str:
    ledger = StoredLedger(str(tmp_path), create=True)
    shown = make_trajectory("a", system_prompt=SYSTEM)
    bare = make_trajectory("b", system_prompt=None, tools=(), synthesizer="import", task_id="other")
    ledger.commit(
        StageRef("import", "i"), trajectories=[shown, bare, make_trajectory("c", turns=1)]
    )
    return str(tmp_path)


def identity(slot: str) -> str:
    return make_trajectory(slot).trajectory_id


def test_the_prompt_is_the_system_prompt_and_the_tools_as_the_model_saw_them(run_dir: str) -> None:
    shown = CliRunner().invoke(show, [run_dir, identity("a"), "--prompt"])
    assert shown.exit_code == 0
    system, tools = shown.stdout[: len(SYSTEM)], shown.stdout[len(SYSTEM) :]
    assert system == SYSTEM
    assert json.loads(tools) == TOOLS[0]
    as_json = CliRunner().invoke(show, [run_dir, identity("a"), "--prompt", "--json"])
    assert json.loads(as_json.stdout) == {"system_prompt": SYSTEM, "tools": list(TOOLS)}


def test_a_prompt_that_was_not_recorded_is_said_to_be_absent(run_dir: str) -> None:
    shown = CliRunner().invoke(show, [run_dir, identity("b"), "--prompt"])
    assert shown.stdout == "(no system prompt)\n\n(the source recorded no tools)\n"


def test_what_steers_a_terminal_is_spelled_out_wherever_it_stands_and_stored_as_received(
    tmp_path: Path,
) -> None:
    evil = "\x1b]0;pwn\x07\x9b2J\u202e"
    ledger = StoredLedger(str(tmp_path), create=True)
    said = Observation(
        f"line\n\tnext {evil}",
        wording=Wording(f"scripted {evil}", f"m {evil}", (TurnedDown(evil, (Deviation(evil),)),)),
    )
    turn = make_turn(
        0,
        content=evil,
        thought=evil,
        agent=evil,
        observations=(said,),
        tool_calls=(ToolCall.received("c", evil, evil),),
    )
    check = CheckResult(True, (SubVerdict(evil, True, (evil,)),), {}, "1")
    names = {
        "model": evil,
        "policy": evil,
        "task_id": evil,
        "system_prompt": evil,
        "tools": ({"name": "\u202e"},),
        "check_result": check,
    }
    for slot in ("a", "b"):
        made = make_trajectory(slot, **names)
        turns = (turn, *made.turns) if slot == "a" else made.turns
        ledger.commit(StageRef("import", "i"), trajectories=[structs.replace(made, turns=turns)])
    a, b = identity("a"), identity("b")
    for command, arguments in ((show, [a]), (show, [a, "--prompt"]), (diff, [a, b])):
        shown = CliRunner().invoke(command, [str(tmp_path), *arguments], color=True)
        assert shown.exit_code == 0
        assert "\\u202e" in shown.output
        assert not set(re.sub(r"\x1b\[\d*m", "", shown.output)) & {
            *evil[:1],
            "\x07",
            "\x9b",
            "\u202e",
        }
    assert "line\n          \tnext" in CliRunner().invoke(show, [str(tmp_path), a]).output
    assert ledger.trajectory(a).turns[0].content == evil


def test_attempts_at_different_tasks_are_compared_with_a_warning_in_one_line(run_dir: str) -> None:
    compared = CliRunner().invoke(diff, [run_dir, identity("a"), identity("b")])
    assert compared.exit_code == 0
    assert (
        compared.stderr
        == "attempts at different tasks, task and other: what differs says little about the "
        "agents\n"
    )
    assert CliRunner().invoke(diff, [run_dir, identity("a"), identity("c")]).stderr == ""


def test_a_continuation_shows_whence_it_came_what_was_whispered_put_there_and_planted() -> None:
    planted = Observation("503", error=True, planted=Planted("it is sent"))
    trajectory = Trajectory(
        trajectory_id="b",
        slot_id="s",
        attempt=0,
        task_id="t",
        env="e",
        trial=0,
        synthesizer="failure_injection",
        policy="chat",
        outcome=Outcome.FAILURE,
        termination=Termination.AGENT_STOP,
        parent_id="a",
        pivot_turn=1,
        guidance="Look twice.",
        turns=(
            Turn(0, "Hello."),
            Turn(
                1,
                "I do not look.",
                observations=(planted,),
                sampled_by=SampledBy.INJECTED,
                mask="injected",
                injected="FM-3.2",
            ),
        ),
    )
    shown = click.unstyle("\n".join(readable(trajectory)))
    assert "continues a from turn 1" in shown
    assert shown.index("[0]") < shown.index("Look twice.") < shown.index("[1]")
    assert "(injected, put here: FM-3.2, masked: injected)" in shown
    assert "(planted; the world had answered: it is sent)" in shown
