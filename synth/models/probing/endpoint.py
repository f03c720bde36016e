"""A chat server asked by hand, one bounded request at a time."""

import re
import time
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from synth.models.probing.parsers import Parsers, parsers_of
from synth.models.replies.reply import read_replies
from synth.models.server_error import ServerError, decoded
from synth.models.servers.chat_request import request_body
from synth.models.servers.http_server import HTTPServer
from synth.models.servers.model_card import ModelCard, model_cards
from synth.models.servers.server_chat import without_key
from synth.models.settings import ModelSettings
from synth.schemas import Completion, Messages, Sampling, ToolSchemas, printable

LONGEST_LINE = 300
_PAGE = re.compile(r"<(!DOCTYPE|html)\b[^;]*", re.IGNORECASE)
"""What servers that are no chat servers answer with."""
BOUNDS = ("max_tokens", "max_completion_tokens")
"""How a reply is bounded: OpenAI's newer models take the second only."""


class Finding(msgspec.Struct, frozen=True):
    """Whether something works, and the rest of the line."""

    word: Literal["works", "no", "unknown"]
    said: str


class ProbeReply(msgspec.Struct, frozen=True):
    """A reply, how long it took, and the body that it came in."""

    completion: Completion
    took_s: float
    raw: Mapping[str, Any]


class Endpoint:
    """One server, and what is known of it so far: its `plain` reply, how long a conversation may
    be, the name of its weights, whether it has no parser for calls, how a reply is bounded. Each
    request is a single try of at most `timeout_s`. Raises `ServerError`.
    """

    plain: ProbeReply
    context: int | None = None
    weights: str | None = None
    without_parser = False
    bound = BOUNDS[0]

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings
        (self.url,) = settings.base_urls
        self.timeout_s = settings.timeout_s
        self._server = HTTPServer(self.url, settings)
        self.close = self._server.close

    async def anew(self, **changed: Any) -> "Endpoint":
        """The server with other settings, in place of this one."""
        await self.close()
        return Endpoint(self.settings.model_copy(update=changed))

    async def models(self) -> list[ModelCard]:
        """What `/models` lists."""
        body = await self._server.get("/models", self.timeout_s)
        try:
            return model_cards(body, self._server.where())
        except ServerError as error:
            error.status = 200  # something answered there
            raise

    async def version(self) -> str | None:
        """As vLLM tells it beside the base path."""
        try:
            body = await self._server.get("/version", self.timeout_s, beside=True)
            version = decoded(body, dict[str, Any], "its version").get("version")
        except ServerError:
            return None
        return version if isinstance(version, str) else None

    async def chat(
        self,
        messages: Messages,
        *,
        longest: int = 32,
        tools: ToolSchemas = (),
        **also: Any,
    ) -> ProbeReply:
        """A reply of at most `longest` tokens; `also` goes into the request as it is."""
        asked = {self.bound: longest, **also}
        body = request_body(self.settings.model, messages, tools, Sampling(), asked)
        began = time.perf_counter()
        body = await self._server.post("/chat/completions", body, self.timeout_s)
        took_s = time.perf_counter() - began
        received = self._server.remover.clean(body)
        try:
            raw = decoded(received, dict[str, Any], "the server's reply")
        except ServerError:
            raw = {}  # half a surrogate pair, which the reader of replies mends
        came = len(raw.get("choices") or ()) if "n" in also else 1
        completion, *_ = read_replies(received, messages, n=max(came, 1))
        return ProbeReply(without_key(completion, self._server.remover), took_s, raw)

    @property
    def parsers(self) -> Parsers | None:
        """Those of the family that the model's name tells."""
        return parsers_of(self.settings.model, self.weights)

    def said(self, error: Exception) -> str:
        """What went wrong in one line that a terminal can show, without the address, which stands
        above.
        """
        text = self._server.remover.clean_text(str(error))
        return readable(_PAGE.sub("an HTML page", text.removeprefix(f"{self._server.where()}: ")))


def readable(text: str) -> str:
    """Foreign text as one line, cut where it is long."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 3] + "..."
