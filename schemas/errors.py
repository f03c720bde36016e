"""Errors that a person must act on; each message says what, where, and what to do."""


class SynthError(Exception):
    """The work could not be done (exit code 1); one line, no traceback."""


class ConfigError(SynthError):
    """The user must change something before it can work (exit code 2)."""


class FlowError(ConfigError):
    """A flow says what cannot be done; the message names the place in it, not the file."""


class UnboundError(ConfigError):
    """Data names an environment that nobody has bound here: only its user says what starts it,
    never data.
    """


class DamagedError(SynthError):
    """Stored bytes are not those that were written."""


class RowError(ValueError):
    """One row cannot be handled and is left out; the run goes on.

    `reason` is a short stable name that becomes a counter, `place` says where in the row it lies.
    """

    def __init__(self, reason: str, said: str, place: str = "") -> None:
        super().__init__(said)
        self.reason = reason
        self.place = place
