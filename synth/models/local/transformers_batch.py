"""Many texts drawn together: a batch with a key-value cache, which calls join and leave between two
tokens. Padding and batching change a text's logits by rounding only.
"""

from collections.abc import Iterable
from typing import Any

from synth.models.local.transformers_draws import DrawnText
from synth.models.local.transformers_model import LocalModel
from synth.schemas import ModelError

PREFILL_TOKENS = 16384
"""Prompt tokens, padding included, that are read in one forward: bounds the memory of activations.
"""


class Batch:
    """Rows under way: `mask` [rows, width] marks what is no padding, `logits` [rows, vocabulary]
    are those of the next token.
    """

    def __init__(self, rows: list[DrawnText], output: Any, mask: Any) -> None:
        self.rows, self.mask = rows, mask
        self.cache, self.logits = output.past_key_values, output.logits[:, -1].float()

    def mergeable(self) -> bool:
        """Whether the cache is keys and values of full attention in every layer; with others, calls
        join when the batch is done.
        """
        from transformers.cache_utils import DynamicCache, DynamicLayer

        # a kind of its own (a sliding window, a recurrent state) is more than keys and values
        return type(self.cache) is DynamicCache and all(
            type(layer) is DynamicLayer for layer in self.cache.layers
        )


def advanced(model: LocalModel, batch: Batch | None, fresh: list[DrawnText]) -> Batch | None:
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

        # the token that was drawn last is the only column that the cache does not hold yet
        rows, mask = batch.rows, batch.mask
        mask = torch.cat([mask, mask.new_ones((len(rows), 1))], 1)
        ids = torch.tensor([[row.tokens[-1]] for row in rows])
        return Batch(rows, _forward(model, ids, mask, batch.cache), mask)


def _forward(model: LocalModel, ids: Any, mask: Any, cache: Any | None) -> Any:
    """The model's output for the last columns of `mask`, of which `ids` are the tokens."""
    # padding stands on the left, and takes up no position
    positions = (mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
    return model.weights(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )


def _read(model: LocalModel, rows: list[DrawnText]) -> Batch:
    """The prompts, padded on the left, read at once."""
    import torch

    width = max(len(row.prompt) for row in rows)
    ids = torch.full((len(rows), width), next(iter(model.ends), 0))
    mask = torch.zeros((len(rows), width), dtype=torch.long)

    for i, row in enumerate(rows):
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

    # the row that was the widest may have left
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
            # [rows, heads, width, size]: the last but one is what differs
            padded = [pad(part, (0, 0, width - part.shape[-2], 0)) for part in both]
            setattr(layer, name, torch.cat(padded))

    masks = [pad(part.mask, (width - part.mask.shape[1], 0)) for part in (batch, fresh)]

    batch.rows += fresh.rows
    batch.mask, batch.logits = torch.cat(masks), torch.cat([batch.logits, fresh.logits])
    return batch


def within_prefill(waiting: Iterable[DrawnText], room: int) -> int:
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
