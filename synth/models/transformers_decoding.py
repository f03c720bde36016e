"""Decoding many continuations together: a batch with a key-value cache, which calls join and leave
between two tokens.

Every continuation draws from a generator of its own, so that what it draws does not depend on who
else is in the batch; padding and batching change its logits by rounding only.
"""

import time
from asyncio import Future
from collections.abc import Iterable, Sequence
from typing import Any

from synth.models.transformers_model import LocalModel
from synth.schemas.model import ModelError, Sampling

PROCESSORS = {
    "repetition_penalty": ("RepetitionPenaltyLogitsProcessor", 1.0),
    "temperature": ("TemperatureLogitsWarper", 1.0),
    "top_k": ("TopKLogitsWarper", 0),
    "top_p": ("TopPLogitsWarper", 1.0),
    "min_p": ("MinPLogitsWarper", 0.0),
}
"""In transformers' own order: what can be drawn with, by which class, and the value that changes
nothing. The model's own generation_config.json is the default of all.
"""
KNOBS = frozenset({"top_k", "min_p", "repetition_penalty"})
"""Those beside temperature and top_p."""
GREEDY_BELOW = 1e-5
"""Temperatures at which the first choice is taken, as vLLM does: division by less overflows."""
PREFILL_TOKENS = 16384
"""Prompt tokens, padding included, that are read in one forward: bounds the memory of activations.
"""


class DecodedText:
    """A prompt, and what is drawn after it. `done` is for who waits for it: settled on the event
    loop, once it has ended; when it is cancelled, the text leaves its batch at the next token.
    """

    def __init__(
        self, model: LocalModel, prompt: Sequence[int], sampling: Sampling, timeout_s: float
    ) -> None:
        """Raises `ModelError` where prompt and `max_tokens` exceed the context."""
        import torch

        left = model.context - len(prompt)
        self.max_tokens = sampling.max_tokens or max(left, 1)
        if self.max_tokens > left:
            raise ModelError(
                f"model {model.name}: {len(prompt)} tokens of prompt and {self.max_tokens} of "
                f"reply exceed its context of {model.context}",
                context_overflow=True,
            )
        self.prompt = prompt
        self.tokens: list[int] = []
        self.logprobs: list[float] = []
        self.text = ""
        self.finish_reason: str | None = None
        self.latency_ms = 0.0
        self.done: Future[None] = Future()
        self._model = model
        self._stop = sampling.stop
        self._timeout_s = timeout_s
        self._began = time.monotonic()
        self._greedy, self._looks_back, self._processors = processors(model.defaults, sampling)
        self._generator = torch.Generator()
        if sampling.seed is None:
            self._generator.seed()
        else:
            self._generator.manual_seed(sampling.seed)

    def begun(self) -> None:
        """Its time runs from when it is read, not from when it came to wait."""
        self._began = time.monotonic()

    def settle(self) -> None:
        """Tells who waits that it has ended, or that it took too long."""
        if self.done.done():
            return
        if self.finish_reason is not None:
            self.done.set_result(None)
        else:
            late = f"model {self._model.name}: no reply within {self._timeout_s:g} s"
            self.done.set_exception(ModelError(late, timeout=True, retryable=True))

    def drawn(self, logits: Any) -> bool:
        """Draws the next token from `logits` [vocabulary] (nats, before any warping, are kept as
        its log-probability); False at the end.
        """
        import torch

        if self.done.done() or time.monotonic() > self._began + self._timeout_s:
            return False
        seen = [[*self.prompt, *self.tokens]] if self._looks_back else [[]]
        warped = self._processors(torch.tensor(seen, dtype=torch.long), logits[None].clone())[0]
        token = int(
            warped.argmax()
            if self._greedy
            else torch.multinomial(warped.softmax(-1), 1, generator=self._generator)
        )
        self.tokens.append(token)
        self.logprobs.append(float(logits[token] - logits.logsumexp(-1)))
        self._judge(token)
        self.latency_ms = (time.monotonic() - self._began) * 1000
        return self.finish_reason is None

    def _judge(self, token: int) -> None:
        """Whether it ends here: at a token that ends, a string that ends, or its length."""
        ended, full = token in self._model.ends, len(self.tokens) == self.max_tokens
        if not (ended or full or self._stop):
            return
        text = str(
            self._model.tokenizer.decode(
                self.tokens[:-1] if ended else self.tokens,
                skip_special_tokens=True,
                clean_up_tokenization_spaces=False,
            )
        )
        cuts = [] if ended else [text.find(stop) for stop in self._stop if stop in text]
        if ended or cuts or full:
            self.finish_reason = "stop" if ended or cuts else "length"
            self.text = text[: min(cuts, default=len(text))]


def processors(defaults: dict[str, Any], sampling: Sampling) -> tuple[bool, bool, Any]:
    """(whether the first choice is taken, whether it matters what stands before, the processors of
    logits in transformers' order).
    """
    from transformers.generation import logits_process

    asked = {"temperature": sampling.temperature, "top_p": sampling.top_p, **sampling.extra}
    given = {name: value for name, value in asked.items() if value is not None}
    chosen = {
        name: {**defaults, **given}.get(name, neutral) for name, (_, neutral) in PROCESSORS.items()
    }
    greedy, applied = chosen["temperature"] < GREEDY_BELOW, logits_process.LogitsProcessorList()
    for name, (kind, neutral) in PROCESSORS.items():
        value = type(neutral)(chosen[name])
        # nought and less turn off all but the temperature, as in vLLM
        if value > 0 and value != neutral and not (greedy and name != "repetition_penalty"):
            applied.append(getattr(logits_process, kind)(value))
    return greedy, chosen["repetition_penalty"] != 1, applied


class Batch:
    """Rows under way: `mask` [rows, width] marks what is no padding, `logits` [rows, vocabulary]
    are those of the next token.
    """

    def __init__(self, rows: list[DecodedText], output: Any, mask: Any) -> None:
        self.rows, self.mask = rows, mask
        self.cache, self.logits = output.past_key_values, output.logits[:, -1].float()

    def mergeable(self) -> bool:
        """Whether the cache is keys and values of full attention in every layer; with others, calls
        join when the batch is done.
        """
        from transformers.cache_utils import DynamicCache, DynamicLayer

        return type(self.cache) is DynamicCache and all(
            type(layer) is DynamicLayer for layer in self.cache.layers
        )


def advanced(model: LocalModel, batch: Batch | None, fresh: list[DecodedText]) -> Batch | None:
    """One token more for every row, those who join among them; None when no row goes on."""
    import torch

    with torch.inference_mode():
        if fresh:
            batch = _merged(batch, _read(model, fresh))
        if batch is None:
            return None
        going = [i for i, row in enumerate(batch.rows) if row.drawn(batch.logits[i])]
        if not going:
            return None
        if len(going) < len(batch.rows):
            _leave(batch, going)
        rows, mask = batch.rows, batch.mask
        mask = torch.cat([mask, mask.new_ones((len(rows), 1))], 1)
        ids = torch.tensor([[row.tokens[-1]] for row in rows])
        return Batch(rows, _forward(model, ids, mask, batch.cache), mask)


def _forward(model: LocalModel, ids: Any, mask: Any, cache: Any | None) -> Any:
    """The model's output for the last columns of `mask`, of which `ids` are the tokens."""
    positions = (mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
    return model.weights(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )


def _read(model: LocalModel, rows: list[DecodedText]) -> Batch:
    """The prompts, padded on the left, read at once."""
    import torch

    width = max(len(row.prompt) for row in rows)
    ids = torch.full((len(rows), width), next(iter(model.ends), 0))
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for i, row in enumerate(rows):
        row.begun()
        ids[i, width - len(row.prompt) :] = torch.tensor(row.prompt)
        mask[i, width - len(row.prompt) :] = 1
    output = _forward(model, ids, mask, None)
    if output.get("past_key_values") is None:
        raise ModelError(
            f"model {model.name}: it keeps no key-value cache, which engine transformers needs; "
            "serve it with vLLM"
        )
    return Batch(rows, output, mask)


def _leave(batch: Batch, going: list[int]) -> None:
    """Keeps these rows alone, and not the columns that are padding in all of them."""
    import torch

    batch.rows, batch.mask = [batch.rows[i] for i in going], batch.mask[going]
    # all kinds of layers have it, and it takes fewer rows too
    batch.cache.reorder_cache(torch.tensor(going))
    unused = int(batch.mask.any(0).long().argmax())
    if unused and batch.mergeable():
        for layer in batch.cache.layers:
            layer.keys = layer.keys[:, :, unused:].contiguous()
            layer.values = layer.values[:, :, unused:].contiguous()
        batch.mask = batch.mask[:, unused:]


def _merged(batch: Batch | None, fresh: Batch) -> Batch:
    """Both as one batch, the narrower padded on the left."""
    import torch
    from torch.nn.functional import pad

    if batch is None:
        return fresh
    width = max(batch.mask.shape[1], fresh.mask.shape[1])
    for layer, other in zip(batch.cache.layers, fresh.cache.layers, strict=True):
        for name in ("keys", "values"):
            both = [getattr(layer, name), getattr(other, name)]
            padded = [pad(part, (0, 0, width - part.shape[-2], 0)) for part in both]
            setattr(layer, name, torch.cat(padded))
    masks = [pad(part.mask, (width - part.mask.shape[1], 0)) for part in (batch, fresh)]
    batch.rows += fresh.rows
    batch.mask, batch.logits = torch.cat(masks), torch.cat([batch.logits, fresh.logits])
    return batch


def within_prefill(waiting: Iterable[DecodedText], room: int) -> int:
    """How many of those who wait, the first first, are read in one forward: one at least, `room`
    and `PREFILL_TOKENS` at most.
    """
    count = width = 0
    for continuation in waiting:
        width = max(width, len(continuation.prompt))
        if count >= room or (count and (count + 1) * width > PREFILL_TOKENS):
            break
        count += 1
    return count
