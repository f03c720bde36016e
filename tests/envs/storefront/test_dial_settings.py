"""Distractors, refusals and complications are those that the dials asked for; dials that no world
can have are refused.
"""

import re
from typing import Any

import msgspec
import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.customer.script import Request, read_script
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.canonical import canonical_json
from synth.schemas.errors import ConfigError
from synth.schemas.task import Task
from tests.envs.storefront.dial_truth import TASKS, item, speaker, world

KINDS = ("feasible", "refused", "ambiguous", "conditional", "stale", "done")


def only(kind: str) -> dict[str, Any]:
    return {"mix": {name: float(name == kind) for name in KINDS}}


def order_meant(
    base: BaseWorld, customer_id: str, request: Request, placed: str | None
) -> str | None:
    """The order of the customer that a request is about, by its words and the day that the customer
    would answer.
    """
    mine = sorted(
        base.orders_of[customer_id], key=lambda key: str(base.tables["orders"][key]["placed"])
    )

    def holding(wanted: tuple[str | None, str | None]) -> list[str]:
        return [
            key for key in mine if any(item(base, line) == wanted for line in base.lines_of[key])
        ]

    if request.kind in ("price_query", "out_of_scope") or request.gift_of is not None:
        return None
    if request.order_id is not None:
        return request.order_id
    if request.gift_for is not None:
        recipients = {key: base.tables["orders"][key]["recipient_id"] for key in mine}
        names = {
            key: base.tables["customers"][who]["name"]
            for key, who in recipients.items()
            if who is not None
        }
        return next(key for key, name in names.items() if name == request.gift_for)
    if request.after is not None:
        (anchor,) = holding(request.after)
        return mine[mine.index(anchor) + 1]
    fits = holding((request.colour, request.noun))
    return next(
        key for key in fits if len(fits) == 1 or base.tables["orders"][key]["placed"] == placed
    )


def test_distractors_are_the_customer_s_other_orders_and_the_others_of_that_name() -> None:
    for task in TASKS:
        base, customer_id, script = world(task), speaker(task), read_script(task.script)
        placed = {
            request.number: script.details.get(str(request.number), {}).get("order")
            for request in script.requests
        }
        meant = {
            order_meant(base, customer_id, request, placed[request.number])
            for request in script.requests
        }
        namesakes = [row for row in base.tables["customers"].values() if row["name"] == script.name]
        assert (
            task.difficulty["distractors"]
            == len(set(base.orders_of[customer_id]) - meant) + len(namesakes) - 1
        )
        by_item = [
            r
            for r in script.requests
            if r.order_id is None and r.noun is not None and r.kind != "price_query"
        ]
        assert task.difficulty["by_description"] == sum(
            not (r.after or r.gift_of or r.gift_for) for r in by_item
        )


def test_the_refusal_and_the_twists_are_those_of_check_and_script() -> None:
    for task in TASKS:
        script, twists = read_script(task.script), set(task.difficulty["twists"])
        assert task.check is not None
        assert task.difficulty["refusal"] == next(
            (refusal.rule for refusal in task.check.refusals), None
        )
        assert ("conditional" in twists) == any(request.condition for request in script.requests)
        assert ("withdrawn" in twists) == any(
            revision.request is None for revision in script.revisions
        )
        assert ("change_of_mind" in twists) == bool(script.revisions)
        assert ("out_of_scope" in twists) == ("out_of_scope" in task.difficulty["kinds"])
        assert not task.check.refusals or twists & {
            f"ineligible_{task.difficulty['refusal']}",
            "stale",
        }


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "dial",
    [
        {"look_ups": (4, 4)},
        {"ambiguity": (4, 4)},
        {"look_ups": (4, 4), "ambiguity": (4, 4), "operations": (2, 6)},
    ],
)
def test_a_dial_that_is_hard_to_reach_is_drawn_until_it_is(kind: str, dial: dict[str, Any]) -> None:
    for task in WORLD.make_tasks({**only(kind), **dial}, 115, 6):
        assert task.difficulty["kind"] == kind
        assert "look_ups" not in dial or task.difficulty["look_ups"] == 4
        assert task.difficulty["candidates"] == (
            4 if kind == "ambiguous" and "ambiguity" in dial else task.difficulty["candidates"]
        )
        assert kind == "ambiguous" or task.difficulty["candidates"] == 1


def test_stale_events_are_as_many_as_was_asked_for() -> None:
    assert {
        task.difficulty["events"]
        for task in WORLD.make_tasks({**only("stale"), "stale_events": (2, 2)}, 116, 12)
    } == {2}
    assert {
        task.difficulty["events"]
        for task in WORLD.make_tasks({**only("stale"), "stale_events": (1, 1)}, 116, 12)
    } == {1}


@pytest.mark.slow
def test_a_dial_that_one_world_cannot_have_is_refused_in_one_line() -> None:
    settings = {
        **only("ambiguous"),
        "world_seed": 1,
        "ambiguity": (4, 4),
        "look_ups": (0, 0),
        "operations": (1, 1),
    }
    with pytest.raises(
        ConfigError, match=r"no task of kind ambiguous .* in the world of seed 1: widen"
    ) as refused:
        WORLD.make_tasks(settings, 1, 1)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"stale_events": (0, 0)}, "stale_events 0..0"),
        ({"enforced_share": 1.0}, "10 of the 15 rules in force, a share of 0.67"),
    ],
)
def test_dials_that_contradict_each_other_are_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(why)):
        WORLD.make_tasks(settings, 1, 1)


def test_a_task_read_back_from_a_file_is_the_task() -> None:
    assert [msgspec.json.decode(canonical_json(task), type=Task) for task in TASKS] == TASKS
