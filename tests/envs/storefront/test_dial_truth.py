"""What is recorded of a task's difficulty is true of the task: each dial worked out again from
script, world and play.
"""

import re

import msgspec
import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.check.process import INJECTIONS
from synth.envs.storefront.customer.script import Request, Script, read_script
from synth.envs.storefront.self_play import at_once
from synth.envs.storefront.tasks.compiled import opening_of
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.schemas import READ_TOOLS, WRITES
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.task import Task
from tests.envs.storefront.dial_truth import TASKS, item, speaker, world
from tests.envs.storefront.playing import expert_episode, started

LOOK_UPS = {tool["function"]["name"] for tool in READ_TOOLS} - {
    "find_customer",
    "verify_identity",
    "get_policy",
}


SEEDS = range(8)
"""Among them every way to find an order, with and without a look at the stock."""


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
