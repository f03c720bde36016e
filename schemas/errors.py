"""Errors that a person must act on; each message says what, where, and what to do."""


class SynthError(Exception):
    """The work could not be done (exit code 1); one line, no traceback."""


class ConfigError(SynthError):
    """The user must change something before it can work (exit code 2)."""


class FlowError(ConfigError):
    """A flow says what cannot be done; the message names the place in it, not the file."""


class DamagedError(SynthError):
    """Stored bytes are not those that were written."""
