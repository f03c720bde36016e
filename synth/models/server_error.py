"""A model's server gave an answer that is no reply, or none: what that means for the caller."""

from collections.abc import Mapping
from copy import copy
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import msgspec

from synth.models.settings import ModelSettings
from synth.schemas import ModelError

T = TypeVar("T")

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Raised by decoders of JSON for bytes that are none, or not of the type that is expected."""
RETRYABLE_STATUS = frozenset({408, 409, 429})
"""And every 5xx, and every 2xx but 200, which holds no reply; all others say that the request
itself is wrong.
"""
TURNED_AWAY_STATUS = frozenset({429, 503})
"""No room, or not ready: the server has not begun."""
_OVERFLOW_WORDS = (
    "context length",
    "context window",
    "maximum context",
    "too many tokens",
    "max_model_len",
    "prompt is too long",
)
_NO_MONEY = "insufficient_quota"
"""OpenAI's code of a 429 that no waiting mends."""


class ServerError(ModelError):
    """A failed try at a server: the HTTP `status` (None where there was none), and for how long it
    asks to be left alone.

    `turned_away`: the server did not begin to work on it (nothing listens, or it has no room);
    asking again repeats no work.
    """

    def __init__(
        self,
        message: str,
        *,
        turned_away: bool = False,
        status: int | None = None,
        retry_after_s: float | None = None,
        **kinds: bool,
    ) -> None:
        super().__init__(message, **kinds)
        self.turned_away = turned_away
        self.status = status
        self.retry_after_s = retry_after_s

    def saying(self, words: str) -> "ServerError":
        """The same failure in other words."""
        same = copy(self)
        same.args = (words,)
        return same

    def after(self, tries: int) -> "ServerError":
        """The same failure, saying how often it was tried."""
        return self.saying(f"{self}; gave up after {tries} {'try' if tries == 1 else 'tries'}")


def unusable(body: bytes, why: str) -> ServerError:
    """The refusal of a body, with its beginning; to ask again may help."""
    start = body[:80].decode("utf-8", "replace")
    return ServerError(
        f"the server's reply is unusable: {why}; {len(body)} bytes that begin with {start!r}",
        retryable=True,
    )


def decoded(body: bytes, kind: type[T], what: str) -> T:
    """JSON of a type. Raises `ServerError` that names `what` is unusable; to ask again may help."""
    try:
        return msgspec.json.decode(body, type=kind)
    except UNREADABLE as error:
        raise ServerError(f"{what} is unusable: {error}", retryable=True) from error


def refused(
    settings: ModelSettings,
    where: str,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    now: float,
) -> ServerError:
    """The refusal in one line with what to look at; `body` without the key, `now` in seconds since
    1970.
    """
    message, code = error_text(body)
    overflow = code == "context_length_exceeded" or any(
        words in message.lower() for words in _OVERFLOW_WORDS
    )
    may_pass = status in RETRYABLE_STATUS or status >= 500 or status < 300
    return ServerError(
        f"{where}: HTTP {status}: {message}{_remedy(settings, status)}",
        retryable=may_pass and code != _NO_MONEY,
        timeout=status in (408, 504),
        context_overflow=overflow and status in (400, 413),
        turned_away=status in TURNED_AWAY_STATUS,
        status=status,
        retry_after_s=retry_after_s(headers, now),
    )


def _remedy(settings: ModelSettings, status: int) -> str:
    """What the user should look at, where the status tells."""
    if status == 401:
        variable = settings.key_variable()
        return (
            f"; look at the key in {variable}"
            if variable
            else "; the server wants a key: name its environment variable as api_key_env"
        )
    if status == 404:
        return (
            "; look whether base_url ends in /v1, and whether the server has a model named "
            f"{settings.model}"
        )
    if 300 <= status < 400:
        return (
            "; it sends calls elsewhere, and they are not sent on: name the address itself as "
            "base_url"
        )
    return ""


def error_text(body: bytes) -> tuple[str, str]:
    """(message, code) of an error response in OpenAI's form, vLLM's or none at all; the message in
    one line, at most 300 characters.
    """
    try:
        answer: Any = msgspec.json.decode(body)
    except UNREADABLE:
        answer = body.decode("utf-8", "replace")
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    message, code = error, ""
    if isinstance(error, dict):
        message = error.get("message") or error.get("detail") or error
        code = str(error.get("code") or "")
    return " ".join(str(message).split())[:300], code


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that the headers `retry-after-ms` or `retry-after` (seconds or an HTTP date) ask for;
    None where they say nothing usable.
    """
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            number = float(headers.get(name, ""))
        except ValueError:
            continue
        if 0 <= number < float("inf"):
            return number * unit_s
    try:
        return max(parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return None
