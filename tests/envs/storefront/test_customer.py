"""The customer answers what it is asked, reveals nothing else, and does not leave with work
undone.
"""

from synth.envs.storefront import WORLD
from synth.envs.storefront.customer.customer import (
    GO_ON,
    GOODBYE,
    MISUNDERSTOOD,
    NOT_YET_DONE,
    PUSH_BACK,
    UNKNOWN,
    YES,
    Customer,
    detail_words,
)
from synth.envs.storefront.customer.script import Request, Revision, Script
from synth.envs.storefront.tasks.self_play import at_once
from tests.envs.storefront.playing import call, opened


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
    assert customer().asked("email", None, pending=False) == "My email is ada@mail.example."
    assert customer().asked("phone", None, pending=False) == UNKNOWN
    assert customer().asked("order", 1, pending=False) == "The one I placed on 2026-02-11."
    assert customer().asked("reason", None, pending=False) == "I found it cheaper elsewhere."
    assert customer().asked("reason", 2, pending=False) == UNKNOWN


def test_a_keyword_in_a_question_is_enough_and_a_statement_reveals_nothing() -> None:
    assert customer().heard("Could you give me your e-mail address?", pending=False) == (
        "My email is ada@mail.example.",
        False,
    )
    assert customer().heard("Shall I go ahead?", pending=False) == (YES, True)
    assert "ada@" not in customer().heard("I need your e-mail.", pending=False)[0]


def test_two_misunderstood_questions_reveal_the_next_factor() -> None:
    speaker = customer()
    assert speaker.heard("Blargh?", pending=False) == (MISUNDERSTOOD, False)
    assert speaker.heard("Blargh?", pending=False) == (
        f"{MISUNDERSTOOD} My email is ada@mail.example.",
        False,
    )


def test_the_customer_does_not_leave_before_an_agreed_write_is_done() -> None:
    speaker = customer()
    assert speaker.asked("anything_else", None, pending=True) == NOT_YET_DONE
    assert not speaker.memory.ended


def test_a_missing_request_is_named_once_and_then_the_customer_leaves() -> None:
    speaker = customer()
    assert (
        speaker.asked("anything_else", None, pending=False)
        == "Not yet, I also asked for this: Please cancel the order with the blue kettle."
    )
    assert speaker.asked("anything_else", None, pending=False) == GOODBYE
    assert speaker.memory.ended


def test_after_receipt_and_answer_the_customer_leaves_at_once() -> None:
    speaker = customer()
    speaker.saw_write("cancel")
    speaker.heard("Request 2: the red lamp costs $20.00 now.", pending=False)
    assert speaker.asked("anything_else", None, pending=False) == GOODBYE


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
        speaker.heard("I am sorry.", pending=False)[0],
        speaker.asked("anything_else", None, pending=False),
    ]
    assert said == list(PUSH_BACK)
    assert speaker.heard("I am sorry.", pending=False) == (GO_ON, False)
    assert speaker.asked("anything_else", None, pending=False) == GOODBYE


def test_a_change_of_mind_is_said_once_in_place_of_the_yes() -> None:
    first, second = (
        Request(1, "coupon", f"Use {code} on O-1.", "O-1", wanted=code)
        for code in ("SPRING1", "LOYAL2")
    )
    speaker = Customer(Script(requests=(first,), revisions=(Revision(1, "Wait: LOYAL2.", second),)))
    assert speaker.asked("confirmation", 2, pending=False) == YES
    assert speaker.asked("confirmation", 1, pending=False) == "Wait: LOYAL2."
    assert speaker.standing() == (second,)
    assert speaker.asked("confirmation", 1, pending=False) == YES


def test_nobody_leaves_with_a_change_of_mind_unsaid() -> None:
    first, second = (
        Request(1, "coupon", f"Use {code} on O-1.", "O-1", wanted=code)
        for code in ("SPRING1", "LOYAL2")
    )
    speaker = Customer(Script(requests=(first,), revisions=(Revision(1, "Wait: LOYAL2.", second),)))
    assert speaker.asked("anything_else", None, pending=False) == "Wait: LOYAL2."
    assert not speaker.memory.ended


def test_a_request_is_withdrawn_in_place_of_the_yes_and_stays_withdrawn() -> None:
    speaker = Customer(
        Script(
            requests=(Request(1, "cancel", "Cancel O-1.", "O-1"),),
            revisions=(Revision(1, "No, leave it."),),
        )
    )
    assert [speaker.asked("confirmation", 1, pending=False) for _ in range(3)] == [
        "No, leave it."
    ] * 3
    assert speaker.standing() == ()
    assert speaker.asked("anything_else", None, pending=False) == GOODBYE


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
    assert (
        speaker.asked("item", 1, pending=False)
        == speaker.heard("Request 1: which item?", pending=False)[0]
        == "The red one."
    )
    assert (
        speaker.asked("street", 1, pending=False)
        == speaker.heard("Request 1: which street?", pending=False)[0]
        == "The one at 3 Mill Lane."
    )
    assert (
        speaker.asked("card", 1, pending=False)
        == speaker.heard("Request 1: which card?", pending=False)[0]
        == "The one ending in 4417."
    )
    assert speaker.asked("refund_to", 1, pending=False) == "To my card, as I said."


def test_what_was_left_out_is_said_when_asked_for() -> None:
    request = Request(
        1, "exchange", "Exchange the red lamp for another colour.", "O-1", "red", "lamp"
    )
    speaker = Customer(Script(requests=(request,), details={"1": {"colour": "blue"}}))
    assert speaker.asked("colour", 1, pending=False) == "In blue, please."
    assert speaker.heard("Which colour would you like for request 1?", pending=False) == (
        "In blue, please.",
        False,
    )
    assert speaker.asked("city", 1, pending=False) == UNKNOWN


def test_two_misunderstood_questions_are_noted_as_the_simulator_s_fault() -> None:
    async def play() -> dict[str, object]:
        env = opened()
        await env.reset(None)
        for _ in range(2):
            await env.step(call("reply", message="Blargh?"))
        return {
            path: value
            for path, value in (await env.facts()).items()
            if "user_simulator" in path and path.endswith("/text")
        }

    (text,) = at_once(play()).values()
    assert "2 questions that were not understood" in str(text)


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
