"""The customer understands questions as people and models put them, and takes no question for
another one.
"""

import pytest

from synth.envs.storefront.customer.customer import UNKNOWN, YES, Customer
from synth.envs.storefront.customer.script import Request, Revision, Script
from synth.envs.storefront.customer.understanding import OFFER, WHICH_ONE, understood
from synth.envs.storefront.tasks.self_play import at_once
from synth.envs.storefront.tools.talk import pending
from synth.schemas.environment import AgentTurn
from tests.envs.storefront.playing import opened

QUESTIONS: dict[str, list[tuple[str, int | None]]] = {
    "Could you please provide the email address on your account?": [("email", None)],
    "To verify your identity, please provide your email and zip code.": [
        ("email", None),
        ("zip", None),
    ],
    "May I have your phone number, please?": [("phone", None)],
    "Can you confirm your email address for me?": [("email", None)],
    "Please confirm your postcode.": [("zip", None)],
    "I need two pieces of information:\n- your email\n- your phone number\nCould you give me "
    "these?": [
        ("email", None),
        ("phone", None),
    ],
    "Before I can help, could you give me the following:\n- your email\n- your phone number\nIs "
    "that fine?": [
        *(("email", None), ("phone", None)),
    ],
    "I can cancel order O-12345 for you. Would you like me to proceed?": [("confirmation", None)],
    "Would you like me to cancel order O-12345?": [("confirmation", None)],
    "Do you want me to apply the coupon SPRING20?": [("confirmation", None)],
    "Should I go ahead with the return?": [("confirmation", None)],
    "Please confirm that you would like me to cancel order O-12345.": [("confirmation", None)],
    "Do you confirm?": [("confirmation", None)],
    "Can you confirm you'd like to return the lamp for $12.50?": [("confirmation", None)],
    "The refund will be $12.50. Is that okay with you?": [("confirmation", None)],
    "May I cancel the order now?": [("confirmation", None)],
    "Request 2: shall I exchange it? Request 3: what is the reason?": [
        ("confirmation", 2),
        ("reason", 3),
    ],
    "For request 2, why do you want to cancel?": [("reason", 2)],
    "How would you like to return it?": [("method", None)],
    "How would you like to receive your refund?": [("refund_to", None)],
    "Where should the refund go?": [("refund_to", None)],
    "Which address in Malmo do you mean: 51 High Street or 40 Station Road?": [("address", None)],
    "Which of your addresses should it go to?": [("address", None)],
    "What colour would you like instead?": [("colour", None)],
    "Which planter do you mean, the red or the blue one?": [(WHICH_ONE, None)],
    "Which one do you mean?": [(WHICH_ONE, None)],
    "Could you tell me the order number?": [("order", None)],
    "Do you mean order O-1 or order O-2?": [("order", None)],
    "When did you place that order?": [("order", None)],
    "Could you specify the order date?": [("order", None)],
    "Is it the first or the second?": [(WHICH_ONE, None)],
    "Is it the blue one or the red one?": [(WHICH_ONE, None)],
    "What colour is it?": [(WHICH_ONE, None)],
    "You want me to cancel O-1, correct?": [("confirmation", None)],
    "Where should we ship it?": [("address", None)],
    "Shall I look up your parcel?": [(OFFER, None)],
    "Shall I look up your parcel? What is your email?": [("email", None)],
    "May I have your phone number so I can proceed?": [("phone", None)],
    "Which card should I use?": [("card", None)],
    "Is there anything else I can help you with?": [("anything_else", None)],
    "Your order is cancelled. Let me know if you need anything else.": [("anything_else", None)],
}


@pytest.mark.parametrize("text", QUESTIONS, ids=lambda text: text[:40])
def test_a_question_in_plain_words_is_taken_for_what_it_asks(text: str) -> None:
    assert sorted(understood(text, ["planter"]), key=str) == sorted(QUESTIONS[text], key=str)


STATEMENTS = (
    "I need your e-mail.",
    "I have emailed you a receipt.",
    "Thank you, the phone number matches.",
    "I confirm that the order was cancelled.",
    "One moment, please.",
    "The reason is that the window is over.",
    "Please wait while I look up the order number.",
)


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_asks_for_nothing(text: str) -> None:
    assert understood(text) == []


def customer() -> Customer:
    requests = (
        Request(
            1,
            "exchange",
            "Exchange the planter in order O-1 for the same in grey.",
            "O-1",
            noun="planter",
            wanted="grey",
        ),
        Request(2, "address", "Send order O-2 to my address in Malmo.", "O-2", wanted="Malmo"),
        Request(3, "cancel", "Cancel O-3.", "O-3"),
    )
    details = {"1": {"item": "red"}, "2": {"street": "3 Mill Lane"}}
    changed = (Revision(3, "No, leave it."),)
    return Customer(Script("Ada Brook", {"email": "ada@mail.example"}, requests, details, changed))


def answer(text: str) -> tuple[str, bool]:
    return customer().heard(text, pending=False)


def test_what_is_left_open_is_answered_under_any_name_for_it() -> None:
    assert answer("Request 1: which planter do you mean?") == ("The red one.", False)
    assert answer("Request 1: which one do you mean?") == ("The red one.", False)
    assert answer("Request 2: which of your addresses in Malmo do you mean?") == (
        "The one at 3 Mill Lane.",
        False,
    )


def test_what_was_said_at_once_is_said_again() -> None:
    assert customer().asked("colour", 1, pending=False) == "In grey, please."
    assert customer().asked("city", 2, pending=False) == "To my address in Malmo."
    assert customer().asked("coupon", 2, pending=False) == UNKNOWN


def test_a_question_that_names_no_request_is_about_the_only_one() -> None:
    only = Customer(
        Script(requests=(Request(1, "coupon", "Use SPRING1 on O-1.", "O-1", wanted="SPRING1"),))
    )
    assert only.heard("What coupon code do you have?", pending=False) == (
        "The coupon is SPRING1.",
        False,
    )
    assert answer("What colour would you like?") == (UNKNOWN, False)


def test_a_question_for_an_email_is_no_question_for_a_yes() -> None:
    assert answer("Could you confirm your email, please?") == (
        "My email is ada@mail.example.",
        False,
    )

    async def play() -> bool:
        env = opened()
        await env.reset(None)
        await env.step(AgentTurn("Could you confirm your email, please?"))
        return pending(env._desk)

    assert not at_once(play())


def test_a_change_of_mind_is_all_that_is_said() -> None:
    assert answer("Request 1: which planter? Request 3: shall I cancel it?") == (
        "No, leave it.",
        False,
    )
    assert answer("Request 2: shall I change it? Request 3: shall I cancel it?") == (
        "No, leave it.",
        False,
    )
    assert answer("Request 2: shall I change it? Which street?") == (
        f"{YES} The one at 3 Mill Lane.",
        True,
    )


def test_a_goodbye_is_not_said_to_who_asks_for_more_than_whether_there_is_anything_else() -> None:
    speaker = customer()
    assert speaker.heard("Request 2: in which street? Is there anything else?", pending=False) == (
        "The one at 3 Mill Lane.",
        False,
    )
    assert not speaker.memory.ended
