"""The gold check on worked examples: state zones, told facts, refusals."""

from typing import Any

import msgspec
import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.check.check import evaluate
from synth.envs.storefront.self_play import at_once
from synth.envs.storefront.tools.transcript import Exchange
from synth.envs.storefront.world.world import base_world
from synth.schemas.canonical import canonical_json
from synth.schemas.check import Check, Refusal, RowPredicate, Tell
from synth.schemas.environment import AgentTurn
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, ToolCall
from tests.envs.storefront.playing import Episode, call, expert_episode

BASE = base_world(5, 32, 122)
ORDER, OTHER = sorted(BASE.tables["orders"])[:2]
CANCELLED = RowPredicate("orders", {"id": ORDER, "status": "gone"})


def verdict(check: Check, changed: dict[str, Any], *exchanges: Exchange) -> list[str]:
    """Names of the parts that failed."""
    return [
        part.name
        for part in evaluate(check, BASE, changed, exchanges).parts
        if part.passed is False
    ]


def seen(tool: str, content: str, arguments: str = "{}") -> Exchange:
    return Exchange(
        AgentTurn(tool_calls=(ToolCall("c", tool, arguments),)),
        (Observation(content, call_id="c", name=tool),),
    )


def told(about: str = ORDER, **facts: Any) -> Exchange:
    return seen("tell_customer", "{}", canonical_json({"about": about, **facts}).decode())


def test_a_required_row_must_hold_and_nothing_else_may_change() -> None:
    check = Check(required=(CANCELLED,), free=("notes/*/*",))
    done = {f"orders/{ORDER}/status": "gone"}
    assert verdict(check, {}) == ["state"]
    assert verdict(check, done) == []
    assert verdict(check, {**done, "notes/N-1/text": "hello"}) == []
    assert verdict(check, {**done, f"orders/{OTHER}/status": "gone"}) == ["state"]
    assert verdict(check, {**done, f"orders/{ORDER}/address_id": "A-1"}) == ["state"]


def test_a_created_row_counts_once_and_its_generated_columns_are_covered() -> None:
    check = Check(required=(RowPredicate("refunds", {"order_id": ORDER, "amount_cents": 500}),))
    one = {"refunds/a/order_id": ORDER, "refunds/a/amount_cents": 500, "refunds/a/generated": "x"}
    two = {"refunds/b/order_id": ORDER, "refunds/b/amount_cents": 500}
    assert verdict(check, one) == []
    assert verdict(check, {**one, **two}) == ["state"]


def test_a_fact_counts_when_told_after_it_was_seen() -> None:
    check = Check(told=(Tell("money", 12950, ORDER),))
    quote = seen("quote_refund", f'{{"order_id":"{ORDER}","refund":129.5}}')
    assert verdict(check, {}, quote, told(refund=129.5)) == []
    assert verdict(check, {}, told(refund=129.5), quote) == ["told"]
    assert verdict(check, {}, told(refund=129.5)) == ["told"]
    assert verdict(check, {}, quote) == ["told"]
    assert verdict(check, {}, quote, told(OTHER, refund=129.5)) == ["told"]
    of_other = seen("quote_refund", f'{{"order_id":"{OTHER}","refund":129.5}}')
    assert verdict(check, {}, of_other, told(refund=129.5)) == ["told"]


def test_free_text_tells_nothing_and_takes_nothing_back() -> None:
    check = Check(told=(Tell("money", 12950, ORDER),))
    quote = seen("quote_refund", f'{{"order_id":"{ORDER}","refund":129.5}}')
    right = Exchange(AgentTurn(f"For order {ORDER} you get $129.50."), ())
    wrong = Exchange(AgentTurn(f"Sorry, for order {ORDER} you get $1.00 and not $129.50."), ())
    assert verdict(check, {}, quote, right) == ["told"]
    assert verdict(check, {}, quote, told(refund=129.5), right) == []
    assert verdict(check, {}, quote, told(refund=129.5), wrong) == ["truth"]
    at_odds = told(refund=129.5, message="It is $1.00, or $2.00.")
    assert verdict(check, {}, quote, at_odds) == ["truth"]


def test_what_was_told_last_of_a_kind_of_fact_counts() -> None:
    check = Check(told=(Tell("status", "in_transit", ORDER), Tell("money", 300, ORDER)))
    look = seen("track_shipment", f'{{"order_id":"{ORDER}","status":"in_transit","left":3.0}}')
    both = told(parcel_status="in_transit", refund=3)
    assert verdict(check, {}, look, both) == []
    assert verdict(check, {}, look, both, told(order_status="shipped", total=80.5)) == []
    assert verdict(check, {}, look, both, told(parcel_status="delayed")) == ["told"]
    assert verdict(check, {}, look, both, told(refund=4)) == ["told"]
    assert verdict(check, {}, look, told(refund=4), both) == []
    assert verdict(check, {}, look, told(total=3, order_status="in_transit")) == []


def test_many_values_of_the_same_thing_and_many_facts_are_a_guess() -> None:
    check = Check(told=(Tell("money", 300, ORDER),))
    quote = seen("quote_refund", f'{{"order_id":"{ORDER}","refund":3}}')
    four = [told(price=1), told(total=2), told(former_price=4), told(refund=3)]
    assert verdict(check, {}, quote, *four) == []
    assert verdict(check, {}, quote, told(price=5), *four) == ["told"]
    others = [told(OTHER, arrival=f"2026-05-0{day}") for day in range(1, 7)]
    assert verdict(check, {}, quote, told(refund=3), *others[:5]) == []
    assert verdict(check, {}, quote, told(refund=3), *others) == ["told"]


def test_a_part_s_score_is_the_share_of_what_holds() -> None:
    check = Check(
        required=(CANCELLED, RowPredicate("orders", {"id": OTHER, "status": "gone"})),
        told=(Tell("money", 12950, ORDER), Tell("money", 700, OTHER)),
        refusals=(Refusal("1", "R4", ORDER), Refusal("2", "R4", ORDER)),
        process=("R1", "R2", "R3", "R4"),
    )
    quote = seen("quote_refund", f'{{"order_id":"{ORDER}","refund":129.5}}')
    look = seen("get_order", f'{{"order_id":"{ORDER}"}}', f'{{"order_id":"{ORDER}"}}')
    denial = seen("deny", "{}", '{"request":2,"rule_id":"R4","message":"no"}')
    half = evaluate(
        check,
        BASE,
        {f"orders/{ORDER}/status": "gone"},
        (quote, look, told(refund=129.5), denial),
    )
    assert {part.name: part.score for part in half.parts} == {
        "state": 0.5,
        "told": 0.5,
        "refusals": 0.5,
        "process": 0.75,
        "truth": 1,
    }
    nothing = evaluate(check, BASE, {f"orders/{ORDER}/status": "lost"}, ())
    assert [part.score for part in nothing.parts] == [0, 0, 0, 1, 1]
    done = {f"orders/{key}/status": "gone" for key in (ORDER, OTHER)}
    assert evaluate(check, BASE, done, ()).parts[0].score == 1
    assert evaluate(check, BASE, {**done, f"orders/{OTHER}/address_id": "A-1"}, ()).parts[
        0
    ].score == pytest.approx(2 / 3)


def test_a_denial_counts_with_the_right_rule_after_the_look_up() -> None:
    check = Check(refusals=(Refusal("2", "R4", ORDER),))
    look = seen("get_order", f'{{"order_id":"{ORDER}"}}')
    denial, other_rule = (
        seen("deny", "{}", f'{{"request":2,"rule_id":"{rule}","message":"no"}}')
        for rule in ("R4", "R3")
    )
    assert verdict(check, {}, look, denial) == []
    assert verdict(check, {}, denial, look) == ["refusals"]
    assert verdict(check, {}, look, other_rule) == ["refusals"]
    assert verdict(check, {}, look, denial, other_rule) == ["refusals"]
    assert verdict(check, {f"orders/{ORDER}/status": "gone"}, look, denial) == ["state"]


def test_a_failed_call_is_neither_evidence_nor_denial() -> None:
    check = Check(refusals=(Refusal("2", "R4", ORDER),))
    look, denial = (
        seen("get_order", f'{{"order_id":"{ORDER}"}}'),
        seen("deny", "{}", '{"request":2,"rule_id":"R4","message":"no"}'),
    )
    failed = [
        Exchange(e.turn, (msgspec.structs.replace(e.observations[0], error=True),))
        for e in (look, denial)
    ]
    assert verdict(check, {}, failed[0], denial) == ["refusals"]
    assert verdict(check, {}, look, failed[1]) == ["refusals"]


@pytest.mark.slow
def test_the_verdict_from_stored_facts_and_transcript_is_the_one_of_the_episode() -> None:
    async def both(task: Task, profile: str, seed: int) -> tuple[Any, Any]:
        episode = await expert_episode(task, profile, seed)
        result = await episode.env.check()
        other_world = WORLD.open({"world_seed": 99})
        return result, await other_world.recheck(task, episode.trajectory(result))

    verdicts = [
        at_once(both(task, "mixed", at)) for at, task in enumerate(WORLD.make_tasks({}, 41, 80))
    ]
    assert all(once == again for once, again in verdicts)
    assert {once.passed for once, _ in verdicts} == {True, False}


def writes_of(episode: Episode) -> list[int]:
    names = {
        "cancel_order",
        "change_address",
        "modify_lines",
        "create_return",
        "issue_refund",
        "apply_coupon",
        "escalate",
    }
    return [
        at
        for at, (turn, response) in enumerate(zip(episode.turns, episode.responses, strict=True))
        if any(
            c.name in names and not o.error
            for c, o in zip(turn.tool_calls, response.observations, strict=False)
        )
    ]


@pytest.mark.slow
def test_an_episode_with_one_write_left_out_or_one_write_too_many_fails() -> None:
    async def play(task: Task) -> list[bool]:
        gold = await expert_episode(task)
        outcomes = []
        for left_out in writes_of(gold):
            env = gold.env
            await env.reset(task)
            for at, turn in enumerate(gold.turns):
                if at != left_out:
                    await env.step(turn)
            outcomes.append((await env.check()).passed)
        env = gold.env
        await env.reset(task)
        touched = {c.parsed().get("order_id") for turn in gold.turns for c in turn.tool_calls}
        facts = await env.facts()
        pending = sorted(
            p.split("/")[1] for p, v in facts.items() if p.startswith("orders/") and v == "pending"
        )
        spare = next(order_id for order_id in pending if order_id not in touched)
        cancel = call("cancel_order", order_id=spare, reason="other")
        for turn in [cancel, cancel, *gold.turns]:
            await env.step(turn)
        return [*outcomes, (await env.check()).passed]

    mutants = [passed for task in WORLD.make_tasks({}, 42, 60) for passed in at_once(play(task))]
    assert len(mutants) > 100
    assert not any(mutants)


@pytest.mark.slow
def test_returning_two_lines_with_two_slips_is_as_good_as_with_one() -> None:
    task = next(
        t
        for t in WORLD.make_tasks({"operations": [1, 1], "mix": {"refused": 0}}, 43, 400)
        if "return everything" in t.goal
    )

    async def play() -> tuple[int, bool]:
        gold = await expert_episode(task)
        await gold.env.reset(task)
        for turn in gold.turns:
            made = turn.tool_calls[0]
            arguments = made.parsed()
            parts = [turn]
            if made.name == "create_return":
                parts = [
                    call("create_return", **{**arguments, "lines": [n]}) for n in arguments["lines"]
                ]
            elif arguments.get("write") == "create_return":
                asked = arguments["arguments"]
                parts = [
                    call(made.name, **{**arguments, "arguments": {**asked, "lines": [n]}})
                    for n in asked["lines"]
                ]
            for part in parts:
                await gold.env.step(part)
        return len(gold.turns), (await gold.env.check()).passed

    assert at_once(play())[1]
