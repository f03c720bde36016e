"""What a model's server answered instead of a reply, and what that means for the caller."""

from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

import msgspec

from synth.models.settings import ModelSettings
from synth.schemas.model import ModelError

RETRYABLE_STATUS = frozenset({408, 409, 429})
"""And every 5xx, and every 2xx but 200, which holds no reply; all others say that the request
itself is wrong.
"""
TURNED_AWAY_STATUS = frozenset({429, 503})
"""No room, or not ready: the server has not begun."""
LONGEST_REPLY = 64 * 2**20
"""Bytes; what a server sends beyond them is not read."""
TOO_LONG = f"the reply is longer than {LONGEST_REPLY // 2**20} MiB; bound it with max_tokens"
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
    """A failed try at a server: the HTTP `status` (None where there was none), and how long it asks
    to be left alone.

    `turned_away`: the server did not begin to work on it (nothing listens, or it has no room);
    asking again repeats no work.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        timeout: bool = False,
        context_overflow: bool = False,
        turned_away: bool = False,
        status: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(
            message, retryable=retryable, timeout=timeout, context_overflow=context_overflow
        )
        self.turned_away = turned_away
        self.status = status
        self.retry_after_s = retry_after_s

    def after(self, tries: int) -> "ServerError":
        """The same failure, saying how often it was tried."""
        return self._saying(f"{self}; gave up after {tries} {'try' if tries == 1 else 'tries'}")

    def without_keys(self, clean: Callable[[str], str]) -> "ServerError":
        """The same failure, with a mark where its words repeat a key: HTTP libraries quote what a
        server sent them.
        """
        return self._saying(clean(str(self)))

    def _saying(self, words: str) -> "ServerError":
        return ServerError(
            words,
            retryable=self.retryable,
            timeout=self.timeout,
            context_overflow=self.context_overflow,
            turned_away=self.turned_away,
            status=self.status,
            retry_after_s=self.retry_after_s,
        )


def unusable(body: bytes, why: str) -> ServerError:
    """The refusal of a body, with its beginning; to ask again may help."""
    start = body[:80].decode("utf-8", "replace")
    return ServerError(
        f"the server's reply is unusable: {why}; {len(body)} bytes that begin with {start!r}",
        retryable=True,
    )


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
    text = f"{where}: HTTP {status}: {message}"
    if status == 401:
        variable = settings.key_variable()
        text += (
            f"; look at the key in {variable}"
            if variable
            else "; the server wants a key: name its environment variable as api_key_env"
        )
    if status == 404:
        text += (
            "; look whether base_url ends in /v1, and whether the server has a model named "
            f"{settings.model}"
        )
    if 300 <= status < 400:
        text += (
            "; it sends calls elsewhere, and they are not sent on: name the address itself as "
            "base_url"
        )
    overflow = status in (400, 413) and (
        code == "context_length_exceeded"
        or any(words in message.lower() for words in _OVERFLOW_WORDS)
    )
    return ServerError(
        text,
        retryable=(status in RETRYABLE_STATUS or status >= 500 or status < 300)
        and code != _NO_MONEY,
        timeout=status in (408, 504),
        context_overflow=overflow,
        turned_away=status in TURNED_AWAY_STATUS,
        status=status,
        retry_after_s=retry_after_s(headers, now),
    )


def error_text(body: bytes) -> tuple[str, str]:
    """(message, code) of an error response in OpenAI's form, vLLM's or none at all; the message in
    one line, at most 300 characters.
    """
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError):
        answer = body.decode("utf-8", "replace")
    error = answer.get("error", answer) if isinstance(answer, Mapping) else answer
    message, code = error, ""
    if isinstance(error, Mapping):
        message, code = (
            error.get("message") or error.get("detail") or dict(error),
            str(error.get("code") or ""),
        )
    return " ".join(str(message).split())[:300], code


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that the headers `retry-after-ms` or `retry-after` (seconds or an HTTP date) ask for;
    None where they say nothing usable.
    """
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _seconds(value)
    if seconds is not None or value is None:
        return seconds
    try:
        return max(parsedate_to_datetime(value).timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return None


def _seconds(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
