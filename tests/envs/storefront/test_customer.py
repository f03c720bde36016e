"""The customer answers what it is asked, reveals nothing else, and does not leave with work
undone.
"""

from synth.envs.storefront import WORLD
from synth.envs.storefront.customer.customer import (
    GOODBYE,
    LINES,
    PUSH_BACK,
    YES,
    Customer,
    detail_words,
)
from synth.envs.storefront.customer.script import Request, Revision, Script


def customer() -> Customer:
    requests = (
        Request(
            1, "cancel", "Please cancel the order with the blue kettle.", None, "blue", "kettle"
        ),
        Request(2, "price_query", "What does the red lamp cost now?", None, "red", "lamp"),
    )
    details = {"1": {"order": "2026-02-11", "reason": "found_cheaper"}}
    return Customer(
        Script("Ada Brook", {"email": "ada@mail.example", "zip": "12345"}, requests, details)
    )


def test_a_slot_is_revealed_when_it_is_asked_for() -> None:
    assert customer().asked("email", None) == (
        "ada@mail.example",
        "My email is ada@mail.example.",
    )
    assert customer().asked("phone", None) == (None, "I don't know that, sorry.")
    assert customer().asked("order", 1) == ("2026-02-11", "The one I placed on 2026-02-11.")
    assert customer().asked("reason", None) == ("found_cheaper", "I found it cheaper elsewhere.")
    assert customer().asked("reason", 2)[0] is None


def test_free_text_is_answered_alike_whatever_it_says() -> None:
    speaker = customer()
    assert [speaker.heard() for _ in range(2)] == [LINES["heard"]] * 2
    assert speaker.memory == customer().memory


def test_the_customer_does_not_leave_before_an_agreed_write_is_done() -> None:
    speaker = customer()
    assert speaker.closing(pending=True) == LINES["not_yet_done"]
    assert not speaker.memory.ended


def test_a_missing_request_is_named_once_and_then_the_customer_leaves() -> None:
    speaker = customer()
    assert (
        speaker.closing(pending=False)
        == "Not yet, I also asked for this: Please cancel the order with the blue kettle."
    )
    assert speaker.closing(pending=False) == GOODBYE
    assert speaker.memory.ended


def test_after_receipt_and_answer_the_customer_leaves_at_once() -> None:
    speaker = customer()
    speaker.saw_write("cancel")
    speaker.informed()
    assert speaker.closing(pending=False) == GOODBYE


def test_the_first_denial_is_pushed_back_and_the_second_accepted() -> None:
    speaker = customer()
    assert "Are you sure?" in speaker.was_denied(1)
    assert speaker.was_denied(2) == "All right, I understand."


def test_pressure_is_how_often_a_denial_is_pushed_back() -> None:
    speaker = Customer(Script(pressure=3))
    said = [speaker.was_denied(1) for _ in range(4)]
    assert len(set(said)) == 4
    assert said[-1] == "All right, I understand."


def test_a_customer_under_pressure_insists_when_spoken_to_and_before_leaving() -> None:
    speaker = Customer(Script(pressure=3))
    said = [
        speaker.was_denied(1),
        speaker.heard(),
        speaker.closing(pending=False),
    ]
    assert said == list(PUSH_BACK)
    assert speaker.heard() == LINES["heard"]
    assert speaker.closing(pending=False) == GOODBYE


def test_a_change_of_mind_is_said_once_in_place_of_the_yes() -> None:
    first, second = (
        Request(1, "coupon", f"Use {code} on O-1.", "O-1", wanted=code)
        for code in ("SPRING1", "LOYAL2")
    )
    speaker = Customer(Script(requests=(first,), revisions=(Revision(1, "Wait: LOYAL2.", second),)))
    assert speaker.confirms(1, "apply_coupon") == ("customer_refused", "Wait: LOYAL2.")
    assert speaker.standing() == (second,)
    assert speaker.confirms(1, "apply_coupon") == ("customer_agreed", YES)


def test_a_customer_agrees_only_to_what_serves_a_request_of_theirs() -> None:
    speaker = customer()
    assert speaker.confirms(1, "cancel_order")[0] == "customer_agreed"
    assert speaker.confirms(1, "apply_coupon")[0] == "customer_refused"
    assert speaker.confirms(2, "cancel_order")[0] == "customer_refused"
    assert speaker.confirms(7, "cancel_order")[0] == "customer_refused"
    assert Customer(Script()).confirms(7, "cancel_order")[0] == "customer_agreed"


def test_nobody_leaves_with_a_change_of_mind_unsaid() -> None:
    first, second = (
        Request(1, "coupon", f"Use {code} on O-1.", "O-1", wanted=code)
        for code in ("SPRING1", "LOYAL2")
    )
    speaker = Customer(Script(requests=(first,), revisions=(Revision(1, "Wait: LOYAL2.", second),)))
    assert speaker.closing(pending=False) == "Wait: LOYAL2."
    assert not speaker.memory.ended


def test_a_request_is_withdrawn_in_place_of_the_yes_and_stays_withdrawn() -> None:
    speaker = Customer(
        Script(
            requests=(Request(1, "cancel", "Cancel O-1.", "O-1"),),
            revisions=(Revision(1, "No, leave it."),),
        )
    )
    assert [speaker.confirms(1, "cancel_order") for _ in range(3)] == [
        ("customer_refused", "No, leave it.")
    ] * 3
    assert speaker.standing() == ()
    assert speaker.closing(pending=False) == GOODBYE


def test_a_change_of_mind_with_a_turn_is_said_then_without_being_asked_and_once() -> None:
    speaker = Customer(
        Script(
            requests=(Request(1, "cancel", "Cancel O-1.", "O-1"),),
            revisions=(Revision(1, "No, leave it.", turn=7),),
        )
    )
    assert [speaker.interrupts(ticks) for ticks in (6, 7, 8)] == [None, "No, leave it.", None]


def test_a_change_of_mind_about_a_denied_request_is_not_said_without_being_asked() -> None:
    speaker = Customer(
        Script(
            requests=(Request(1, "cancel", "Cancel O-1.", "O-1"),),
            revisions=(Revision(1, "No, leave it.", turn=7),),
        )
    )
    speaker.was_denied(1)
    assert speaker.interrupts(7) is None


def test_an_impatient_customer_waits_for_what_they_agreed_to() -> None:
    speaker = Customer(Script(patience=5))
    assert not speaker.out_of_patience(9, pending=True)
    assert speaker.out_of_patience(9, pending=False)


def test_items_streets_and_cards_are_told_apart_when_asked() -> None:
    request = Request(1, "return", "Return the lamp from O-1.", "O-1", noun="lamp", pay_to="card")
    speaker = Customer(
        Script(
            requests=(request,),
            details={"1": {"item": "red", "street": "3 Mill Lane", "card": "4417"}},
        )
    )
    assert speaker.asked("item", 1) == ("red", "The red one.")
    assert speaker.asked("street", 1) == ("3 Mill Lane", "The one at 3 Mill Lane.")
    assert speaker.asked("card", 1) == ("4417", "The one ending in 4417.")
    assert speaker.asked("refund_to", 1) == ("card", "To my card, as I said.")


def test_what_was_left_out_is_said_when_asked_for() -> None:
    request = Request(
        1, "exchange", "Exchange the red lamp for another colour.", "O-1", "red", "lamp"
    )
    speaker = Customer(Script(requests=(request,), details={"1": {"colour": "blue"}}))
    assert speaker.asked("colour", 1) == ("blue", "In blue, please.")
    assert speaker.asked("city", 1)[0] is None


def test_without_dialogue_everything_stands_in_the_opening_message() -> None:
    for task in WORLD.make_tasks({"dialogue": False, "missing": 1}, 91, 40):
        assert all(str(value) in task.goal for value in task.script["slots"].values())
        for number, details in task.script.get("details", {}).items():
            text = next(
                request["text"]
                for request in task.script["requests"]
                if str(request["number"]) == number
            )
            assert all(detail_words(name, value) in text for name, value in details.items())
        assert task.check is not None
        assert "R2" not in task.check.process
