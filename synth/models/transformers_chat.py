"""Engine `transformers`: a small model in this process, on the CPU; calls that wait are decoded
together.
"""

import asyncio
import json
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import msgspec

from synth.boundary import described
from synth.models.broken_calls import SENT_AS_TEXT
from synth.models.call_ids import MISSING
from synth.models.settings import ModelSettings
from synth.models.tool_call_recovery import RECOVERED, with_recovered_calls
from synth.models.transformers_decoding import KNOBS, DecodedText, decode, within_prefill
from synth.models.transformers_model import LocalModel, check_local, load, sent_as_text
from synth.models.xml_tool_calls import XML
from synth.schemas.errors import ConfigError
from synth.schemas.model import Completion, Message, ModelError, Sampling
from synth.schemas.trajectory import ToolSchema, Usage

TEMPLATE_KWARGS = "chat_template_kwargs"
_OPEN, _CLOSE = "<think>", "</think>"


class TransformersChat:
    """A `ChatModel` on two threads of its own: one renders and tokenizes, one loads and decodes.
    The event loop only waits.

    At most `max_in_flight` continuations are decoded at a time; who comes later waits. With a seed
    a call's tokens are the same whoever shares its batch, up to ties within rounding.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._rendering = ThreadPoolExecutor(1, "transformers-template")
        self._thread = ThreadPoolExecutor(1, "transformers")
        self._lock = threading.Lock()
        self._waiting: deque[DecodedText] = deque()
        self._under_way: list[DecodedText] = []
        self._decoding = False
        self._loading: Future[LocalModel] | None = None

    @property
    def name(self) -> str:
        """The folder or Hub name of the weights."""
        return self._settings.model

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], sampling: Sampling
    ) -> Completion:
        """One reply; `latency_ms` runs from when its prompt is read. A call that is cancelled
        leaves its batch at the next token.
        """
        loop = asyncio.get_running_loop()
        check_extra(sampling.extra)
        model = await asyncio.shield(asyncio.wrap_future(self._load()))
        also = sampling.extra.get(TEMPLATE_KWARGS) or {}
        prompt = await loop.run_in_executor(
            self._rendering, lambda: model.rendered(messages, tools, answer=True, also=also)
        )
        done: asyncio.Future[None] = loop.create_future()

        def settle(error: ModelError | None) -> None:
            if done.done():
                return
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)

        def finished(error: ModelError | None) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, error)

        continuation = DecodedText(model, prompt, sampling, self._settings.timeout_s, finished)
        self._enter(model, continuation)
        try:
            await done
        finally:
            continuation.abandoned = True
        return self._completion(model, continuation, messages, tools)

    async def close(self) -> None:
        """Ends both threads; what is still being decoded is abandoned."""
        self._lose("it was closed")
        for thread in (self._rendering, self._thread):
            await asyncio.to_thread(thread.shutdown, cancel_futures=True)

    def _load(self) -> "Future[LocalModel]":
        """Loaded once, by the first call; one that failed is tried again by the next."""
        if self._loading is None or (
            self._loading.done() and self._loading.exception() is not None
        ):
            self._loading = self._thread.submit(load, self._settings)
        return self._loading

    def _enter(self, model: LocalModel, continuation: DecodedText) -> None:
        with self._lock:
            self._waiting.append(continuation)
            if self._decoding:
                return
            self._decoding = True
        self._thread.submit(decode, model, self._arrivals).add_done_callback(self._ended)

    def _arrivals(self, rows: int) -> list[DecodedText]:
        """Those who join the batch now; asked between two tokens. With nobody waiting and no rows
        the thread is free again.
        """
        with self._lock:
            self._waiting = deque(
                continuation for continuation in self._waiting if not continuation.abandoned
            )
            count = within_prefill(self._waiting, self._settings.max_in_flight - rows)
            joining = [self._waiting.popleft() for _ in range(count)]
            self._under_way = [
                continuation for continuation in self._under_way if not continuation.abandoned
            ] + joining
            self._decoding = bool(rows or joining)
            return joining

    def _ended(self, decoding: "Future[None]") -> None:
        """Where decoding broke, all who waited for it hear why."""
        error = None if decoding.cancelled() else decoding.exception()
        if error is not None:
            self._lose(described(error))

    def _lose(self, why: str) -> None:
        with self._lock:
            lost = [*self._waiting, *self._under_way]
            self._waiting.clear()
            self._under_way, self._decoding = [], False
        for continuation in lost:
            continuation.abandoned = True
            continuation.finished(ModelError(f"model {self.name}: {why}"))

    def _completion(
        self,
        model: LocalModel,
        drawn: DecodedText,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
    ) -> Completion:
        price = self._settings.price
        usage = Usage(len(drawn.prompt), len(drawn.tokens), calls=1)
        header = model.tokenizer.decode(drawn.prompt[-8:])
        thought, content = split_thought(
            drawn.text, opened=header.rfind(_OPEN) > header.rfind(_CLOSE)
        )
        reply = Completion(
            content=content,
            thought=thought,
            finish_reason=drawn.finish_reason,
            usage=usage
            if price is None
            else msgspec.structs.replace(usage, cost_usd=price.cost_usd(usage)),
            model=self.name,
            weights_id=model.weights_id,
            prompt_token_ids=tuple(drawn.prompt) if self._settings.token_ids else None,
            completion_token_ids=tuple(drawn.tokens) if self._settings.token_ids else None,
            logprobs=tuple(drawn.logprobs) if self._settings.logprobs else None,
            latency_ms=drawn.latency_ms,
            raw=json.dumps({"role": "assistant", "content": drawn.text}, ensure_ascii=False),
            repairs=(SENT_AS_TEXT,) if sent_as_text(messages) else (),
        )
        if not tools:
            return reply
        read = with_recovered_calls(
            reply, messages, tools
        )  # to find the calls and to number them is this engine's own part, and no repair
        ended = (
            "tool_calls" if read.tool_calls and read.finish_reason == "stop" else read.finish_reason
        )
        return msgspec.structs.replace(
            read,
            finish_reason=ended,
            repairs=tuple(
                repair for repair in read.repairs if repair not in (RECOVERED, XML, MISSING)
            ),
        )


def split_thought(text: str, *, opened: bool) -> tuple[str | None, str | None]:
    """(thought, content) of a reply; `opened`: the template itself has opened the thinking. A
    thought that is cut off has no content.
    """
    if not (opened or text.lstrip().startswith(_OPEN)):
        return None, text
    thought, closed, content = text.partition(_CLOSE)
    thought = thought.lstrip().removeprefix(_OPEN).strip("\n")
    return thought or None, (content.lstrip("\n") if closed else None)


def check_extra(extra: Mapping[str, Any]) -> None:
    """Raises `ConfigError` for what this engine would ignore."""
    unknown = sorted(set(extra) - KNOBS - {TEMPLATE_KWARGS})
    if unknown:
        known = ", ".join(sorted({*KNOBS, TEMPLATE_KWARGS}))
        raise ConfigError(
            f"extra_body: engine transformers knows no {unknown[0]}; allowed: {known}"
        )


def open_model(settings: ModelSettings) -> TransformersChat:
    """The model that `model` names, loaded by its first call. Raises `ConfigError`."""
    check_local(settings)
    check_extra(settings.extra_body)
    return TransformersChat(settings)
