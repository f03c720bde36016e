"""The breaker: a model's server that only refuses is not asked for a whole night."""

from synth.boundary import FaultError
from synth.schemas.outcome import Fault

IN_A_ROW = 10
"""Attempts that end in the same way with no answered turn between them."""


class Breaker:
    """Counts attempts that ended at the model, one after the other.

    Answers that asking again will not change (401, 403, 404, ...) count always; others (a lost
    connection, a late answer) only until
    the model has answered for the first time: later they pass, and a rerun tries their slots again.
    """

    def __init__(self) -> None:
        self._failed = 0
        self._answered = False
        self._last = ""
        self._unanswered = 0
        self._detail = ""

    def answered(self) -> None:
        """The model decided a turn."""
        self._failed, self._answered = 0, True

    def failed(self, error: FaultError) -> None:
        """An attempt, or a question to a role, ended in this fault."""
        if error.context_overflow:  # said of one text; the next may be shorter
            return
        self._unanswered += 1
        self._detail = error.detail
        if error.fault in (Fault.MODEL, Fault.USER_SIMULATOR, Fault.JUDGE, Fault.TIMEOUT) and (
            error.final or not self._answered
        ):
            self._failed += 1
            self._last = error.detail.removeprefix("policy: ")

    def tripped(self) -> str | None:
        """What the server says and what to do, in one line, once it has refused too often; else
        None.
        """
        if self._failed < IN_A_ROW:
            return None
        return (
            f"{self._last}; stopped after {self._failed} attempts in a row that ended so: "
            "mend it and run again, what was done is kept"
        )

    def unheard(self) -> tuple[int, str] | None:
        """How many failed where nothing at all was answered, and what the last one said; else
        None.
        """
        return (self._unanswered, self._detail) if self._unanswered and not self._answered else None
