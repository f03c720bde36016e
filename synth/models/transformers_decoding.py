"""Decoding many continuations together on one thread: a batch with a key-value cache, which calls
join and leave between two tokens.

Every continuation draws from a generator of its own, so that what it draws does not depend on who
else is in the batch; padding and batching change its logits by rounding only.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from synth.models.transformers_model import LocalModel
from synth.schemas.model import ModelError, Sampling

KNOBS = frozenset({"top_k", "min_p", "repetition_penalty"})
"""What can be drawn with beside temperature and top_p; the model's own generation_config.json is
the default of all.
"""
GREEDY_BELOW = 1e-5
"""Temperatures at which the first choice is taken, as vLLM does: division by less overflows."""
PREFILL_TOKENS = 16384
"""Prompt tokens, padding included, that are read in one forward: bounds the memory of activations.
"""


class DecodedText:
    """A prompt, and what is drawn after it. `finished` is called once, on the decoding thread, with
    no error or the reason why not.
    """

    def __init__(
        self,
        model: LocalModel,
        prompt: Sequence[int],
        sampling: Sampling,
        timeout_s: float,
        finished: Callable[["ModelError | None"], None],
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
        self.abandoned = False
        self.finished = finished
        self._model = model
        self._stop = sampling.stop
        self._timeout_s = timeout_s
        self._began = time.monotonic()
        self._greedy, self._looks_back, self._warpers = warpers(model.defaults, sampling)
        self._generator = torch.Generator()
        if sampling.seed is None:
            self._generator.seed()
        else:
            self._generator.manual_seed(sampling.seed)

    def begun(self) -> None:
        """Its time runs from when it is read, not from when it came to wait."""
        self._began = time.monotonic()

    def drawn(self, logits: Any) -> bool:
        """Draws the next token from `logits` [vocabulary] (nats, before any warping, are kept as
        its log-probability); False at the end.
        """
        import torch

        if self.abandoned:
            return False
        if time.monotonic() > self._began + self._timeout_s:
            self.finished(
                ModelError(
                    f"model {self._model.name}: no reply within {self._timeout_s:g} s",
                    timeout=True,
                    retryable=True,
                )
            )
            return False
        seen = torch.tensor(
            [[*self.prompt, *self.tokens]] if self._looks_back else [[]], dtype=torch.long
        )
        warped = self._warpers(seen, logits[None].clone())[0]
        token = int(
            warped.argmax()
            if self._greedy
            else torch.multinomial(warped.softmax(-1), 1, generator=self._generator)
        )
        self.tokens.append(token)
        self.logprobs.append(float(logits[token] - logits.logsumexp(-1)))
        self._judge(token)
        if self.finish_reason is not None:
            self.latency_ms = (time.monotonic() - self._began) * 1000
            self.finished(None)
        return self.finish_reason is None

    def _judge(self, token: int) -> None:
        """Whether it ends here: at a token that ends, a string that ends, or its length."""
        if token in self._model.ends:
            self.finish_reason, self.text = "stop", self._decoded(self.tokens[:-1])
            return
        full = len(self.tokens) == self.max_tokens
        if not (full or self._stop):
            return
        text = self._decoded(self.tokens)
        cuts = [text.find(stop) for stop in self._stop if stop in text]
        if cuts:
            self.finish_reason, self.text = "stop", text[: min(cuts)]
        elif full:
            self.finish_reason, self.text = "length", text

    def _decoded(self, tokens: Sequence[int]) -> str:
        return str(
            self._model.tokenizer.decode(
                tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
            )
        )


def warpers(defaults: dict[str, Any], sampling: Sampling) -> tuple[bool, bool, Any]:
    """(whether the first choice is taken, whether it matters what stands before, the processors in
    transformers' own order).
    """
    from transformers.generation.logits_process import (
        LogitsProcessorList,
        MinPLogitsWarper,
        RepetitionPenaltyLogitsProcessor,
        TemperatureLogitsWarper,
        TopKLogitsWarper,
        TopPLogitsWarper,
    )

    chosen = {**defaults, **{key: value for key, value in sampling.extra.items() if key in KNOBS}}
    temperature = (
        sampling.temperature if sampling.temperature is not None else chosen.get("temperature", 1.0)
    )
    top_p = sampling.top_p if sampling.top_p is not None else chosen.get("top_p", 1.0)
    penalty, top_k, min_p = (
        chosen.get("repetition_penalty") or 1.0,
        chosen.get("top_k") or 0,
        chosen.get("min_p") or 0.0,
    )
    applied = LogitsProcessorList()
    if penalty != 1.0:
        applied.append(RepetitionPenaltyLogitsProcessor(float(penalty)))
    if temperature >= GREEDY_BELOW:
        applied.append(TemperatureLogitsWarper(float(temperature)))
        if top_k > 0:
            applied.append(TopKLogitsWarper(int(top_k)))
        if top_p < 1:
            applied.append(TopPLogitsWarper(float(top_p)))
        if min_p > 0:
            applied.append(MinPLogitsWarper(float(min_p)))
    return temperature < GREEDY_BELOW, penalty != 1.0, applied


class _Batch:
    """Rows under way: `mask` [rows, width] marks what is no padding, `logits` [rows, vocabulary]
    are those of the next token.
    """

    def __init__(self, rows: list[DecodedText], cache: Any, mask: Any, logits: Any) -> None:
        self.rows, self.cache, self.mask, self.logits = rows, cache, mask, logits


def decode(model: LocalModel, arrivals: Callable[[int], list[DecodedText]]) -> None:
    """Decodes until `arrivals(rows under way)`, asked between two tokens, has nothing more and all
    are finished.
    """
    import torch

    batch: _Batch | None = None
    with torch.inference_mode():
        while True:
            if batch is None or _mergeable(batch.cache):
                fresh = arrivals(len(batch.rows) if batch else 0)
                if fresh:
                    batch = _merged(batch, _read(model, fresh))
            if batch is None:
                return
            batch = _advanced(model, batch)


def _read(model: LocalModel, rows: list[DecodedText]) -> _Batch:
    """The prompts, padded on the left, read at once."""
    import torch

    width = max(len(row.prompt) for row in rows)
    ids = torch.full((len(rows), width), next(iter(model.ends), 0))
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for i, row in enumerate(rows):
        row.begun()
        ids[i, width - len(row.prompt) :] = torch.tensor(row.prompt)
        mask[i, width - len(row.prompt) :] = 1
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    output = model.weights(
        input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=True, logits_to_keep=1
    )
    if output.get("past_key_values") is None:
        raise ModelError(
            f"model {model.name}: it keeps no key-value cache, which engine transformers needs; "
            "serve it with vLLM"
        )
    return _Batch(rows, output.past_key_values, mask, output.logits[:, -1].float())


def _advanced(model: LocalModel, batch: _Batch) -> _Batch | None:
    """One token more for every row; None when none is left."""
    import torch

    going = [i for i, row in enumerate(batch.rows) if row.drawn(batch.logits[i])]
    if not going:
        return None
    rows = [batch.rows[i] for i in going]
    mask = batch.mask
    if len(going) < len(batch.rows):
        mask = mask[going]
        batch.cache.reorder_cache(
            torch.tensor(going)
        )  # all kinds of layers have it, and it takes fewer rows too
        mask = _trimmed(batch.cache, mask)
    mask = torch.cat([mask, mask.new_ones((len(rows), 1))], 1)
    ids = torch.tensor([[row.tokens[-1]] for row in rows])
    positions = mask.sum(1, keepdim=True) - 1
    output = model.weights(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions,
        past_key_values=batch.cache,
        use_cache=True,
        logits_to_keep=1,
    )
    return _Batch(rows, output.past_key_values, mask, output.logits[:, -1].float())


def _mergeable(cache: Any) -> bool:
    """Whether the cache is keys and values of full attention in every layer; of others, calls join
    when the batch is done.
    """
    from transformers.cache_utils import DynamicCache, DynamicLayer

    return type(cache) is DynamicCache and all(
        type(layer) is DynamicLayer for layer in cache.layers
    )


def _merged(batch: _Batch | None, fresh: _Batch) -> _Batch:
    """Both as one batch, the narrower padded on the left."""
    import torch
    from torch.nn.functional import pad

    if batch is None:
        return fresh
    width = max(batch.mask.shape[1], fresh.mask.shape[1])
    for layer, other in zip(batch.cache.layers, fresh.cache.layers, strict=True):
        for name in ("keys", "values"):
            both = [getattr(layer, name), getattr(other, name)]
            setattr(
                layer,
                name,
                torch.cat([pad(part, (0, 0, width - part.shape[-2], 0)) for part in both]),
            )
    masks = [pad(part.mask, (width - part.mask.shape[1], 0)) for part in (batch, fresh)]
    return _Batch(
        [*batch.rows, *fresh.rows],
        batch.cache,
        torch.cat(masks),
        torch.cat([batch.logits, fresh.logits]),
    )


def _trimmed(cache: Any, mask: Any) -> Any:
    """The mask without the columns that are padding in every row, which the cache loses too."""
    unused = int(mask.any(0).long().argmax())
    if unused and _mergeable(cache):
        for layer in cache.layers:
            layer.keys, layer.values = (
                layer.keys[:, :, unused:].contiguous(),
                layer.values[:, :, unused:].contiguous(),
            )
        return mask[:, unused:]
    return mask


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
