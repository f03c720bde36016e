"""What an answer with an HTTP status other than 200 means for the caller."""

from collections.abc import Mapping

from synth.models.backoff import retry_after_s
from synth.models.reply import error_text
from synth.models.server_error import ServerError
from synth.models.settings import ModelSettings

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
