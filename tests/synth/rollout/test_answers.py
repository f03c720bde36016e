"""What a world or a policy answers is checked before it is believed; the fault says which method
and which field.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from synth.envs.echo import WORLD
from synth.ledger.storage.journal import Journal
from synth.ledger.tables.rows import shard_tables
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.slots import run_slots
from synth.schemas.check import CheckResult, SubVerdict
from synth.schemas.environment import AgentTurn, Env, Opening, Response
from synth.schemas.outcome import Fault, Outcome
from synth.schemas.policy import Act, Episode, Policy, PolicySpec, View
from synth.schemas.trajectory import Authorship, Observation, Source, ToolCall, Trajectory, Usage
from tests.synth.rollout.worlds import Odd

TASKS = WORLD.make_tasks({"turns": 3}, 1, 2)


class Text(str):
    __slots__ = ()


def play(tmp_path: Path, world: Any, act: Any = None) -> Trajectory:
    """One attempt, then the same in an echo world that nothing may have disturbed."""

    class One:
        async def act(self, view: View) -> Any:
            return act if act is not None else Act(turn=AgentTurn("hello"))

    def open_policy(episode: Episode) -> Policy:
        return One()

    spec = PolicySpec(name="one", authorship=Authorship.SCRIPTED, identity={}, open=open_policy)
    works = [
        EpisodeSpec(
            slot_id=str(i),
            task=task,
            trial=0,
            seed=1,
            synthesizer="rollout",
            policy=spec,
            limits=Limits(max_turns=1),
        )
        for i, task in enumerate(TASKS)
    ]
    journal = Journal(tmp_path / "journal.jsonl")

    def open_world(work: EpisodeSpec) -> Env:
        return world if work.slot_id == "0" else Odd()  # type: ignore[no-any-return]

    found = asyncio.run(
        run_slots(
            works,
            open_world,
            None,
            journal,
            {},
            live_episodes=2,
        )
    )
    journal.close()
    if act is None:
        assert found[-1].outcome is Outcome.SUCCESS
    shard_tables(
        "rollout", "key", {"trajectories": found}
    )  # everything that got through can be stored
    return found[0]


def cancel_oneself(error: BaseException | None = None) -> Response:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    if error is not None:
        raise error
    return Response((), done=True)


def tool(**function: Any) -> Mapping[str, Any]:
    return {"type": "function", "function": function}


@pytest.mark.parametrize(
    ("answers", "detail"),
    [
        ({"reset": None}, "reset returned NoneType, not an Opening"),
        (
            {"reset": Opening(3, (), ())},
            "reset returned system_prompt: Expected `str | null`, got `int`",
        ),
        (
            {"reset": Opening("", (), (Observation("x", "nobody"),))},
            "reset returned observations[0].source: Invalid enum value 'nobody'",
        ),
        (
            {"reset": Opening("", (), (), 7)},
            "reset returned state_key: Expected `str | null`, got `int`",
        ),
        (
            {"reset": Opening("", ({"name": "echo"},), ())},
            "reset returned tools[0]: Object missing required field `type`",
        ),
        (
            {"reset": Opening("", (tool(name=3),), ())},
            "reset returned tools[0].function.name: Expected `str`, got `int`",
        ),
        (
            {"reset": Opening("", (tool(name="a"), tool(name="a")), ())},
            "reset returned tools: each needs a name of its own",
        ),
        (
            {"reset": Opening("", (tool(name="a", parameters={"x": object()}),), ())},
            "reset returned tools: Encoding objects of type object",
        ),
        ({"reset": Opening("", 5, ())}, "reset returned tools: Expected `array`, got `int`"),
        ({"step": "text"}, "step 0 returned str, not a Response"),
        (
            {"step": Response(("text",))},
            "step 0 returned observations[0]: Expected `object`, got `str`",
        ),
        (
            {"step": Response((Observation(b"x"),))},
            "step 0 returned observations[0].content: Expected `str`, got `bytes`",
        ),
        (
            {"step": Response((Observation("x", error=None),))},
            "step 0 returned observations[0].error: Expected `bool`, got `null`",
        ),
        ({"step": Response((), 5)}, "step 0 returned state_key: Expected `str | null`, got `int`"),
        (
            {"step": Response((), reward=float("nan"))},
            "step 0 returned reward nan, which is no finite number",
        ),
        ({"step": Response((), reward=float("inf"))}, "step 0 returned reward inf"),
        (
            {"step": Response((), reward="1")},
            "step 0 returned reward: Expected `float | null`, got `str`",
        ),
        ({"step": Response((), done=1)}, "step 0 returned done: Expected `bool`, got `int`"),
        (
            {"step": Response((), done=object())},
            "step 0 returned a value of type object is no plain data",
        ),
        ({"check": True}, "check returned bool, not a CheckResult"),
        ({"check": CheckResult(1)}, "check returned passed: Expected `bool | null`, got `int`"),
        (
            {"check": CheckResult(True, (SubVerdict("a", "no"),))},
            "check returned parts[0].passed: Expected `bool | null`, got `str`",
        ),
        (
            {"check": CheckResult(True, facts={"a/b/c": float("nan")})},
            "check returned facts['a/b/c'] = nan",
        ),
        (
            {"check": CheckResult(True, facts={"a/b/c": "\ud800"})},
            "check returned what cannot be stored",
        ),
        (
            {"check": CheckResult(True, version=3)},
            "check returned version: Expected `str`, got `int`",
        ),
        ({"step": lambda: cancel_oneself()}, "step 0: it cancelled the task that runs it"),
        (
            {"step": lambda: cancel_oneself(asyncio.CancelledError())},
            "step 0: CancelledError (test_answers.py:",
        ),
        ({"step": asyncio.CancelledError()}, "step 0: CancelledError (worlds.py:"),
        ({"reset": SystemExit(1)}, "reset: SystemExit: 1 (worlds.py:"),
        ({"check": KeyboardInterrupt()}, "check: KeyboardInterrupt (worlds.py:"),
    ],
)
def test_an_answer_of_the_wrong_shape_is_a_fault_of_the_world_that_names_method_and_field(
    tmp_path: Path, answers: dict[str, Any], detail: str
) -> None:
    found = play(tmp_path, Odd(**answers))
    assert (found.outcome, found.fault, found.reward, found.check_result) == (
        Outcome.INVALID,
        Fault.ENVIRONMENT,
        None,
        None,
    )
    assert found.fault_detail is not None
    assert found.fault_detail.startswith(detail)


def test_lists_names_of_sources_and_numbers_of_other_libraries_are_taken_as_what_they_stand_for(
    tmp_path: Path,
) -> None:
    numpy = pytest.importorskip("numpy")
    observation = Observation(Text("hi"), "user")
    found = play(
        tmp_path,
        Odd(step=Response([observation], Text("k"), numpy.float32(0.5), numpy.bool_(True))),
    )
    (turn,) = found.turns
    assert (turn.observations, turn.state_key, turn.reward) == (
        (Observation("hi", Source.USER),),
        "k",
        0.5,
    )
    assert type(turn.observations[0].content) is str


def test_half_a_surrogate_pair_is_mended_wherever_a_world_may_speak(tmp_path: Path) -> None:
    opening = Opening(
        "\ud800", (), (Observation("\ud800", Source.USER),), "\ud800", greeting="\ud800"
    )
    found = play(
        tmp_path,
        Odd(
            reset=opening, step=Response((Observation("\ud800", Source.USER),), "\ud800", done=True)
        ),
    )
    assert (found.system_prompt, found.opening_state_key, found.turns[0].content) == (
        "\ufffd",
        "\ufffd",
        "\ufffd",
    )
    assert found.turns[-1].state_key == "\ufffd"


def test_a_world_that_breaks_when_it_is_closed_harms_nobody(tmp_path: Path) -> None:
    assert play(tmp_path, Odd(close=SystemExit(1))).outcome is Outcome.SUCCESS


@pytest.mark.parametrize(
    ("act", "detail"),
    [
        ("text", "policy returned str, not an Act"),
        (Act(turn="text"), "policy returned turn: Expected `object`, got `str`"),
        (Act(turn=AgentTurn(5)), "policy returned turn.content: Expected `str | null`, got `int`"),
        (
            Act(turn=AgentTurn(tool_calls=(ToolCall("c", "f", {}),))),
            "policy returned turn.tool_calls[0].arguments: Expected `str`",
        ),
        (
            Act(turn=AgentTurn("a"), usage=Usage(2**70)),
            "policy returned usage.prompt_tokens: Expected `int` <= 9007199254740992",
        ),
        (
            Act(turn=AgentTurn("a"), usage=Usage(-1)),
            "policy returned usage.prompt_tokens: Expected `int` >= 0",
        ),
        (
            Act(turn=AgentTurn("a"), usage=Usage(cost_usd=float("nan"))),
            "policy returned usage.cost_usd nan",
        ),
        (
            Act(turn=AgentTurn("a"), completion_token_ids=(1, -2)),
            "policy returned completion_token_ids[1]: Expected `int` >= 0",
        ),
        (
            Act(turn=AgentTurn("a"), completion_token_ids=(2**31,)),
            "policy returned completion_token_ids[0]: Expected `int` <= 2147483647",
        ),
    ],
)
def test_a_policy_that_answers_with_something_else_is_a_fault_of_the_model_boundary(
    tmp_path: Path, act: Any, detail: str
) -> None:
    found = play(tmp_path, Odd(), act)
    assert (found.outcome, found.fault) == (Outcome.INVALID, Fault.MODEL)
    assert found.fault_detail is not None
    assert found.fault_detail.startswith(detail)


def test_a_check_that_cannot_tell_makes_the_trial_neither_solved_nor_failed(
    tmp_path: Path,
) -> None:
    found = play(tmp_path, Odd(check=CheckResult(None, (SubVerdict("truth", None),))))
    assert (found.outcome, found.fault) == (Outcome.UNKNOWN, None)
    assert found.undecided
