"""Each rule's automaton alone, on transcripts written by hand."""

import pytest

from synth.envs.storefront.check.process import INJECTIONS, Injection, breaches
from synth.envs.storefront.customer.script import Request, Revision, Script, ShopEvent
from synth.envs.storefront.tools.transcript import Exchange
from synth.envs.storefront.world.world import patched
from tests.envs.storefront.rules_exchanges import DELIVERED, OTHER_PENDING, OWNER, PENDING
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
