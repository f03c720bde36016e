"""A chat server asked by hand, one bounded request at a time."""

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synth.keys.remover import MARK, KeyRemover
from synth.models.chat_request import request_body
from synth.models.http_server import HTTPServer
from synth.models.key_in_parts import joined_without_key
from synth.models.reply import read_replies
from synth.models.server_error import ServerError
from synth.models.settings import ModelSettings, api_key, secret
from synth.schemas.model import Completion, Message, Sampling
from synth.schemas.printable import printable
from synth.schemas.trajectory import ToolSchema

LONGEST_LINE = 300
_PAGE = re.compile(r"<(!DOCTYPE|html)\b[^;]*", re.IGNORECASE)
"""What servers that are no chat servers answer with."""
BOUNDS = ("max_tokens", "max_completion_tokens")
"""How a reply is bounded: OpenAI's newer models take the second only."""


class Card(msgspec.Struct):
    """What a server says about a model that it serves."""

    id: str
    root: str | None = None
    max_model_len: int | None = None
    owned_by: str | None = None


class _Cards(msgspec.Struct):
    data: list[Card]


class ProbeReply(msgspec.Struct, frozen=True):
    """A reply, how long it took, and the body that it came in."""

    completion: Completion
    took_s: float
    raw: Mapping[str, Any]

    @property
    def cached_tokens(self) -> int | None:
        """Prompt tokens that came out of the server's cache; None where it does not say."""
        details = (self.raw.get("usage") or {}).get("prompt_tokens_details")
        return None if not isinstance(details, Mapping) else details.get("cached_tokens")


class Endpoint:
    """One server; each request is a single try of at most `timeout_s`. Raises `ServerError`."""

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings
        self.timeout_s = settings.timeout_s
        self.bound = BOUNDS[0]
        key = api_key(settings)
        self._remover = KeyRemover({MARK: secret(key)})
        self._server = HTTPServer(settings.base_urls[0], settings, key)

    @property
    def url(self) -> str:
        """Its base URL, without a slash at the end."""
        return self._server.url

    async def models(self) -> list[Card]:
        """What `/models` lists."""
        body = self._remover.clean(await self._server.get("/models", self.timeout_s))
        try:
            return msgspec.json.decode(body, type=_Cards).data
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ServerError(f"its list of models is unusable: {error}", status=200) from error

    async def version(self) -> str | None:
        """As vLLM tells it beside the base path."""
        try:
            answer = msgspec.json.decode(
                self._remover.clean(await self._server.get("/version", self.timeout_s, beside=True))
            )
        except (ServerError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        version = answer.get("version") if isinstance(answer, Mapping) else None
        return version if isinstance(version, str) else None

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        longest: int = 32,
        tools: Sequence[ToolSchema] = (),
        also: Mapping[str, Any] | None = None,
    ) -> ProbeReply:
        """A reply of at most `longest` tokens; `also` goes into the request as it is."""
        bound = {self.bound: longest} if self.bound else {}
        body = request_body(
            self.settings.model, messages, tools, Sampling(), {**bound, **(also or {})}
        )
        began = time.perf_counter()
        received = self._remover.clean(
            await self._server.post("/chat/completions", body, self.timeout_s)
        )
        took_s = time.perf_counter() - began
        try:
            raw = msgspec.json.decode(received)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raw = {}
        came = len(raw.get("choices") or ()) if isinstance(raw, dict) and "n" in (also or {}) else 1
        completion, *_ = read_replies(received, messages, n=max(came, 1))
        return ProbeReply(joined_without_key(completion, self._remover), took_s, raw)

    def said(self, error: Exception) -> str:
        """What went wrong in one line that a terminal can show, without the address, which stands
        above.
        """
        text = self._remover.clean(str(error).encode("utf-8", "replace")).decode()
        return readable(_PAGE.sub("an HTML page", text.removeprefix(f"{self._server.where()}: ")))

    async def close(self) -> None:
        """Closes the connections."""
        await self._server.close()


def readable(text: str) -> str:
    """Foreign text as one line, cut where it is long."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 3] + "..."
