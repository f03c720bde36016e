"""Calls of engine transformers that share a batch, join it and leave it."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from synth.models.local.transformers_chat import TransformersChat
from synth.schemas.model import Completion, ModelError, Sampling
from tests.synth.models.small_models import (
    ASK,
    CHATS,
    first_choices,
    never_ending,
    using,
)


def test_calls_that_wait_share_a_batch_of_at_most_max_in_flight(random_model: Path) -> None:
    import torch

    sizes: list[int] = []
    count = torch.nn.modules.module.register_module_forward_pre_hook(
        lambda module, inputs: (
            sizes.append(inputs[0].shape[0]) if isinstance(module, torch.nn.Embedding) else None
        )
    )

    async def scene(model: TransformersChat) -> None:
        await asyncio.gather(
            *(
                model.complete(chat, (), Sampling(temperature=1.0, max_tokens=20, seed=0))
                for chat in CHATS
            )
        )

    try:
        using(random_model, scene, max_in_flight=3)
    finally:
        count.remove()
    assert max(sizes) == 3


def test_the_event_loop_goes_on_while_a_model_decodes(
    random_model: Path, altered: Callable[..., Path]
) -> None:
    async def scene(model: TransformersChat) -> int:
        await model.complete(ASK, (), Sampling(temperature=0, max_tokens=1))
        long = asyncio.ensure_future(
            model.complete(ASK, (), Sampling(temperature=0, max_tokens=300))
        )
        ticks = 0
        while not long.done():
            await asyncio.sleep(0.005)
            ticks += 1
        return ticks

    assert using(altered(weights=never_ending(random_model)), scene) >= 10


def test_a_cancelled_call_leaves_its_batch_and_the_others_stay(
    random_model: Path, altered: Callable[..., Path]
) -> None:
    async def scene(model: TransformersChat) -> tuple[Completion, float]:
        await model.complete(ASK, (), Sampling(temperature=0, max_tokens=1))
        endless = asyncio.ensure_future(
            model.complete(ASK, (), Sampling(temperature=0, max_tokens=30_000))
        )
        other = asyncio.ensure_future(
            model.complete(CHATS[1], (), Sampling(temperature=0, max_tokens=30))
        )
        await asyncio.sleep(0.05)
        endless.cancel()
        with pytest.raises(asyncio.CancelledError):
            await endless
        reply, began = await other, time.monotonic()
        await model.close()
        return reply, time.monotonic() - began

    folder = altered(weights=never_ending(random_model))
    reply, closing_s = using(folder, scene)
    assert reply.completion_token_ids == tuple(first_choices(folder, CHATS[1], 30)[0])
    assert closing_s < 5


def test_a_late_reply_is_a_timeout_and_the_engine_goes_on(
    random_model: Path, altered: Callable[..., Path]
) -> None:
    async def scene(model: TransformersChat) -> Completion:
        with pytest.raises(ModelError, match="no reply within") as late:
            await model.complete(ASK, (), Sampling(temperature=0, max_tokens=30_000))
        assert late.value.timeout
        return await model.complete(ASK, (), Sampling(temperature=0, max_tokens=1))

    assert (
        using(altered(weights=never_ending(random_model)), scene, timeout_s=0.3).finish_reason
        == "length"
    )
