"""The customer answers what it is asked, reveals nothing else, and does not leave with work undone."""

from envs.storefront.customer import GOODBYE, MISUNDERSTOOD, NOT_YET_DONE, UNKNOWN, YES, Customer
from envs.storefront.script import Request, Script


def customer() -> Customer:
    requests = (
        Request(1, "cancel", "Please cancel the order with the blue kettle.", None, "blue", "kettle"),
        Request(2, "price_query", "What does the red lamp cost now?", None, "red", "lamp"),
    )
    details = {"1": {"order": "2026-02-11", "reason": "found_cheaper"}}
    return Customer(Script("Ada Brook", {"email": "ada@mail.example", "zip": "12345"}, requests, details))


def test_a_slot_is_revealed_when_it_is_asked_for() -> None:
    assert customer().asked("email", None, pending=False) == "My email is ada@mail.example."
    assert customer().asked("phone", None, pending=False) == UNKNOWN
    assert customer().asked("order", 1, pending=False) == "The one I placed on 2026-02-11."
    assert customer().asked("reason", None, pending=False) == "I found it cheaper elsewhere."
    assert customer().asked("reason", 2, pending=False) == UNKNOWN


def test_a_keyword_in_a_question_is_enough_and_a_statement_reveals_nothing() -> None:
    assert customer().heard("Could you give me your e-mail address?", pending=False) == ("My email is ada@mail.example.", False)
    assert customer().heard("Shall I go ahead?", pending=False) == (YES, True)
    assert "ada@" not in customer().heard("I need your e-mail.", pending=False)[0]


def test_two_misunderstood_questions_reveal_the_next_factor() -> None:
    speaker = customer()
    assert speaker.heard("Blargh?", pending=False) == (MISUNDERSTOOD, False)
    assert speaker.heard("Blargh?", pending=False) == (f"{MISUNDERSTOOD} My email is ada@mail.example.", False)


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
