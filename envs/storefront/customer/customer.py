"""The customer: answers forms as the script says, changes its mind where the script does, and says
when the conversation may end.

Every answer is a value or an event, and a line that is made of it. No line of the agent is read.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from synth.envs.storefront.customer.script import (
    KINDS,
    WANTED_FIELD,
    WRITE_KINDS,
    Kind,
    Request,
    Script,
)
from synth.envs.storefront.texts import texts

LINES = texts("lines")
DETAILS = LINES["details"]
GOODBYE, YES, OUT_OF_PATIENCE = (
    LINES["goodbye"],
    LINES["agreed"],
    LINES["out_of_patience"],
)
PUSH_BACK: Sequence[str] = LINES["push_back"]

Agreement = Literal["customer_agreed", "customer_refused"]


def _line(name: str, *of: object) -> str:
    """A line of the customer's, with what it is about."""
    return str(LINES[name].format(*of))


def detail_words(field: str, value: str) -> str:
    """A detail of a request as the customer says it."""
    words = DETAILS[field]

    return str(words.format(value) if isinstance(words, str) else words[value])


class CustomerMemory(msgspec.Struct):
    """What the customer remembers of the conversation."""

    told: list[str] = []
    wrote: dict[str, int] = {}
    denied: list[int] = []
    revised: list[int] = []
    pushed: int = 0
    replies: int = 0
    reminded: bool = False
    ended: bool = False


class Customer:
    """One customer in one conversation."""

    __slots__ = ("memory", "script")

    def __init__(self, script: Script, memory: CustomerMemory | None = None) -> None:
        self.script = script
        self.memory = memory if memory is not None else CustomerMemory()

    def asked(self, field: str, number: int | None) -> tuple[str | None, str]:
        """What the customer knows of a field, None where nothing, and the line for it."""
        if field == "name":
            return self.script.name, _line("name", self.script.name)
        if field in self.script.slots:
            return self.script.slots[field], _line("slot", field, self.script.slots[field])

        # no more than one, or none
        for request in self._meant(field, number):
            found = self._detail(field, request)

            if found is not None:
                return found

        return None, _line("unknown")

    def confirms(self, number: int, write: str) -> tuple[Agreement, str]:
        """Whether the customer agrees to a write for a request: not where they change their mind
        about it, took it back, or asked for something else.
        """
        # a change of mind is said in place of the yes, and said again where the request is gone
        said = self._revision(number) or self._withdrawn(number)

        if said is None and self.script.requests:
            request = next((r for r in self.standing() if r.number == number), None)
            served = [] if request is None else [request.kind, request.otherwise]

            if not any(write in KINDS.get(kind, {}).get("agrees", ()) for kind in served if kind):
                said = _line("not_asked_for")

        return ("customer_agreed", YES) if said is None else ("customer_refused", said)

    def heard(self) -> str:
        """The answer to free text, whatever it says."""
        return self._insisted() or _line("heard")

    def informed(self) -> str:
        """The answer to facts that the customer is told."""
        self.memory.replies += 1

        return self._insisted() or _line("go_on")

    def was_denied(self, number: int) -> str:
        """Pushes back on the first denials, once or as often as the script says, and accepts the
        others.
        """
        # a second denial of one request is answered, and remembered once
        if number not in self.memory.denied:
            self.memory.denied.append(number)

        self.memory.replies += 1

        return self._insisted() or _line("accepted")

    def saw_write(self, kind: Kind) -> None:
        """A receipt for a write reached the customer."""
        self.memory.wrote[kind] = self.memory.wrote.get(kind, 0) + 1

    def closing(self, *, pending: bool) -> str:
        """The answer to "anything else?": goodbye, unless something is left; `pending`: something
        agreed to has not been written yet.
        """
        if pending:
            return _line("not_yet_done")

        # what was never said before is said at the latest now
        changed = self._revision(None)

        if changed is not None:
            return changed

        missed = self._missed()

        if missed is not None and not self.memory.reminded:
            self.memory.reminded = True

            return _line("reminder", missed.text)

        insisted = self._insisted()

        if insisted is not None:
            return insisted

        self.memory.ended = True

        return str(GOODBYE)

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
            revision.number
            for revision in self.script.revisions
            if 0 < revision.turn <= ticks and revision.number not in self.memory.denied
        ]

        said = (self._revision(number) for number in due)

        return None if self.memory.ended else next((text for text in said if text), None)

    def standing(self) -> tuple[Request, ...]:
        """The requests after the changes of mind so far."""
        return self.script.standing(
            [r.text for r in self.script.revisions if r.number in self.memory.revised]
        )

    def _insisted(self) -> str | None:
        """The next push against a denial, as long as the script has one left."""
        most = min(self.script.pressure, len(PUSH_BACK))

        if not self.memory.denied or self.memory.pushed >= most:
            return None

        self.memory.pushed += 1

        return PUSH_BACK[self.memory.pushed - 1]

    def _revision(self, number: int | None) -> str | None:
        """A change of mind that was not said yet, about this request or any."""
        for revision in self.script.revisions:
            if revision.number not in self.memory.revised and number in (
                None,
                revision.number,
            ):
                self.memory.revised.append(revision.number)

                return revision.text

        return None

    def _withdrawn(self, number: int) -> str | None:
        """What was said when a request was taken back."""
        gone = (r for r in self.script.revisions if r.request is None and r.number == number)

        return next((r.text for r in gone if r.number in self.memory.revised), None)

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

    def _detail(self, field: str, request: Request) -> tuple[str | None, str] | None:
        """The answer to a question about one request, and the line for it; None where the
        request says nothing about the field.
        """
        if field == "refund_to" and request.pay_to is not None:
            line = "to_card" if request.pay_to == "card" else "to_that_card"

            return request.pay_to, _line(line, request.pay_to)

        value = self.script.details.get(str(request.number), {}).get(field)

        if value is not None:
            mark = f"{request.number}/{field}"

            if mark not in self.memory.told:
                self.memory.told.append(mark)

            return value, detail_words(field, value)

        if WANTED_FIELD.get(request.kind) == field and request.wanted is not None:
            return request.wanted, detail_words(field, request.wanted)
        # what the words held is said again, to whoever asks
        if field == "item" and request.colour is not None and request.kind != "price_query":
            return request.colour, detail_words(field, request.colour)

        return _order_named(request) if field == "order" else None

    def _missed(self) -> Request | None:
        """The first request of which no receipt, answer or denial has come: counted by kind, so
        that it betrays no mistake.
        """
        # a receipt counts for one request of its kind
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


def _order_named(request: Request) -> tuple[str | None, str] | None:
    """How a request names its order: by the id, or by what is in it."""
    if request.order_id is not None:
        return request.order_id, _line("order_id", request.order_id)
    if request.noun is None:
        return None

    return None, _line("order_item", f"{request.colour or ''} {request.noun}".strip())
