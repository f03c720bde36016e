"""Dials: each is a setting, is recorded with the task, and changes what it names; the expert solves
tasks at every position.
"""

from typing import Any

import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.self_play import played
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.schemas import rule_texts
from synth.envs.storefront.world.policy import BY_WEIGHT, ENFORCEABLE, RULE_IDS, VALUES
from synth.envs.storefront.world.world import base_world
from synth.schemas.task import Task

DIALS: list[tuple[dict[str, Any], str, Any]] = [
    ({"operations": (5, 5)}, "operations", 5),
    ({"look_ups": (4, 6), "operations": (1, 1)}, "look_ups", (4, 6)),
    (
        {"ambiguity": (3, 4), "mix": {"feasible": 0, "refused": 0, "ambiguous": 1e6}},
        "candidates",
        (3, 4),
    ),
    ({"rules_in_force": 5}, "rules_in_force", 5),
    ({"enforced_share": 0.2}, "rules_enforced", 3),
    ({"policy": "terse"}, "policy", "terse"),
    ({"page_size": 2}, "page_size", 2),
    ({"stale_events": (2, 2), "mix": {"feasible": 0, "refused": 0, "stale": 1e6}}, "events", 2),
    ({"transient_rate": 0.3}, "transient_rate", 0.3),
    ({"reticence": 1}, "unknown_slots", 1),
    ({"changes_of_mind": 0}, "changes_of_mind", 0),
    ({"false_claims": 0}, "false_claims", 0),
    ({"pressure": 1}, "pressure", (2, 3)),
    ({"verbosity": 1}, "verbosity", 1),
    ({"injections": 1}, "injection", True),
    ({"injections": 0}, "injection", False),
    ({"dialogue": False}, "dialogue", False),
    ({"budget_slack": 2.0}, "budget_slack", 2.0),
]


@pytest.mark.slow
@pytest.mark.parametrize(("settings", "name", "wanted"), DIALS)
def test_a_dial_is_recorded_with_the_task_and_the_expert_solves_it(
    settings: dict[str, Any], name: str, wanted: Any
) -> None:
    tasks = WORLD.make_tasks(settings, 81, 24)
    for task in tasks:
        found = task.difficulty[name]
        assert wanted[0] <= found <= wanted[1] if isinstance(wanted, tuple) else found == wanted
    assert [task.goal for task in tasks[:12] if not played(task, None, 1)[1]] == []


def test_changes_of_mind_and_missing_slots_occur_where_they_are_asked_for() -> None:
    tasks = WORLD.make_tasks({"changes_of_mind": 1, "missing": 0.5}, 82, 60)
    assert sum(task.difficulty["changes_of_mind"] > 0 for task in tasks) > 10
    assert sum("missing" in task.difficulty["twists"] for task in tasks) > 10


def test_a_budget_is_a_multiple_of_the_expert_s_turns_and_then_the_customer_leaves() -> None:
    task: Task = WORLD.make_tasks({"budget_slack": 1.0}, 83, 1)[0]
    assert (
        task.script["patience"]
        == task.difficulty["budget_turns"]
        == task.difficulty["expert_turns"]
        == played(task)[0]
    )


def test_the_held_out_variant_shares_neither_values_nor_words_with_train() -> None:
    train, held_out = VALUES["train"], VALUES["held_out"]
    for name in train:
        assert not set(train[name]) & set(held_out[name]), name
    assert all(
        not set(words["train"]) & set(words["held_out"])
        for words in texts("wordings")["requests"].values()
    )
    assert {task.split for task in WORLD.make_tasks({"variant": "held_out"}, 84, 10)} == {
        "held_out"
    }


def test_about_half_of_the_rules_are_enforced_by_tools_and_fewer_rules_mean_a_shorter_policy() -> (
    None
):
    rules = base_world(1, 32, 122).rules
    assert len(rules.in_force) == 15 == len(RULE_IDS) == len(BY_WEIGHT)
    assert rules.enforced == set(ENFORCEABLE[:7])
    few = base_world(1, 32, 122, in_force=3).rules
    assert set(rule_texts(few)) == {"R3", "R4", "R1"}
    words = {
        style: sum(map(len, rule_texts(rules, style).values()))
        for style in ("terse", "plain", "verbose")
    }
    assert words["terse"] < words["plain"] < words["verbose"]
