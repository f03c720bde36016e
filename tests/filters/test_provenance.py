"""The filter `provenance`: values that stood nowhere drop, choices too unless the flow only wants
to be told; no schemas, no verdict.
"""

import asyncio
import json
from typing import Any

import msgspec
import pytest

from synth.envs.echo import WORLD
from synth.filters.provenance import ProvenanceConfig, justified, measure
from synth.schemas.filtering import Case, Verdict
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn
from tests.trajectories import make_trajectory

TOOLS = tuple(
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}},
        },
    }
    for name in ("list_orders", "cancel_order")
)
ORDERS = json.dumps([{"order_id": "O-11"}, {"order_id": "O-22"}])


def cancelling(order: str, wish: str = "Cancel my order O-11.", **fields: Any) -> Trajectory:
    """Lists two orders, asks whether to cancel one, and cancels it."""
    listing = ToolCall.received("c0", "list_orders", "{}")
    cancel = ToolCall.received("c2", "cancel_order", json.dumps({"order_id": order}))
    made = make_trajectory(
        turns=0,
        opening=(Observation(wish, Source.USER),),
        system_prompt=None,
        **{"tools": TOOLS, **fields},
    )
    turns = (
        Turn(
            0,
            tool_calls=(listing,),
            observations=(Observation(ORDERS, call_id="c0", name="list_orders"),),
        ),
        Turn(1, f"Shall I cancel {order}?", observations=(Observation("Yes.", Source.USER),)),
        Turn(
            2,
            tool_calls=(cancel,),
            observations=(Observation("done", call_id="c2", name="cancel_order"),),
        ),
    )
    return msgspec.structs.replace(made, turns=turns)


def verdict(trajectory: Trajectory, **given: Any) -> Verdict:
    config = ProvenanceConfig(**given)
    case = Case(trajectory, None, lambda name, settings: WORLD.open(settings))
    measured = asyncio.run(measure(case, config, None))  # type: ignore[arg-type]  # it asks nobody
    return asyncio.run(justified(msgspec.structs.replace(case, measures=tuple(measured)), config))


def test_a_value_that_stood_nowhere_drops_and_names_its_place() -> None:
    found = verdict(cancelling("O-99"))
    assert (found.keep, found.reason, found.score) == (False, "unjustified_argument", 1.0)
    assert found.detail["arguments"] == [{"turn": 2, "tool": "cancel_order", "path": "order_id"}]
    assert verdict(cancelling("O-99"), arguments=False).keep is True


def test_a_choice_that_nothing_singles_out_drops_unless_it_was_proposed_and_that_counts() -> None:
    guessed = cancelling("O-22", "Cancel one of my orders.")
    assert (verdict(guessed).keep, verdict(guessed).reason) == (False, "unjustified_choice")
    assert verdict(guessed, proposed=True).keep is True
    assert verdict(guessed, choices=False) == Verdict(
        True, "justified", 1.0, verdict(guessed).detail
    )


def test_what_was_asked_for_by_name_is_justified() -> None:
    assert verdict(cancelling("O-11")) == Verdict(True, "justified", 0.0)


@pytest.mark.parametrize(
    ("trajectory", "reason"),
    [
        (cancelling("O-99", tools=()), "no_tool_schemas"),
        (make_trajectory(turns=2), "no_effectful_call"),  # `look` changes nothing
    ],
)
def test_without_schemas_or_calls_to_judge_it_is_undefined(
    trajectory: Trajectory, reason: str
) -> None:
    assert verdict(trajectory) == Verdict(None, reason)
