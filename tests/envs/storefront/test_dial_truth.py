"""What is recorded of a task's difficulty is true of the task: each dial worked out again from
script, world and play.
"""

import re
from typing import Any

import msgspec
import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.check.process import INJECTIONS
from synth.envs.storefront.customer.script import Request, Script, read_script
from synth.envs.storefront.self_play import at_once
from synth.envs.storefront.tasks.compiled import opening_of
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.schemas import READ_TOOLS, WRITES
from synth.envs.storefront.world.config import validated
from synth.envs.storefront.world.world import BaseWorld, world_of
from synth.schemas.canonical import canonical_json
from synth.schemas.errors import ConfigError
from synth.schemas.task import Task
from tests.envs.storefront.playing import expert_episode, started

LOOK_UPS = {tool["function"]["name"] for tool in READ_TOOLS} - {
    "find_customer",
    "verify_identity",
    "get_policy",
}
KINDS = ("feasible", "refused", "ambiguous", "conditional", "stale", "done")
SEEDS = range(8)
"""Among them every way to find an order, with and without a look at the stock."""
TASKS = [
    *WORLD.make_tasks({}, 111, 70),
    *WORLD.make_tasks({"page_size": 2, "relation_share": 0.4}, 112, 20),
]


def only(kind: str) -> dict[str, Any]:
    return {"mix": {name: float(name == kind) for name in KINDS}}


def world(task: Task) -> BaseWorld:
    return world_of(validated(task.env_config))


def speaker(task: Task) -> str:
    base, slots = world(task), task.script["slots"]
    found = [
        key
        for key, row in base.tables["customers"].items()
        if (row["name"], slots.get("email", row["email"])) == (task.script["name"], row["email"])
    ]
    phone = slots.get("phone")
    return next(
        key for key in found if phone is None or base.tables["customers"][key]["phone"] == phone
    )


def item(base: BaseWorld, line: str) -> tuple[str, str]:
    variant = base.tables["variants"][base.tables["lines"][line]["sku"]]
    return variant["colour"], base.tables["products"][variant["product_id"]]["noun"]


def fitting(base: BaseWorld, customer_id: str, request: Request) -> int:
    """How many orders, items, addresses and cards fit a request's words; the most open of them."""
    mine = base.orders_of[customer_id]
    counts = [1]
    by_item = (
        request.order_id is None and request.noun is not None and request.kind != "price_query"
    )
    if by_item and not (request.after or request.gift_of or request.gift_for):
        counts.append(
            sum(
                any(
                    item(base, line) == (request.colour, request.noun)
                    for line in base.lines_of[key]
                )
                for key in mine
            )
        )
    if request.order_id is not None and request.noun is not None and request.colour is None:
        counts.append(
            sum(item(base, line)[1] == request.noun for line in base.lines_of[request.order_id])
        )
    if request.kind == "address" and request.wanted is not None:
        cities = [base.tables["addresses"][key]["city"] for key in base.addresses_of[customer_id]]
        counts.append(max(1, cities.count(request.wanted)))
    if request.pay_to == "card":
        counts.append(
            sum(
                base.tables["payments"][key]["kind"] == "card"
                for key in base.payments_of[customer_id]
            )
        )
    return max(counts)


def alone(task: Task, request: Request) -> Task:
    """The same task with this request only."""
    script = read_script(task.script)
    revisions = tuple(
        revision for revision in script.revisions if revision.number == request.number
    )
    part = msgspec.structs.replace(script, requests=(request,), revisions=revisions, patience=0)
    return msgspec.structs.replace(
        task,
        goal=opening_of(part),
        script=msgspec.to_builtins(part),
        env_config={**task.env_config, "transient_rate": 0},
    )


def fewest_look_ups(task: Task) -> int:
    """Over all requests and the expert's ways: look-ups before the first write; before denial or
    end, where nothing is written.
    """

    async def depth(request: Request, seed: int) -> tuple[bool, int] | None:
        episode = await expert_episode(alone(task, request), None, seed)
        calls = [call for turn in episode.turns for call in turn.tool_calls]
        withdrawn = any(
            "do not want it any more" in seen.content
            for response in episode.responses
            for seen in response.observations
        )
        writes = [at for at, call in enumerate(calls) if call.name in WRITES]
        ends = (
            writes or [at for at, call in enumerate(calls) if call.name == "deny"] or [len(calls)]
        )
        return (
            None
            if withdrawn
            else (bool(writes), sum(call.name in LOOK_UPS for call in calls[: ends[0]]))
        )

    requests = read_script(task.script).requests
    depths = [
        found
        for request in requests
        for seed in SEEDS
        if (found := at_once(depth(request, seed))) is not None
    ]
    return min(
        count for writes, count in depths if writes or not any(writing for writing, _ in depths)
    )


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS[::3], ids=lambda task: task.task_id[:8])
def test_the_look_ups_before_the_first_write_are_the_fewest_with_which_the_expert_gets_there(
    task: Task,
) -> None:
    assert task.difficulty["look_ups"] == fewest_look_ups(task)


@pytest.mark.slow
@pytest.mark.nightly
def test_the_look_ups_of_many_tasks_are_the_fewest_with_which_the_expert_gets_there() -> None:
    many = [
        *WORLD.make_tasks({}, 113, 250),
        *WORLD.make_tasks({"page_size": 1, "changes_of_mind": 1}, 114, 100),
    ]
    assert [
        task.goal for task in many if task.difficulty["look_ups"] != fewest_look_ups(task)
    ] == []


def test_the_words_fit_as_many_as_is_recorded() -> None:
    for task in TASKS:
        base, customer_id = world(task), speaker(task)
        found = [
            fitting(base, customer_id, request) for request in read_script(task.script).requests
        ]
        assert task.difficulty["candidates"] == max(found)
        assert task.difficulty["ambiguous"] == sum(count > 1 for count in found)
        assert (task.difficulty["kind"] == "ambiguous") == (max(found) > 1)


def test_counts_of_the_script_are_those_of_the_dials() -> None:
    for task in TASKS:
        script: Script = read_script(task.script)
        dials, requests = task.difficulty, script.requests
        assert (
            dials["operations"]
            == len(requests)
            == len(re.findall(r"^\d+\. ", task.goal, re.MULTILINE))
        )
        assert dials["kinds"] == [request.kind for request in requests]
        assert dials["by_relation"] == sum(request.after is not None for request in requests)
        others = sum(
            bool(request.gift_of or request.gift_for or "gift that" in request.text)
            for request in requests
        )
        assert dials["by_other_person"] == others
        assert dials["events"] == len(script.events)
        assert dials["changes_of_mind"] == len(script.revisions)
        assert dials["pressure"] == script.pressure
        assert dials["unknown_slots"] == 3 - len(script.slots)
        claims = sum(
            claim in request.text
            for claim in texts("wordings")["claims"].values()
            for request in requests
        )
        assert dials["false_claims"] == (claims if dials["kind"] == "refused" else 0)
        assert dials["injection"] == any(
            injection.text in str(task.env_config.get("facts")) for injection in INJECTIONS
        )


def test_what_the_agent_reads_is_what_is_recorded_of_the_world() -> None:
    for task in TASKS[::4]:
        prompt = at_once(started(task)).opening.system_prompt or ""
        rules = re.findall(r"^(R\d+): (.*)$", prompt, re.MULTILINE)
        assert task.difficulty["rules_in_force"] == len(rules)
        assert task.difficulty["policy_words"] == sum(len(text.split()) for _, text in rules)
        assert task.difficulty["rules_enforced"] == len(world(task).rules.enforced)


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
