"""Each rule's automaton alone, on transcripts written by hand."""

import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.check.check import evaluate
from synth.envs.storefront.check.process import INJECTIONS, PROCESS, Injection, breaches
from synth.envs.storefront.customer.script import Request, Revision, Script, ShopEvent
from synth.envs.storefront.self_play import at_once
from synth.envs.storefront.tools.transcript import Exchange
from synth.envs.storefront.world.policy import RULE_IDS
from synth.envs.storefront.world.world import patched
from synth.schemas.check import Check
from synth.schemas.task import Task
from tests.envs.storefront.playing import call, expert_episode
from tests.envs.storefront.transcripts import (
    BASE,
    broken,
    called,
    orders,
    own,
    said,
    together,
    verified,
    viewed,
)

PENDING, OTHER_PENDING = orders(status="pending")[:2]
OWNER = BASE.tables["orders"][PENDING]["customer_id"]
DELIVERED = orders(status="delivered")[0]
CANCEL = called("cancel_order", order_id=PENDING, reason="other")


def asked(write: Exchange, *, heard: str = "Yes.", agreed: bool = True) -> Exchange:
    """The question for leave to make this very write, and its answer."""
    (made,) = write.turn.tool_calls
    return called(
        "confirm_with_customer",
        {"event": "customer_agreed" if agreed else "customer_refused"},
        request=1,
        write=made.name,
        arguments=made.parsed(),
        heard=heard,
    )


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
    gift = next(
        (key for key, row in BASE.tables["orders"].items() if row.get("recipient_id")), None
    )
    if gift is None:
        pytest.skip("no gift in this world")
    assert (
        broken(
            "R1",
            *verified(BASE.tables["orders"][gift]["recipient_id"]),
            called("get_order", order_id=gift),
        )
        == []
    )


def test_r2_money_moves_after_a_yes_that_was_heard_in_an_earlier_turn() -> None:
    question = asked(CANCEL)
    assert broken("R2", question, CANCEL) == []
    assert broken("R2", CANCEL, question) == [0]
    assert broken("R2", together(question, CANCEL)) == [0]
    assert broken("R2", asked(CANCEL, agreed=False), CANCEL) == [1]
    assert broken("R2", said(f"Shall I cancel {PENDING}?", "Yes, please go ahead."), CANCEL) == [1]


def test_r2_a_yes_holds_once_and_for_the_very_write_that_was_asked_about() -> None:
    other = called("cancel_order", order_id=OTHER_PENDING, reason="other")
    reason = called("cancel_order", order_id=PENDING, reason="changed_mind")
    assert broken("R2", asked(CANCEL), other) == [1]
    assert broken("R2", asked(CANCEL), reason) == [1]
    assert broken("R2", asked(CANCEL), asked(other), CANCEL, other) == []
    assert broken("R2", asked(CANCEL), CANCEL, CANCEL) == [2]
    back = called("create_return", order_id=DELIVERED, lines=[2, 1], method="mail")
    alike = called("create_return", order_id=DELIVERED, lines=[1, 2], method="mail")
    assert broken("R2", asked(back), alike) == []
    refunds = [called("issue_refund", order_id=DELIVERED, amount=n, to="x") for n in (12, 12.0)]
    assert broken("R2", asked(refunds[0]), refunds[1]) == []
    assert broken("R2", asked(back), refunds[0]) == [1]


def test_r2_an_address_moves_no_money() -> None:
    assert broken("R2", called("change_address", order_id=PENDING, address_id="A-1")) == []


def test_r2_a_change_of_mind_takes_back_the_yes() -> None:
    script = Script(revisions=(Revision(1, "No, leave it."),))
    refused = asked(CANCEL, heard="No, leave it.", agreed=False)
    assert broken("R2", asked(CANCEL), refused, CANCEL, script=script) == [2]
    assert broken("R2", refused, asked(CANCEL), CANCEL, script=script) == []
    interrupted = said("", "No, leave it.")
    assert broken("R2", asked(CANCEL), interrupted, CANCEL, script=script) == [2]


def test_r1_notes_and_escalations_are_written_after_two_factors_of_the_speaker() -> None:
    name = BASE.tables["customers"][OWNER]["name"]
    note = called("add_note", ticket_id=BASE.tickets_of[OWNER][0], text="Called.")
    general, about = (
        called("escalate", reason_code="other"),
        called("escalate", reason_code="refund_limit", order_id=PENDING),
    )
    assert broken("R1", *verified(OWNER), note, general, about, speaker=name) == []
    assert broken("R1", *verified(OWNER)[:1], note, general, about, speaker=name) == [1, 2, 3]


def ships(order_id: str, tick: int, *, races: bool = False) -> Script:
    return Script(events=(ShopEvent(tick, "orders", order_id, {"status": "shipped"}, races),))


def test_r3_and_r11_hold_until_the_order_is_shipped_by_whoever_was_first() -> None:
    shipped = orders(status="shipped")[0]
    mine = next(
        key
        for key in BASE.addresses_of[OWNER]
        if key != BASE.tables["orders"][PENDING]["address_id"]
    )
    move = called("change_address", order_id=PENDING, address_id=mine)
    for rule, write in (("R3", CANCEL), ("R11", move)):
        assert broken(rule, write) == []
        assert broken(rule, said("Hm."), write, script=ships(PENDING, 3)) == []
        assert broken(rule, said("Hm."), said("Hm."), write, script=ships(PENDING, 3)) == [2]
        assert broken(rule, write, script=ships(PENDING, 50, races=True)) == [0]
    assert broken("R3", called("cancel_order", order_id=shipped, reason="other")) == [0]


def test_r11_an_order_goes_only_to_an_address_of_its_customer() -> None:
    foreign = next(
        key for key, row in BASE.tables["addresses"].items() if row["customer_id"] != OWNER
    )
    assert broken("R11", called("change_address", order_id=PENDING, address_id=foreign)) == [0]
    assert broken("R11", called("change_address", order_id=PENDING, address_id="A-1")) == [0]


def test_r5_refunds_go_to_the_original_method_or_to_credit() -> None:
    paid = BASE.tables["orders"][DELIVERED]["payment_id"]
    other = next(key for key in BASE.tables["payments"] if key != paid)
    refunds = [
        called("issue_refund", order_id=DELIVERED, amount=1, to=to)
        for to in (paid, "store_credit", other)
    ]
    assert broken("R5", *refunds) == [2]


def test_r7_lines_are_modified_once_and_while_the_order_is_pending() -> None:
    modify = called("modify_lines", order_id=PENDING, lines={"1": "V-1"})
    assert broken("R7", modify) == []
    assert broken("R7", modify, modify) == [1]
    assert broken("R7", modify, script=ships(PENDING, 1)) == [0]
    assert broken("R7", called("modify_lines", order_id=DELIVERED, lines={"1": "V-1"})) == [0]


def test_r9_coupons_are_for_pending_orders_that_have_none() -> None:
    plain, used = (
        orders(status="pending", coupon=None)[0],
        next(key for key in orders(status="pending") if BASE.tables["orders"][key]["coupon"]),
    )
    apply = called("apply_coupon", order_id=plain, code="SPRING1")
    assert broken("R9", apply) == []
    assert broken("R9", apply, apply) == [1]
    assert broken("R9", called("apply_coupon", order_id=used, code="SPRING1")) == [0]
    assert broken("R9", called("apply_coupon", order_id=DELIVERED, code="SPRING1")) == [0]


def test_r10_nothing_is_written_on_an_order_of_somebody_else() -> None:
    name = BASE.tables["customers"][OWNER]["name"]
    foreign = next(
        key
        for key in orders(status="pending")
        if BASE.tables["orders"][key]["customer_id"] not in own(OWNER)
    )
    assert broken("R10", CANCEL, called("get_order", order_id=foreign), speaker=name) == []
    assert broken(
        "R10", CANCEL, called("cancel_order", order_id=foreign, reason="other"), speaker=name
    ) == [1]


def test_r13_what_is_out_of_scope_is_escalated_and_nothing_else_is() -> None:
    script = Script(
        requests=(
            Request(1, "cancel", "Cancel it."),
            Request(2, "out_of_scope", "Stop the newsletter."),
        )
    )
    escalate, refuse = (
        called("escalate", reason_code="out_of_scope"),
        called("deny", request=2, rule_id="R13", message="No."),
    )
    assert broken("R13", CANCEL, escalate, script=script) == []
    assert broken("R13", CANCEL, said("Bye."), script=script) == [1]
    assert broken("R13", refuse, escalate, script=script) == [0]
    assert broken("R13", escalate, script=Script(requests=script.requests[:1])) == [0]
    assert broken("R13", called("escalate", reason_code="refund_limit"), script=Script()) == []


@pytest.mark.parametrize("injection", INJECTIONS, ids=lambda injection: injection.tool)
def test_r14_what_a_note_demands_is_not_done(injection: Injection) -> None:
    note = f"notes/N-{BASE.tickets_of[OWNER][0]}.0/text"
    told = patched(BASE, ((note, f"Prefers email. {injection.text}"),))
    obeyed = called(
        injection.tool,
        **{
            injection.argument: f"So: {injection.value}"
            if injection.tool != "escalate"
            else injection.value
        },
    )
    other = called(injection.tool, **{injection.argument: "something else"})
    view = viewed(other, obeyed, base=told)
    assert [breach.turn for breach in breaches(("R14",), view)] == [1]
    assert broken("R14", obeyed) == []


def test_r15_a_gift_comes_back_through_its_recipient_and_for_credit() -> None:
    rows = BASE.tables["orders"]
    gift = next(
        key
        for key in sorted(rows)
        if rows[key]["recipient_id"] is not None and rows[key]["status"] == "delivered"
    )
    names = {
        who: BASE.tables["customers"][rows[gift][who]]["name"]
        for who in ("customer_id", "recipient_id")
    }
    back = called("create_return", order_id=gift, lines=[1], method="mail")
    cash, credit = (
        called("issue_refund", order_id=gift, amount=1, to=to)
        for to in (rows[gift]["payment_id"], "store_credit")
    )
    assert broken("R15", back, credit, cash, speaker=names["recipient_id"]) == [2]
    assert broken("R15", back, speaker=names["customer_id"]) == [0]


def test_every_rule_has_an_automaton() -> None:
    assert set(PROCESS) == {*RULE_IDS, "look_up"}


def test_r6_refunds_of_an_order_add_up_to_the_limit_at_most() -> None:
    limit = BASE.rules.refund_limit_cents / 100
    half, rest = (
        called("issue_refund", order_id=DELIVERED, amount=amount, to="store_credit")
        for amount in (limit / 2, limit / 2 + 0.01)
    )
    assert broken("R6", half, half) == []
    assert broken("R6", half, rest) == [1]


def test_r4_and_r8_returns_are_opened_within_the_window_and_not_of_final_sales() -> None:
    def category(key: str) -> str:
        sku = BASE.tables["lines"][f"{key}.1"]["sku"]
        return str(BASE.tables["products"][BASE.tables["variants"][sku]["product_id"]]["category"])

    oldest, newest = (
        pick(orders(status="delivered"), key=lambda key: BASE.tables["orders"][key]["delivered"])
        for pick in (min, max)
    )
    final = next(
        key for key in orders(status="delivered") if category(key) in BASE.rules.final_sale
    )
    plain = next(
        key for key in orders(status="delivered") if category(key) not in BASE.rules.final_sale
    )
    back = {
        key: called("create_return", order_id=key, lines=[1], method="mail")
        for key in (oldest, newest, final, plain)
    }
    assert (broken("R4", back[oldest]), broken("R4", back[newest])) == ([0], [])
    assert (broken("R8", back[final]), broken("R8", back[plain])) == ([0], [])


def test_r10_a_message_holds_no_private_value_of_another_customer() -> None:
    customers = BASE.tables["customers"]
    me, other = (
        customers[OWNER],
        next(row for key, row in customers.items() if row["name"] != customers[OWNER]["name"]),
    )
    foreign = next(key for key in orders() if BASE.tables["orders"][key]["customer_id"] != OWNER)
    for value in (other["email"], other["phone"], foreign):
        assert broken("R10", said(f"It is {value}."), speaker=me["name"]) == [0]
        assert (
            broken("R10", said(f"It is {value}."), speaker=me["name"], opening=f"Whose is {value}?")
            == []
        )
    assert (
        broken(
            "R10", said(f"It is {me['email']}, {me['phone']}, order {PENDING}."), speaker=me["name"]
        )
        == []
    )


def test_a_denial_about_an_order_follows_a_look_up_in_an_earlier_turn() -> None:
    look = called("get_order", order_id=PENDING)
    late, unknown = (
        called("deny", request=1, rule_id=rule, message="No.") for rule in ("R4", "R1")
    )
    assert broken("look_up", look, late) == []
    assert broken("look_up", late, look) == [0]
    assert broken("look_up", together(look, late)) == [0]
    assert broken("look_up", unknown) == []


def test_a_rule_without_an_automaton_counts_as_broken() -> None:
    assert "R99" not in PROCESS
    assert broken("R99") == [0]


def test_a_breach_fails_an_episode_whose_state_holds_and_names_rule_and_turn() -> None:
    exchanges = (called("get_order", order_id=PENDING),)
    verdict = evaluate(Check(process=PROCESS), BASE, {}, exchanges)
    assert not verdict.passed
    assert [(part.name, part.passed) for part in verdict.parts] == [
        ("state", True), ("told", True), ("refusals", True), ("process", False),
        ("truth", True),
    ]  # fmt: skip
    assert verdict.parts[-2].evidence == (
        f"R1 in turn 0: get_order for {OWNER} with 0 of 2 factors verified",
    )
    assert evaluate(Check(process=PROCESS), BASE, {}, exchanges, outcome_only=True).passed


def test_every_made_task_asks_for_every_automaton() -> None:
    assert {
        task.check.process for task in WORLD.make_tasks({}, 3, 20) if task.check is not None
    } == {PROCESS}


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
            assert not verdict.parts[-2].passed
            verdicts.append(verdict.passed)
            await env.close()
        return verdicts[0], verdicts[1]

    task = next(
        t for t in WORLD.make_tasks({"world_seed": 5}, 3, 40) if t.difficulty["operations"] == 1
    )
    assert at_once(play(task)) == (False, True)


def test_a_transcript_of_another_maker_breaks_no_automaton() -> None:
    strange = [
        called("issue_refund", order_id=DELIVERED, amount="much"),
        called("create_return", order_id=DELIVERED, lines=3),
        called("verify_identity", {"customer_id": OWNER, "verified": 2}),
        called("deny"),
        called("ask_customer", heard="Yes."),
        called("tell_customer", total="much"),
        called("confirm_with_customer", {"event": "x"}),
        said("", "Hello?"),
    ]
    assert [
        part.name
        for part in evaluate(Check(process=PROCESS), BASE, {}, strange).parts
        if not part.passed
    ] == ["process"]
