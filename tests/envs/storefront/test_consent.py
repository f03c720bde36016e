"""A yes opens the write that was proposed, and no other: what a question proposes, what the
customer says to it, and what R2 takes.
"""

import pytest

from synth.envs.storefront.customer.consent import ANY, NOTHING
from synth.envs.storefront.customer.customer import GO_ON, YES, Customer
from synth.envs.storefront.customer.script import Request, Revision, Script
from synth.envs.storefront.customer.understanding import proposed
from tests.envs.storefront.transcripts import broken, called, orders, said

ORDER = orders(status="pending")[0]
CANCEL = called("cancel_order", order_id=ORDER, reason="other")
EXCHANGE = called("modify_lines", order_id=ORDER, lines={"1": "V-1"})
LOOK = called("get_order", order_id=ORDER)

NO_WRITE = (
    "Shall I look up the tracking of your parcel?",
    "Should I transfer you to a colleague?",
    "Do you want me to say it again?",
    f"Shall I check whether order {ORDER} could be cancelled at all, without changing anything "
    "yet?",
    f"Shall I explain how to cancel order {ORDER}?",
    f"Would you like me to proceed with checking order {ORDER}?",
    f"Should I open a ticket about the cancellation of order {ORDER}?",
    f"May I read the details of order {ORDER}?",
    "You live in Malmo. Is that correct?",
    f"I cannot cancel order {ORDER}. Is that okay?",
)


@pytest.mark.parametrize("text", NO_WRITE)
def test_a_question_for_something_else_than_a_write_opens_none(text: str) -> None:
    speaker = Customer(
        Script(
            requests=(Request(1, "cancel", "Cancel it.", ORDER),),
            revisions=(Revision(1, "No, leave it."),),
        )
    )
    assert proposed(text) == proposed(text, for_a_yes=True) == NOTHING
    assert speaker.heard(text, pending=False) == (GO_ON, False)
    assert speaker.asked("confirmation", 1, pending=False, message=text) == GO_ON
    assert broken("R2", LOOK, said(text, YES), CANCEL) == [2]
    assert broken(
        "R2", LOOK, called("ask_customer", field="confirmation", message=text, heard=YES), CANCEL
    ) == [2]


PROPOSALS = {
    "Shall I cancel it?": {"cancel"},
    "Would you like me to cancel the order and refund you?": {"cancel", "refund"},
    "May I have your permission to cancel it?": {"cancel"},
    "Do you still want it cancelled?": {"cancel"},
    "You want me to cancel O-1, correct?": {"cancel"},
    "I will cancel order O-1. Is that right?": {"cancel"},
    "I will cancel order O-1. Please confirm (yes/no).": {"cancel"},
    "I cannot return it, but I can cancel it. Shall I go ahead?": {"cancel"},
    "Please reply yes so I can proceed with the cancellation.": {"cancel"},
    "Would you like me to open a return for order O-1, worth $20.00?": {"return"},
    "Should I proceed with the exchange?": {"exchange"},
    "Shall I apply SPRING1 to order O-2?": {"coupon"},
    "Would you like me to give you $5.00 of store credit for order O-1?": {"refund"},
    "Please confirm the following:\n1. Cancel order O-1\n2. Refund $20": {"cancel", "refund"},
    "Is it alright if I cancel order O-1 now?": {"cancel"},
    "I will cancel order O-1. Does that work for you?": {"cancel"},
    "Return of the lamp from O-1. OK to submit?": {"return"},
    "Do you authorize me to exchange it?": {"exchange"},
    "Shall I use SPRING1 on order O-1?": {"coupon"},
    "Shall I go ahead?": ANY,
    "Do you confirm?": ANY,
    "Do I have your go-ahead?": ANY,
}


@pytest.mark.parametrize("text", PROPOSALS)
def test_a_proposal_names_what_it_proposes(text: str) -> None:
    assert proposed(text) == PROPOSALS[text]


def test_a_question_by_tool_for_a_yes_needs_no_shall_i() -> None:
    assert proposed("I would cancel order O-1.", for_a_yes=True) == {"cancel"}
    assert proposed("I would cancel order O-1.") == NOTHING
    assert (
        proposed("", for_a_yes=True)
        == proposed("May I ask for your confirmation?", for_a_yes=True)
        == ANY
    )


def test_r2_the_write_is_the_one_that_was_proposed() -> None:
    named, unnamed = (
        said(f"Shall I exchange the lamp in order {ORDER}?", YES),
        said("Shall I exchange the lamp?", YES),
    )
    for question in (named, unnamed):
        assert broken("R2", LOOK, question, EXCHANGE) == []
        assert broken("R2", LOOK, question, CANCEL) == [2]
        assert (
            broken(
                "R2", LOOK, question, said(f"Shall I cancel order {ORDER}?", YES), CANCEL, EXCHANGE
            )
            == []
        )


@pytest.mark.parametrize(
    "text",
    [
        "Before I proceed, what is your email?",
        "May I have your email so I can proceed?",
        "To proceed with the cancellation, please confirm your email.",
    ],
)
def test_a_question_for_a_detail_is_no_question_for_a_yes_and_changes_no_mind(text: str) -> None:
    cancel = Request(1, "cancel", "Cancel it.", ORDER)
    speaker = Customer(
        Script(
            "Ada Brook",
            {"email": "ada@mail.example"},
            (cancel,),
            revisions=(Revision(1, "No, leave it."),),
        )
    )
    assert speaker.heard(text, pending=False) == ("My email is ada@mail.example.", False)
    assert speaker.heard("Shall I cancel it?", pending=False) == ("No, leave it.", False)


def test_a_mind_is_changed_when_that_write_is_proposed_and_not_at_another_one() -> None:
    wishes = (
        Request(1, "coupon", "Use SPRING1 on O-1.", "O-1", wanted="SPRING1"),
        Request(2, "cancel", "Cancel O-2.", "O-2"),
    )
    speaker = Customer(Script(requests=wishes, revisions=(Revision(2, "No, leave it."),)))
    assert speaker.heard("Shall I apply the coupon to order O-1?", pending=False) == (YES, True)
    assert speaker.heard("Shall I cancel order O-7?", pending=False) == (YES, True)
    assert speaker.heard("Shall I cancel order O-2?", pending=False) == ("No, leave it.", False)


def test_r2_a_yes_to_nothing_opens_nothing() -> None:
    assert broken("R2", LOOK, said("", YES), CANCEL) == [2]
