"""Trajectories and tasks made by hand for tests."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from synth.schemas.canonical import trajectory_id
from synth.schemas.check import Check, CheckResult, RowPredicate, SubVerdict
from synth.schemas.outcome import Fault, Outcome, Termination
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn, Usage

TOOLS = (
    {
        "type": "function",
        "function": {
            "name": "look",
            "description": "Looks.",
            "parameters": {"type": "object", "properties": {}},
        },
    },
)


def make_turn(index: int, **fields: Any) -> Turn:
    call = ToolCall.received(f"call_{index}", "look", f'{{"at": {index}}}')
    seen = Observation(f"seen {index}", call_id=call.call_id, name="look")
    return Turn(
        **{
            "index": index,
            "tool_calls": (call,),
            "observations": (seen,),
            "state_key": f"s{index}",
            **fields,
        }
    )


def make_trajectory(
    slot: str = "slot", attempt: int = 0, turns: int = 2, **fields: Any
) -> Trajectory:
    given: Mapping[str, Any] = {
        "trajectory_id": trajectory_id(slot, attempt),
        "slot_id": slot,
        "attempt": attempt,
        "task_id": "task",
        "env": "echo",
        "trial": 0,
        "synthesizer": "rollout",
        "policy": "expert",
        "outcome": Outcome.SUCCESS,
        "termination": Termination.DONE,
        "system_prompt": "Look around.",
        "tools": TOOLS,
        "opening": (Observation("Please look.", Source.USER),),
        "turns": tuple(make_turn(i) for i in range(turns)),
        "reward": 1.0,
        "check_result": CheckResult(
            True, (SubVerdict("state", True, ("fine",)),), {"orders/1/status": "done"}, "1"
        ),
        "totals": Usage(10, 5, 2, turns, 0.25),
        **fields,
    }
    return Trajectory(**given)


def make_fault(slot: str = "slot", attempt: int = 0, fault: Fault = Fault.MODEL) -> Trajectory:
    return make_trajectory(
        slot,
        attempt,
        outcome=Outcome.INVALID,
        termination=Termination.FAULT,
        fault=fault,
        fault_detail="it broke",
        reward=None,
        check_result=None,
    )


def make_task(**fields: Any) -> Task:
    check = Check(required=(RowPredicate("orders", {"id": "1", "status": "done"}),))
    return Task.identified(
        **{
            "env": "echo",
            "goal": "Look.",
            "check": check,
            "gold": (ToolCall.received("g", "look", "{}"),),
            **fields,
        }
    )


texts = st.text(max_size=40)
calls = st.builds(
    ToolCall.received,
    st.text(min_size=1, max_size=8),
    texts,
    st.one_of(texts, st.just('{"a": [1, null]}')),
)
observations = st.builds(
    Observation, texts, st.sampled_from(Source), st.none() | texts, st.none() | texts, st.booleans()
)
turns = st.builds(
    Turn,
    index=st.just(0),
    content=st.none() | texts,
    tool_calls=st.lists(calls, max_size=3).map(tuple),
    observations=st.lists(observations, max_size=3).map(tuple),
    thought=st.none() | texts,
    agent=st.none() | texts,
    state_key=st.none() | texts,
    reward=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    mask=st.none() | texts,
    usage=st.none()
    | st.builds(
        Usage,
        st.integers(0, 2**40),
        st.integers(0, 9),
        st.integers(0, 9),
        st.integers(0, 9),
        st.none() | st.floats(0, 9),
    ),
    latency_ms=st.none() | st.floats(0, 1e6),
    prompt_token_ids=st.none() | st.lists(st.integers(0, 2**31 - 1), max_size=3).map(tuple),
    logprobs=st.none() | st.lists(st.floats(-50, 0), max_size=3).map(tuple),
    repairs=st.lists(texts, max_size=2).map(tuple),
    raw=st.none() | texts,
)
"""Turns with any content that a ledger must hold."""
