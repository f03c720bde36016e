"""Each rule's automaton alone, on transcripts written by hand."""

import asyncio

import pytest

from envs.storefront import WORLD
from envs.storefront.check import evaluate
from envs.storefront.customer import YES
from envs.storefront.process import AUTOMATA, PROCESS
from schemas.check import Check
from schemas.task import Task
from tests.envs.storefront.playing import call, expert_episode
from tests.envs.storefront.transcripts import BASE, broken, called, orders, said, together, verified

PENDING, OTHER_PENDING = orders(status="pending")[:2]
OWNER = BASE.tables["orders"][PENDING]["customer_id"]
DELIVERED = orders(status="delivered")[0]
CANCEL = called("cancel_order", order_id=PENDING, reason="other")


def asked(message: str, heard: str = YES) -> object:
    return called("ask_customer", field="confirmation", message=message, heard=heard)


def test_r1_orders_are_read_after_two_factors_of_their_owner() -> None:
    read, listed = called("get_order", order_id=PENDING), called("list_orders", customer_id=OWNER)
    assert broken("R1", *verified(OWNER), read, listed, CANCEL) == []
    assert broken("R1", *verified(OWNER)[:1], read, listed) == [1, 2]
    assert broken("R1", read, *verified(OWNER)) == [0]
    assert broken("R1", *verified("C-1"), read) == [2]
    assert broken("R1", called("get_customer", customer_id=OWNER)) == []


def test_r1_a_read_that_failed_showed_nothing() -> None:
    assert broken("R1", called("get_order", order_id=PENDING, error=True)) == []


def test_r1_the_recipient_of_a_gift_may_be_the_one_who_is_verified() -> None:
    gift = next((key for key, row in BASE.tables["orders"].items() if row.get("recipient_id")), None)
    if gift is None:
        pytest.skip("no gift in this world")
    assert broken("R1", *verified(BASE.tables["orders"][gift]["recipient_id"]), called("get_order", order_id=gift)) == []


def test_r2_money_moves_after_a_yes_that_was_heard_in_an_earlier_turn() -> None:
    question = asked(f"I am going to cancel order {PENDING}. Shall I go ahead?")
    assert broken("R2", question, CANCEL) == []
    assert broken("R2", CANCEL, question) == [0]
    assert broken("R2", together(question, CANCEL)) == [0]
    assert broken("R2", asked(f"Shall I cancel {PENDING}?", heard="No, leave it."), CANCEL) == [1]
    assert broken("R2", said(f"Shall I cancel {PENDING}?", YES), CANCEL) == []


def test_r2_a_yes_holds_for_the_orders_that_the_question_named_or_for_one_where_it_named_none() -> None:
    other = called("cancel_order", order_id=OTHER_PENDING, reason="other")
    assert broken("R2", asked(f"Shall I cancel {PENDING}?"), other) == [1]
    assert broken("R2", asked(f"Shall I cancel {PENDING} and {OTHER_PENDING}?"), CANCEL, other) == []
    assert broken("R2", asked("Shall I go ahead?"), CANCEL, other) == [2]
    back = [called("create_return", order_id=DELIVERED, lines=[1], method="mail"), called("issue_refund", order_id=DELIVERED, amount=1)]
    assert broken("R2", asked("Shall I open the return?"), *back) == []


def test_r2_an_address_moves_no_money() -> None:
    assert broken("R2", called("change_address", order_id=PENDING, address_id="A-1")) == []


def test_r6_refunds_of_an_order_add_up_to_the_limit_at_most() -> None:
    limit = BASE.rules.refund_limit_cents / 100
    half, rest = (called("issue_refund", order_id=DELIVERED, amount=amount, to="store_credit") for amount in (limit / 2, limit / 2 + 0.01))
    assert broken("R6", half, half) == []
    assert broken("R6", half, rest) == [1]


def test_r4_and_r8_returns_are_opened_within_the_window_and_not_of_final_sales() -> None:
    def category(key: str) -> str:
        sku = BASE.tables["lines"][f"{key}.1"]["sku"]
        return str(BASE.tables["products"][BASE.tables["variants"][sku]["product_id"]]["category"])

    oldest, newest = (pick(orders(status="delivered"), key=lambda key: BASE.tables["orders"][key]["delivered"]) for pick in (min, max))
    final = next(key for key in orders(status="delivered") if category(key) in BASE.rules.final_sale)
    plain = next(key for key in orders(status="delivered") if category(key) not in BASE.rules.final_sale)
    back = {key: called("create_return", order_id=key, lines=[1], method="mail") for key in (oldest, newest, final, plain)}
    assert (broken("R4", back[oldest]), broken("R4", back[newest])) == ([0], [])
    assert (broken("R8", back[final]), broken("R8", back[plain])) == ([0], [])


def test_r10_a_message_holds_no_private_value_of_another_customer() -> None:
    customers = BASE.tables["customers"]
    me, other = customers[OWNER], next(row for key, row in customers.items() if row["name"] != customers[OWNER]["name"])
    foreign = next(key for key in orders() if BASE.tables["orders"][key]["customer_id"] != OWNER)
    for value in (other["email"], other["phone"], foreign):
        assert broken("R10", said(f"It is {value}."), speaker=me["name"]) == [0]
        assert broken("R10", said(f"It is {value}."), speaker=me["name"], opening=f"Whose is {value}?") == []
    assert broken("R10", said(f"It is {me['email']}, {me['phone']}, order {PENDING}."), speaker=me["name"]) == []


def test_a_denial_about_an_order_follows_a_look_up_in_an_earlier_turn() -> None:
    look = called("get_order", order_id=PENDING)
    late, unknown = (called("deny", request=1, rule_id=rule, message="No.") for rule in ("R4", "R1"))
    assert broken("look_up", look, late) == []
    assert broken("look_up", late, look) == [0]
    assert broken("look_up", together(look, late)) == [0]
    assert broken("look_up", unknown) == []


def test_a_rule_without_an_automaton_counts_as_broken() -> None:
    assert "R99" not in AUTOMATA
    assert broken("R99") == [0]


def test_a_breach_fails_an_episode_whose_state_holds_and_names_rule_and_turn() -> None:
    exchanges = (called("get_order", order_id=PENDING),)
    verdict = evaluate(Check(process=PROCESS), BASE, {}, exchanges)
    assert not verdict.passed
    assert [(part.name, part.passed) for part in verdict.parts] == [
        ("state", True), ("told", True), ("refusals", True), ("process", False),
    ]  # fmt: skip
    assert verdict.parts[-1].evidence == (f"R1 in turn 0: get_order for {OWNER} with 0 of 2 factors verified",)
    assert evaluate(Check(process=PROCESS), BASE, {}, exchanges, outcome_only=True).passed


def test_every_made_task_asks_for_every_automaton() -> None:
    assert {task.check.process for task in WORLD.make_tasks({}, 3, 20) if task.check is not None} == {PROCESS}


def test_in_a_world_of_outcomes_only_a_breach_is_reported_and_does_not_decide() -> None:
    async def play(task: Task) -> tuple[bool, bool]:
        episode = await expert_episode(task)
        strict, loose = WORLD.open({}), WORLD.open({"outcome_only": True})
        verdicts = []
        for env in (strict, loose):
            await env.reset(task)
            for turn in (call("list_orders", customer_id=OWNER), *episode.turns):
                await env.step(turn)
            verdict = await env.check()
            assert not verdict.parts[-1].passed
            verdicts.append(verdict.passed)
            await env.close()
        return verdicts[0], verdicts[1]

    task = next(t for t in WORLD.make_tasks({"world_seed": 5}, 3, 40) if t.difficulty["operations"] == 1)
    assert asyncio.run(play(task)) == (False, True)


def test_a_transcript_of_another_maker_breaks_no_automaton() -> None:
    strange = [
        called("issue_refund", order_id=DELIVERED, amount="much"),
        called("create_return", order_id=DELIVERED, lines=3),
        called("verify_identity", {"customer_id": OWNER, "verified": 2}),
        called("deny"),
        called("ask_customer", heard=YES),
        said("", "Hello?"),
    ]
    assert [part.name for part in evaluate(Check(process=PROCESS), BASE, {}, strange).parts if not part.passed] == ["process"]
