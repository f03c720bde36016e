"""Engine `transformers`: a small model in this process, on the CPU; calls that wait are decoded
together.
"""

import asyncio
import json
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from synth.boundary import FaultError, guard_async
from synth.models.broken_calls import SENT_AS_TEXT, has_broken_calls
from synth.models.local.transformers_batch import Batch, advanced, within_prefill
from synth.models.local.transformers_draws import PROCESSORS, DrawnText
from synth.models.local.transformers_model import LocalModel, ModelThread, check_local, load
from synth.models.refused_features import FORMS
from synth.models.replies.call_ids import MISSING
from synth.models.replies.tool_call_recovery import read_apart, with_recovered_calls
from synth.models.server_error import ServerError
from synth.models.settings import ModelSettings
from synth.schemas import (
    Completion,
    ConfigError,
    Fault,
    Messages,
    ModelError,
    Sampling,
    ToolSchemas,
    Usage,
)
from synth.text.calls.reading import OWN_PART

TEMPLATE_KWARGS = "chat_template_kwargs"
_OPEN, _CLOSE = "<think>", "</think>"


class TransformersChat:
    """A `ChatModel` on a thread of its own, which loads, renders, and decodes one token of all
    calls at a time. The event loop only waits.

    At most `max_in_flight` continuations are decoded at a time; who comes later waits. With a seed
    a call's tokens are the same whoever shares its batch, up to ties within rounding.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._thread = ModelThread(settings, load)
        self._waiting: deque[DrawnText] = deque()
        self._under_way: list[DrawnText] = []
        self._decoding: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """The folder or Hub name of the weights."""
        return self._settings.model

    async def complete(
        self, messages: Messages, tools: ToolSchemas, sampling: Sampling
    ) -> Completion:
        """One reply; `latency_ms` runs from when its prompt is read. A call that is cancelled
        leaves its batch at the next token.
        """
        if FORMS.intersection(sampling.extra):
            raise ServerError("engine transformers holds no reply to a form", status=400)
        check_extra(sampling.extra)

        model = await self._thread.model()

        # what the flow says of the template comes last, and wins
        also = sampling.extra.get(TEMPLATE_KWARGS) or {}
        variables = {"add_generation_prompt": True, **also}
        prompt = await self._thread.run(model.rendered, messages, tools, **variables)

        drawn = DrawnText(model, prompt, sampling)
        self._waiting.append(drawn)

        if self._decoding is None or self._decoding.done():
            self._decoding = asyncio.create_task(self._decode(model))

        reply = self._completion(model, drawn, await drawn.done, messages)
        return _with_calls(reply, messages, tools) if tools else reply

    async def close(self) -> None:
        """Ends the thread; what is still being decoded is abandoned."""
        self._lose("it was closed")
        await self._thread.close()

    async def _decode(self, model: LocalModel) -> None:
        """Decodes until nobody waits and all are finished; who waits joins between two tokens."""
        batch: Batch | None = None

        loop = asyncio.get_running_loop()

        while batch is not None or self._waiting:
            fresh = self._joining() if batch is None or batch.mergeable() else []
            self._under_way += fresh

            step = partial(self._thread.run, advanced, model, batch, fresh)
            try:
                batch = await guard_async(Fault.MODEL, "decoding", step, None)
            except FaultError as error:
                return self._lose(error.detail)

            going = batch.rows if batch is not None else []

            for ended in self._under_way:
                if ended not in going and not ended.done.done():
                    ended.done.set_result((loop.time() - ended.began_s) * 1000)
            self._under_way = list(going)

    def _joining(self) -> list[DrawnText]:
        """Those who wait and are read now. The time of each runs from here, not from when it came
        to wait.
        """
        # calls that were cancelled while they waited go here
        self._waiting = deque(one for one in self._waiting if not one.done.done())
        room = self._settings.max_in_flight - len(self._under_way)
        fresh = [self._waiting.popleft() for _ in range(within_prefill(self._waiting, room))]

        loop, timeout_s = asyncio.get_running_loop(), self._settings.timeout_s
        for one in fresh:
            one.began_s = loop.time()
            late = f"model {self.name}: no reply within {timeout_s:g} s"
            loop.call_later(timeout_s, _end, one, ModelError(late, timeout=True, retryable=True))
        return fresh

    def _lose(self, why: str) -> None:
        """Tells all who wait why they wait in vain."""
        for lost in (*self._waiting, *self._under_way):
            _end(lost, ModelError(f"model {self.name}: {why}"))

        self._waiting.clear()
        self._under_way = []

    def _completion(
        self,
        model: LocalModel,
        drawn: DrawnText,
        latency_ms: float,
        messages: Messages,
    ) -> Completion:
        """What was drawn as a reply, its calls still in its text."""
        settings, usage = self._settings, Usage(len(drawn.prompt), len(drawn.tokens), calls=1)

        # some templates open the thinking in the prompt, so that the reply begins inside it
        header = model.tokenizer.decode(drawn.prompt[-8:])
        thought, content = split_thought(
            drawn.text, opened=header.rfind(_OPEN) > header.rfind(_CLOSE)
        )

        return Completion(
            content=content,
            thought=thought,
            finish_reason=drawn.finish_reason,
            usage=usage if settings.price is None else settings.price.priced(usage),
            model=self.name,
            weights_id=model.weights_id,
            prompt_token_ids=tuple(drawn.prompt) if settings.token_ids else None,
            completion_token_ids=tuple(drawn.tokens) if settings.token_ids else None,
            logprobs=tuple(drawn.logprobs) if settings.logprobs else None,
            latency_ms=latency_ms,
            raw=json.dumps({"role": "assistant", "content": drawn.text}, ensure_ascii=False),
            repairs=(SENT_AS_TEXT,) if has_broken_calls(messages) else (),
        )


def _with_calls(reply: Completion, messages: Messages, tools: ToolSchemas) -> Completion:
    """The reply with the calls in its text: to find and to number them is this engine's own part,
    and no repair.
    """
    read = read_apart(with_recovered_calls(reply, messages, tools), tools)
    called = read.tool_calls and read.finish_reason == "stop"
    repairs = (repair for repair in read.repairs if repair not in OWN_PART | {MISSING})
    return replace(
        read,
        finish_reason="tool_calls" if called else read.finish_reason,
        repairs=tuple(repairs),
    )


def _end(drawn: DrawnText, error: ModelError) -> None:
    """Gives a text up, unless it is done."""
    if not drawn.done.done():
        drawn.done.set_exception(error)


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
    known = sorted({*PROCESSORS, TEMPLATE_KWARGS} - {"temperature", "top_p"})

    unknown = sorted(set(extra) - set(known))
    if unknown:
        raise ConfigError(
            f"extra_body: engine transformers knows no {unknown[0]}; allowed: {', '.join(known)}"
        )


def open_model(settings: ModelSettings) -> TransformersChat:
    """The model that `model` names, loaded by its first call. Raises `ConfigError`."""
    check_local(settings)

    check_extra(settings.extra_body)
    return TransformersChat(settings)
