"""The customer: a finite-state answerer that reveals only what it is asked for, and says yes to
writes.
"""

from collections.abc import Mapping, Sequence

import msgspec

from synth.envs.storefront.customer.consent import ANY, Actions
from synth.envs.storefront.customer.script import (
    WANTED_FIELD,
    WRITE_KINDS,
    Kind,
    Request,
    Revision,
    Script,
)
from synth.envs.storefront.customer.told import identifiers
from synth.envs.storefront.customer.understanding import (
    CONFIRMATION,
    OFFER,
    WHICH_ONE,
    proposed,
    understood,
)

GOODBYE = "That is all, thank you. Goodbye!"
YES = "Yes, please go ahead."
GO_ON = "Thank you. Please go on."
UNKNOWN = "I don't know that, sorry."
MISUNDERSTOOD = "Sorry, I did not understand that."
OUT_OF_PATIENCE = "This takes too long. Goodbye!"
PUSH_BACK = (
    "That is disappointing. Are you sure? Well, if that is the rule.",
    "I have been a customer for years! Please make an exception.",
    "Let me talk to your manager, then. I insist.",
)
ACCEPTED = "All right, I understand."
REMINDER = "Not yet, I also asked for this: {}"
NOT_YET_DONE = "You have not done yet what I just agreed to. Please do that first."

PHRASES: Mapping[str, Mapping[str, str]] = {
    "reason": {
        "changed_mind": "I changed my mind.",
        "found_cheaper": "I found it cheaper elsewhere.",
        "ordered_by_mistake": "I ordered it by mistake.",
        "delivery_too_late": "It would arrive too late for me.",
    },
    "method": {
        "drop_off": "I will drop it off at a shop.",
        "pickup": "Please have it picked up at my home.",
        "mail": "I will send it by mail.",
    },
    "refund_to": {
        "original": "Please refund it to the way I paid.",
        "store_credit": "I would like the refund as store credit.",
    },
}
WANTED: Mapping[str, str] = {
    "order": "The one I placed on {}.",
    "item": "The {} one.",
    "colour": "In {}, please.",
    "city": "To my address in {}.",
    "street": "The one at {}.",
    "card": "The one ending in {}.",
    "coupon": "The coupon is {}.",
}
"""How details are said that have no fixed list of values."""
TO_CARD = "To my card{}, as I said."
_MEANT: Mapping[str, tuple[str, ...]] = {
    "address": ("street", "city"),
    WHICH_ONE: ("item", "street", "card", "order"),
}
"""What plain words may ask for, the one that is open first."""
_RETICENT_ORDER = ("email", "phone", "zip")
_ACTIONS: Mapping[Kind, Actions] = {
    "cancel": frozenset({"cancel"}),
    "return": frozenset({"return", "refund"}),
    "exchange": frozenset({"exchange"}),
    "address": frozenset({"address", "exchange"}),
    "coupon": frozenset({"coupon"}),
    "compensation": frozenset({"refund"}),
}
"""What a question must propose to be about a request of each kind, where it names no number."""


def detail_words(field: str, value: str) -> str:
    """A detail of a request as the customer says it."""
    return WANTED[field].format(value) if field in WANTED else PHRASES[field].get(value, UNKNOWN)


class Memory(msgspec.Struct):
    """What the customer remembers of the conversation."""

    told: list[str] = []
    wrote: dict[str, int] = {}
    denied: list[int] = []
    revised: list[int] = []
    pushed: int = 0
    replies: int = 0
    misunderstood: int = 0
    reminded: bool = False
    ended: bool = False


class Customer:
    """Answers as its script says; changes its mind where the script does; decides when the
    conversation may end.
    """

    __slots__ = ("memory", "script")

    def __init__(self, script: Script, memory: Memory | None = None) -> None:
        self.script = script
        self.memory = memory if memory is not None else Memory()

    def asked(self, field: str, number: int | None, *, pending: bool, message: str = "") -> str:
        """The answer to a question for one field; `pending`: something agreed to has not been
        written yet. A yes is said to a message
        that proposes a write.
        """
        if field == OFFER:
            return GO_ON
        if field == CONFIRMATION:
            actions = proposed(message, for_a_yes=True)
            return (
                (self._revision(number, actions, message) or self._withdrawn(number) or YES)
                if actions
                else GO_ON
            )
        if field == "anything_else":
            return self._closing(pending)
        if field == "name":
            return f"My name is {self.script.name}."
        if field in self.script.slots:
            return f"My {field} is {self.script.slots[field]}."
        answers = (
            self._detail(meant, request)
            for meant in _MEANT.get(field, (field,))
            for request in self._meant(meant, number)
        )
        return next((answer for answer in answers if answer is not None), UNKNOWN)

    def heard(self, text: str, *, pending: bool) -> tuple[str, bool]:
        """The answer to plain text, and whether it agreed to something: what is asked for is
        recognised by keyword, two misunderstood
        questions reveal the next identity factor. A change of mind is all that is said.
        """
        self.memory.replies += 1
        questions = understood(
            text, [request.noun for request in self.script.requests if request.noun is not None]
        )
        questions = [
            question for question in questions if question[0] != "anything_else"
        ] or questions
        if questions and questions[0][0] == "anything_else":
            return self._closing(pending), False
        answers: dict[str, None] = {}
        for field, about in sorted(questions, key=lambda question: question[0] != CONFIRMATION):
            answer = self.asked(field, about, pending=pending, message=text)
            if field == CONFIRMATION and answer != YES:
                return answer, False
            answers[answer] = None
        if questions:
            return " ".join(
                answer for answer in answers if answer != UNKNOWN
            ) or UNKNOWN, YES in answers
        if "?" not in text:
            return self._insisted() or GO_ON, False
        self.memory.misunderstood += 1
        if self.memory.misunderstood % 2:
            return MISUNDERSTOOD, False
        left = [
            field
            for field in _RETICENT_ORDER
            if field in self.script.slots and field not in self.memory.told
        ]
        if not left:
            return MISUNDERSTOOD, False
        self.memory.told.append(left[0])
        return f"{MISUNDERSTOOD} My {left[0]} is {self.script.slots[left[0]]}.", False

    def was_denied(self, number: int) -> str:
        """Pushes back on the first denials, once or as often as the script says, and accepts the
        others.
        """
        if number not in self.memory.denied:
            self.memory.denied.append(number)
        self.memory.replies += 1
        return self._insisted() or ACCEPTED

    def saw_write(self, kind: Kind) -> None:
        """A receipt for a write reached the customer."""
        self.memory.wrote[kind] = self.memory.wrote.get(kind, 0) + 1

    def _insisted(self) -> str | None:
        """The next push against a denial, as long as the script has one left."""
        if not self.memory.denied or self.memory.pushed >= min(
            self.script.pressure, len(PUSH_BACK)
        ):
            return None
        self.memory.pushed += 1
        return PUSH_BACK[self.memory.pushed - 1]

    def out_of_patience(self, ticks: int, *, pending: bool) -> bool:
        """Whether the customer leaves now, whatever was asked for and is still to be done;
        `pending`: but not before what it agreed to.
        """
        if (
            self.memory.ended
            or pending
            or self.script.patience == 0
            or ticks < self.script.patience
        ):
            return False
        self.memory.ended = True
        return True

    def interrupts(self, ticks: int) -> str | None:
        """A change of mind whose turn has come, said without being asked."""
        due = [
            r
            for r in self.script.revisions
            if 0 < r.turn <= ticks and r.number not in (*self.memory.revised, *self.memory.denied)
        ]
        return self._said(due[0]) if due and not self.memory.ended else None

    def standing(self) -> tuple[Request, ...]:
        """The requests after the changes of mind so far."""
        return self.script.standing(
            [
                revision.text
                for revision in self.script.revisions
                if revision.number in self.memory.revised
            ]
        )

    def _revision(
        self, number: int | None, actions: Actions = ANY, message: str = ""
    ) -> str | None:
        """A change of mind, said in place of the first yes to the request that it is about."""
        left = [
            r
            for r in self.script.revisions
            if r.number not in self.memory.revised and number in (None, r.number)
        ]
        left = [r for r in left if number is not None or self._is_about(r.number, actions, message)]
        return self._said(left[0]) if left else None

    def _is_about(self, number: int, actions: Actions, message: str) -> bool:
        """Whether a proposal that names no request may be for this one: by what is proposed, and by
        the order that is named.
        """
        request = self.script.request(number)
        if request is None or request.order_id is None:
            return request is None or bool(actions & _ACTIONS.get(request.kind, ANY))
        named = {
            str(identifier)
            for identifier in identifiers(message)
            if str(identifier).startswith("O-")
        }
        return bool(actions & _ACTIONS.get(request.kind, ANY)) and (
            not named or request.order_id in named
        )

    def _withdrawn(self, number: int | None) -> str | None:
        """What was said when a request was taken back, to whoever asks for a yes to it."""
        gone = [
            r
            for r in self.script.revisions
            if r.request is None and r.number == number and r.number in self.memory.revised
        ]
        return gone[0].text if gone else None

    def _said(self, revision: Revision) -> str:
        self.memory.revised.append(revision.number)
        return revision.text

    def _meant(self, field: str, number: int | None) -> Sequence[Request]:
        """The request with this number as it stands; where none was named, the first that has an
        answer not told yet, or the only one.
        """
        if number is not None:
            return [request for request in self.standing() if request.number == number] or list(
                filter(None, [self.script.request(number)])
            )
        knowing = [
            request
            for request in self.standing()
            if field in self.script.details.get(str(request.number), {})
        ]
        untold = [
            request for request in knowing if f"{request.number}/{field}" not in self.memory.told
        ]
        return (untold or knowing)[:1] or (
            self.standing() if len(self.script.requests) == 1 else ()
        )

    def _detail(self, field: str, request: Request) -> str | None:
        if field == "refund_to" and request.pay_to is not None:
            return TO_CARD.format(
                "" if request.pay_to == "card" else f" ending in {request.pay_to}"
            )
        value = self.script.details.get(str(request.number), {}).get(field)
        if value is not None:
            mark = f"{request.number}/{field}"
            if mark not in self.memory.told:
                self.memory.told.append(mark)
            return detail_words(field, value)
        if WANTED_FIELD.get(request.kind) == field and request.wanted is not None:
            return detail_words(field, request.wanted)
        if field == "item" and request.colour is not None and request.kind != "price_query":
            return detail_words(field, request.colour)
        if field == "order" and request.order_id is not None:
            return f"It is order {request.order_id}."
        if field == "order" and request.noun is not None:
            return f"The one with the {request.colour} {request.noun}; I don't have the number."
        return None

    def _closing(self, pending: bool) -> str:
        if pending:
            return NOT_YET_DONE
        changed = self._revision(None)
        if changed is not None:
            return changed
        missed = self._missed()
        if missed is not None and not self.memory.reminded:
            self.memory.reminded = True
            return REMINDER.format(missed.text)
        insisted = self._insisted()
        if insisted is not None:
            return insisted
        self.memory.ended = True
        return GOODBYE

    def _missed(self) -> Request | None:
        """The first request of which no receipt, answer or denial has come: counted by kind, so
        that it betrays no mistake.
        """
        wrote = dict(self.memory.wrote)
        for request in self.standing():
            if request.number in self.memory.denied or (
                request.condition is not None and self.memory.replies
            ):
                continue
            if request.kind in WRITE_KINDS:
                if wrote.get(request.kind, 0) == 0:
                    return request
                wrote[request.kind] -= 1
            elif self.memory.replies == 0:
                return request
        return None
