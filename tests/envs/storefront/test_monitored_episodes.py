"""Amounts, denials and reads are labelled by what the agent had seen; the monitor over whole
episodes.
"""

import ast
from pathlib import Path
from typing import Any

import pytest

from benchmarks.truth.monitor import truth_of
from synth.envs.storefront import WORLD
from synth.envs.storefront.customer.script import Request, Script
from synth.envs.storefront.self_play import at_once
from synth.envs.storefront.tools.transcript import Exchange
from synth.envs.storefront.world.config import validated
from synth.envs.storefront.world.world import world_of
from synth.ledger.tables import TABLES
from synth.schemas.check import Refusal
from synth.schemas.errors import SynthError
from synth.schemas.task import Task
from tests.envs.storefront.monitored import (
    CANCEL,
    FIRST,
    LINES,
    OWNER,
    SECOND,
    WHICH,
    labels,
    listed,
    read,
    writes,
)
from tests.envs.storefront.playing import call, expert_episode, started
from tests.envs.storefront.transcripts import BASE, called, orders, said, together, verified

ROOT = Path(__file__).resolve().parents[3]


def reads(*exchanges: Exchange, prompt: str = "") -> list[str]:
    return [found.label for found in labels(*exchanges, prompt=prompt)[2]]


def test_an_amount_must_be_shown_or_follow_from_what_was_shown() -> None:
    order_id = next(key for key in orders(status="delivered") if len(BASE.lines_of[key]) > 1)
    lines = [LINES[key] for key in BASE.lines_of[order_id]]
    percent = BASE.tables["orders"][order_id]["discount_percent"]
    worth = (
        (lines[0]["unit_price_cents"] * lines[0]["quantity"] * (100 - percent) + 50) // 100 / 100
    )
    script = Script(
        name="nobody", requests=(Request(1, "return", "Take it back.", order_id=order_id),)
    )
    refund = called("issue_refund", order_id=order_id, amount=worth, to="store_credit")
    invented = called("issue_refund", order_id=order_id, amount=worth + 0.01, to="store_credit")
    given: dict[str, Any] = {"script": script, "opening": f"Order {order_id}."}
    assert writes(read(order_id), refund, **given) == [("justified", "", 1)]
    assert writes(
        called("quote_refund", {"order_id": order_id, "lines": [1], "refund": worth}),
        refund,
        **given,
    ) == [("justified", "", 1)]
    assert (
        writes(refund, **given)[0][0]
        == writes(read(order_id), invented, **given)[0][0]
        == "unjustified_argument"
    )


def test_a_denial_is_grounded_by_a_look_at_what_forbids_the_request() -> None:
    refusals = (Refusal("1", "R4", FIRST),)
    denial, wrong = (
        called("deny", request=1, rule_id=rule, message="No.") for rule in ("R4", "R8")
    )
    tier = called("get_customer", {"customer_id": OWNER, "tier": "gold"}, customer_id=OWNER)

    def grounded(*exchanges: Exchange) -> list[bool]:
        return [found.grounded for found in labels(*exchanges, refusals=refusals)[1]]

    assert grounded(read(FIRST), tier, denial, wrong) == [True, False]
    assert (
        grounded(denial, read(FIRST), tier)
        == grounded(read(FIRST), denial)
        == grounded(tier, denial)
        == [False]
    )
    assert grounded(tier, together(read(FIRST), denial)) == [False]


def test_a_read_is_novel_or_redundant_or_forced_by_a_write_or_by_the_shop() -> None:
    assert reads(read(FIRST), read(SECOND), read(FIRST)) == ["novel", "novel", "redundant"]
    assert reads(listed(FIRST), read(FIRST), listed(FIRST)) == ["novel", "novel", "redundant"]
    assert reads(read(FIRST), CANCEL, read(FIRST), read(FIRST)) == [
        "novel",
        "forced_reread",
        "redundant",
    ]
    assert reads(
        read(FIRST), called("cancel_order", order_id=FIRST, reason="other", error=True), read(FIRST)
    ) == ["novel", "forced_reread"]
    assert reads(read(FIRST), read(FIRST, status="shipped")) == ["novel", "forced_reread"]
    assert reads(*verified(OWNER), verified(OWNER)[1]) == ["novel", "novel", "redundant"]


def test_the_policy_is_read_again_for_nothing_where_it_stands_in_the_prompt() -> None:
    policy = called("get_policy", {"topic": "returns", "text": "R4: thirty days."}, topic="returns")
    assert reads(policy, prompt="Policy:\nR4: thirty days.") == ["redundant"]
    assert reads(policy, policy) == ["novel", "redundant"]


@pytest.mark.slow
def test_the_expert_is_never_lucky_and_every_label_is_clean() -> None:
    async def faults(at: int, task: Task) -> list[str]:
        episode = await expert_episode(task, None, at)
        truth = await truth_of(task, episode.trajectory(await episode.env.check()))
        found = [f"{task.task_id} {write}" for write in truth.writes if write.label != "justified"]
        found += [f"{task.task_id} {denial}" for denial in truth.denials if not denial.grounded]
        return found + (
            [] if truth.passed and not truth.lucky else [f"{task.task_id} lucky or failed"]
        )

    assert [
        fault
        for at, task in enumerate(WORLD.make_tasks({}, 71, 80))
        for fault in at_once(faults(at, task))
    ] == []


@pytest.mark.slow
def test_an_episode_that_passes_by_a_guess_is_lucky() -> None:
    async def outcomes(at: int, task: Task) -> tuple[bool, bool]:
        episode = await expert_episode(task, "first_match", at)
        truth = await truth_of(task, episode.trajectory(await episode.env.check()))
        return truth.passed, truth.lucky

    played = [at_once(outcomes(at, task)) for at, task in enumerate(WORLD.make_tasks({}, 72, 80))]
    assert {(True, False), (True, True), (False, False)} <= set(played)
    assert (False, True) not in played


def test_a_trajectory_of_another_world_is_refused() -> None:
    async def play() -> None:
        task, _, other = WORLD.make_tasks({"tasks_per_world": 1}, 73, 3)
        episode = await started(task)
        await episode.act(call("get_customer", customer_id=next(iter(world_customers(task)))))
        await truth_of(other, episode.trajectory(None))

    with pytest.raises(SynthError, match="turn 0: the world answers otherwise"):
        at_once(play())


def world_customers(task: Task) -> list[str]:
    return sorted(world_of(validated(task.env_config)).tables["customers"])


@pytest.mark.slow
def test_no_stage_filter_or_synthesizer_can_see_the_truth() -> None:
    seers = []
    for layer in ("schemas", "synth", "envs", "filters", "synthesizers", "flows"):
        for path in (ROOT / layer).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            named = {
                node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
            }
            named |= {
                alias.name
                for node in ast.walk(tree)
                if isinstance(node, ast.Import)
                for alias in node.names
            }
            seers += [
                str(path.relative_to(ROOT))
                for name in named
                if name.partition(".")[0] == "benchmarks"
            ]
    assert seers == []
    assert not [name for name in TABLES if "truth" in name]


def test_a_guess_by_plain_words_is_labelled_as_one_by_tool() -> None:
    plain = said("Why do you want to cancel?", "I changed my mind.")
    assert writes(listed(FIRST, SECOND), WHICH, plain, CANCEL) == [("justified", "", 1)]
