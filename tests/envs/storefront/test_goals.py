"""Tasks: the same ones for the same seed, without limit, of the stated mix, and not to be
guessed.
"""

import re
from collections.abc import Sequence
from functools import cache

import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.world.config import Mix
from synth.schemas.errors import ConfigError
from synth.schemas.task import Task


@cache
def tasks() -> Sequence[Task]:
    return WORLD.make_tasks({}, 61, 400)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_tasks_and_a_longer_list_starts_with_the_shorter() -> None:
    assert WORLD.make_tasks({}, 61, 30) == tasks()[:30]
    assert WORLD.make_tasks({}, 62, 30) != tasks()[:30]
    assert len({task.task_id for task in tasks()}) == len(tasks())


@pytest.mark.slow
def test_about_half_of_the_tasks_have_three_operations_or_more() -> None:
    counts = [task.difficulty["operations"] for task in tasks()]
    assert set(counts) == {1, 2, 3, 4, 5, 6}
    assert 0.42 <= sum(count >= 3 for count in counts) / len(counts) <= 0.6


@pytest.mark.slow
def test_the_mix_is_the_one_of_the_settings() -> None:
    shares = {
        kind: sum(task.difficulty["kind"] == kind for task in tasks()) / len(tasks())
        for kind in Mix.model_fields
    }
    wanted = {
        "feasible": 0.4,
        "refused": 0.2,
        "ambiguous": 0.15,
        "conditional": 0.1,
        "stale": 0.1,
        "done": 0.05,
    }
    assert all(abs(shares[kind] - share) <= 0.01 for kind, share in wanted.items()), shares


@pytest.mark.slow
def test_a_kind_of_task_is_what_it_says() -> None:
    twist = {
        "ambiguous": "ambiguous",
        "conditional": "conditional",
        "stale": "stale",
        "done": "already_done",
    }
    for task in tasks():
        kind, difficulty = task.difficulty["kind"], task.difficulty
        assert twist.get(kind) is None or twist[kind] in difficulty["twists"]
        assert (kind == "ambiguous") == (difficulty["candidates"] > 1)
        assert kind not in ("feasible", "conditional", "done") or difficulty["refusal"] is None
        assert kind != "ambiguous" or difficulty["refusal"] in (None, "R5")


@pytest.mark.slow
def test_words_leave_orders_items_addresses_and_cards_open() -> None:
    open_slots = {
        twist
        for task in tasks()
        for twist in task.difficulty["twists"]
        if twist.startswith("ambiguous_")
    }
    assert open_slots == {f"ambiguous_{slot}" for slot in ("order", "item", "address", "payment")}


@pytest.mark.slow
def test_every_twist_of_the_grammar_occurs() -> None:
    twists = {twist for task in tasks() for twist in task.difficulty["twists"]}
    wanted = {
        "ambiguous",
        "conditional",
        "change_of_mind",
        "withdrawn",
        "missing",
        "false_claim",
        "stale",
        "partial_refusal",
        "already_done",
    }
    assert wanted | {"by_other_person", "out_of_scope", "ineligible_R10"} <= twists
    assert any(task.difficulty["injection"] for task in tasks())
    assert {task.difficulty["pressure"] for task in tasks()} == {1, 2, 3}


@pytest.mark.slow
def test_every_intent_of_the_grammar_occurs() -> None:
    kinds = {kind for task in tasks() for kind in task.difficulty["kinds"]}
    assert kinds == {
        *(
            "cancel",
            "return",
            "exchange",
            "address",
            "refund_query",
            "price_query",
            "track",
            "coupon",
            "compensation",
            "out_of_scope",
        ),
    }


@pytest.mark.slow
def test_orders_of_and_for_other_people_are_named_by_the_person() -> None:
    goals = "\n".join(task.goal for task in tasks())
    assert re.search(r"that \w+ \w+ gave me", goals)
    assert re.search(r"the order that I placed for \w+ \w+", goals)


@pytest.mark.slow
def test_referents_are_by_id_and_by_description_and_some_descriptions_are_ambiguous() -> None:
    assert sum(task.difficulty["by_description"] > 0 for task in tasks()) > 100
    assert sum(task.difficulty["ambiguous"] > 0 for task in tasks()) > 40
    assert sum(task.difficulty["by_relation"] > 0 for task in tasks()) > 20
    assert sum(" order O-" in task.goal for task in tasks()) > 100


@pytest.mark.slow
def test_no_value_that_must_be_told_stands_in_the_goal() -> None:
    for task in tasks():
        assert task.check is not None
        for fact in task.check.told:
            shown = (
                f"{fact.value / 100:.2f}"
                if fact.type == "money" and isinstance(fact.value, int)
                else str(fact.value)
            )
            assert shown not in task.goal


@pytest.mark.slow
def test_the_stated_requests_hold_no_id_that_the_goal_does_not_say() -> None:
    for task in tasks():
        stated = [
            value
            for request in task.script["requests"]
            for value in request.values()
            if isinstance(value, str)
        ]
        assert all(
            found in task.goal for value in stated for found in re.findall(r"[A-Z]+-\d+", value)
        )


@pytest.mark.slow
def test_settings_bound_the_operations() -> None:
    assert {
        task.difficulty["operations"] for task in WORLD.make_tasks({"operations": [3, 4]}, 1, 60)
    } == {3, 4}
    assert all(
        task.difficulty["refusal"] is None
        for task in WORLD.make_tasks({"mix": {"refused": 0, "stale": 0}}, 1, 60)
    )


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"operation": [1, 2]}, "env.operation"),
        ({"operations": [0, 2]}, "operations 0"),
        ({"orders": 3}, "env.orders"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, object], named: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(named)):
        WORLD.make_tasks(settings, 1, 1)
    with pytest.raises(ConfigError, match=re.escape(named)):
        WORLD.open(settings)


@pytest.mark.slow
@pytest.mark.nightly
def test_compositions_are_held_out_of_the_train_variant() -> None:
    together = ({"coupon", "track"}, {"compensation", "exchange"}, {"address", "refund_query"})

    def composed(tasks: Sequence[Task]) -> list[bool]:
        long = [task for task in tasks if task.difficulty["operations"] >= 2]
        return [any(kinds <= set(task.difficulty["kinds"]) for kinds in together) for task in long]

    held_out = composed(WORLD.make_tasks({"variant": "held_out"}, 63, 150))
    assert not any(composed(tasks()))
    assert 0.4 <= sum(held_out) / len(held_out) <= 0.9


@pytest.mark.slow
def test_what_is_asked_for_its_price_is_spoken_of_in_no_other_request() -> None:
    for task in tasks():
        nouns = [request.get("noun") for request in task.script["requests"]]
        assert all(
            nouns.count(request["noun"]) == 1
            for request in task.script["requests"]
            if request["kind"] == "price_query"
        ), task.goal


@pytest.mark.slow
def test_minds_change_only_where_the_customer_is_asked_before_a_write() -> None:
    few = WORLD.make_tasks(
        {"rules_in_force": 3, "enforced_share": 0.3, "changes_of_mind": 1}, 64, 40
    )
    assert sum(task.difficulty["changes_of_mind"] for task in few) == 0
