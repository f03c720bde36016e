"""Engine transformers on a model of random weights; what is expected is worked out by plain
forwards over the whole text.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from synth.models.local.transformers_chat import TransformersChat, split_thought
from synth.models.local.transformers_chat import open_model as open_engine
from synth.models.registry import open_model
from synth.models.settings import ModelSettings
from synth.schemas.errors import ConfigError
from synth.schemas.model import Completion, Message, ModelError, Sampling
from tests.synth.models.small_models import (
    ASK,
    asked,
    first_choices,
    hybrid_model,
    never_ending,
    plain,
    rendered,
    sliding_window_model,
    using,
)

CHATS: list[list[Message]] = [
    [{"role": "user", "content": "Where is my order? " * times}]
    for times in (1, 9, 2, 30, 5, 1, 17)
]
TOOL = {
    "type": "function",
    "function": {
        "name": "f",
        "description": "Does.",
        "parameters": {"type": "object", "properties": {}},
    },
}


def test_greedy_tokens_and_log_probabilities_are_those_of_forwards_without_a_cache(
    random_model: Path,
) -> None:
    tokens, logprobs, text = first_choices(random_model, ASK, 12)
    reply = asked(random_model)
    assert reply.completion_token_ids == tuple(tokens)
    assert reply.logprobs == pytest.approx(logprobs, abs=1e-4)
    assert (reply.content, reply.finish_reason, reply.thought, reply.tool_calls) == (
        text,
        "length",
        None,
        (),
    )
    assert reply.prompt_token_ids == tuple(rendered(plain(random_model)[1], ASK))
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.calls) == (
        len(reply.prompt_token_ids),
        12,
        1,
    )


@pytest.mark.parametrize("other", [None, sliding_window_model, hybrid_model])
def test_a_seeded_call_draws_the_same_tokens_alone_and_in_any_company(
    random_model: Path, altered: Callable[..., Path], other: Callable[[], Any] | None
) -> None:
    folder = random_model if other is None else altered(weights=other())
    jobs = [
        (chat, Sampling(temperature=1.0, max_tokens=5 + 6 * i, seed=i))
        for i, chat in enumerate(CHATS)
    ]

    async def alone(model: TransformersChat) -> list[Completion]:
        return [await model.complete(chat, (), sampling) for chat, sampling in jobs]

    async def together(model: TransformersChat) -> list[Completion]:
        async def late(i: int) -> Completion:
            await asyncio.sleep(0.003 * i)
            return await model.complete(jobs[i][0], (), jobs[i][1])

        return await asyncio.gather(*(late(i) for i in reversed(range(len(jobs)))))

    expected = using(folder, alone)
    found = using(folder, together)[::-1]
    assert [reply.completion_token_ids for reply in found] == [
        reply.completion_token_ids for reply in expected
    ]
    for reply, single in zip(found, expected, strict=True):
        assert reply.logprobs == pytest.approx(single.logprobs, abs=1e-4)


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


def test_draws_follow_temperature_and_top_p_and_log_probabilities_are_those_before_both(
    random_model: Path,
) -> None:
    import numpy as np
    import torch

    weights, tokenizer = plain(random_model)
    with torch.no_grad():
        logits = weights(torch.tensor([rendered(tokenizer, ASK)])).logits[0, -1].double().numpy()
    weight = np.exp(logits / 0.8 - np.max(logits / 0.8))
    p = weight / weight.sum()
    order = np.argsort(-p)
    nucleus = order[: int(np.searchsorted(np.cumsum(p[order]), 0.6)) + 1]
    expected = {int(token): float(p[token] / p[nucleus].sum()) for token in nucleus}

    async def scene(model: TransformersChat) -> list[Completion]:
        jobs = [
            Sampling(temperature=0.8, top_p=0.6, max_tokens=1, seed=seed) for seed in range(1500)
        ]
        return await asyncio.gather(*(model.complete(ASK, (), job) for job in jobs))

    replies = using(random_model, scene, max_in_flight=64)
    drawn = Counter(
        reply.completion_token_ids[0] for reply in replies if reply.completion_token_ids
    )
    unwarped = logits - np.logaddexp.reduce(logits)
    for reply in replies[:20]:
        assert reply.completion_token_ids is not None
        assert reply.logprobs == pytest.approx([unwarped[reply.completion_token_ids[0]]], abs=1e-4)
    assert set(drawn) <= set(expected)
    likely = max(expected, key=lambda token: expected[token])
    spread = (expected[likely] * (1 - expected[likely]) / 1500) ** 0.5
    assert drawn[likely] / 1500 == pytest.approx(expected[likely], abs=4.5 * spread)


def test_without_settings_the_models_own_generation_config_draws(
    altered: Callable[..., Path],
) -> None:
    folder = altered(generation={"top_k": 1, "temperature": 0.7})
    sampled = asked(folder, sampling=Sampling(max_tokens=12))
    assert sampled.completion_token_ids == tuple(first_choices(folder, ASK, 12)[0])
    free = asked(
        folder, sampling=Sampling(max_tokens=12, seed=3, temperature=1.5, extra={"top_k": 0})
    )
    assert free.completion_token_ids != sampled.completion_token_ids


def test_a_stop_string_cuts_the_text_also_where_it_spans_tokens(random_model: Path) -> None:
    tokens, _, text = first_choices(random_model, ASK, 12)
    pieces = [plain(random_model)[1].decode(tokens[:i]) for i in range(13)]
    stop = text[len(pieces[5]) - 1 : len(pieces[5]) + 1]
    reply = asked(
        random_model, sampling=Sampling(temperature=0, max_tokens=12, stop=("not there", stop))
    )
    assert reply.finish_reason == "stop"
    assert reply.content == text[: text.index(stop)]
    assert len(reply.completion_token_ids or ()) < 12


def test_a_token_that_ends_the_turn_is_kept_as_a_token_and_not_as_text(
    altered: Callable[..., Path], random_model: Path
) -> None:
    tokens, _, _ = first_choices(random_model, ASK, 4)
    end = tokens[3]
    before = tokens[: tokens.index(end)]
    reply = asked(altered(generation={"eos_token_id": [1000000, end]}))
    assert reply.finish_reason == "stop"
    assert reply.completion_token_ids == (*before, end)
    assert reply.content == plain(random_model)[1].decode(before, skip_special_tokens=True)


def test_tools_and_past_calls_reach_the_prompt_through_the_template(random_model: Path) -> None:
    def chat(arguments: Any) -> list[Message]:
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
        return [
            *ASK,
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "no"},
        ]

    reply = asked(random_model, chat('{"a":"é"}'), tools=[TOOL])
    assert reply.prompt_token_ids == tuple(
        rendered(plain(random_model)[1], chat({"a": "é"}), [TOOL])
    )
    broken = asked(random_model, chat('{"a": '), tools=[TOOL])
    text = plain(random_model)[1].decode(broken.prompt_token_ids)
    assert '<tool_call>\n{"name": "f", "arguments": {"a": }\n</tool_call>' in text
    assert broken.repairs == ("broken_calls_sent_as_text",)


def taught(folder: Path, reply: str) -> Any:
    """The weights after they have learned to answer ASK (with TOOL) so."""
    import torch

    weights, tokenizer = plain(folder)
    prompt = rendered(tokenizer, ASK, [TOOL])
    ids = torch.tensor([prompt + tokenizer(reply, add_special_tokens=False)["input_ids"]])
    labels = ids.clone()
    labels[0, : len(prompt)] = -100
    learn = torch.optim.AdamW(weights.parameters(), lr=3e-3)
    for _ in range(200):
        loss = weights(ids, labels=labels).loss
        loss.backward()
        learn.step()
        learn.zero_grad()
        if loss < 0.01:
            break
    return weights


def test_a_thought_and_a_call_are_read_from_what_the_model_wrote(
    random_model: Path, altered: Callable[..., Path]
) -> None:
    written = (
        '<think>\nhm\n</think>\n\nI look.\n<tool_call>\n{"name": "f", "arguments": {"a": '
        "1}}\n</tool_call>"
    )
    folder = altered(weights=taught(random_model, f"{written}<|im_end|>"))
    reply = asked(folder, tools=[TOOL], sampling=Sampling(temperature=0, max_tokens=200))
    assert (reply.thought, reply.content, reply.finish_reason) == ("hm", "I look.", "tool_calls")
    assert [(call.name, call.arguments, call.parse_error) for call in reply.tool_calls] == [
        ("f", '{"a": 1}', None)
    ]
    assert reply.repairs == ()
    assert reply.raw is not None
    assert "hm" in reply.raw


@pytest.mark.parametrize(
    ("text", "opened", "parts"),
    [
        ("<think>\na\n</think>\n\nb", False, ("a", "b")),
        ("a</think>b", True, ("a", "b")),
        ("<think>cut", False, ("cut", None)),
        ("<think></think>b", False, (None, "b")),
        ("b <think> c", False, (None, "b <think> c")),
    ],
)
def test_a_thought_ends_where_its_tag_closes(
    text: str, opened: bool, parts: tuple[str | None, str | None]
) -> None:
    assert split_thought(text, opened=opened) == parts


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


def test_a_prompt_that_leaves_no_room_for_the_reply_is_a_full_context(random_model: Path) -> None:
    with pytest.raises(ModelError, match="exceed its context of 32768") as full:
        asked(random_model, sampling=Sampling(max_tokens=32_768))
    assert full.value.context_overflow


def test_weights_are_told_apart_by_their_content(
    random_model: Path, altered: Callable[..., Path]
) -> None:
    same = altered(generation={"top_k": 1})
    assert asked(same).weights_id == asked(random_model).weights_id
    (same / "model.safetensors").unlink()
    sliding_window_model().save_pretrained(same)
    assert asked(same).weights_id != asked(random_model).weights_id


def test_weights_that_are_broken_are_told_in_one_line(altered: Callable[..., Path]) -> None:
    folder = altered()
    (folder / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(ConfigError, match="transformers cannot load it") as broken:
        asked(folder)
    assert "\n" not in str(broken.value)


def test_a_chat_that_the_template_refuses_is_a_models_error(altered: Callable[..., Path]) -> None:
    folder = altered(template="{{ raise_exception('roles must alternate') }}")
    with pytest.raises(ModelError, match="roles must alternate"):
        asked(folder)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (
            {"base_url": "http://127.0.0.1:1/v1"},
            "base_url: engine transformers runs the model in this process",
        ),
        (
            {"extra_body": {"logit_bias": {}}},
            "knows no logit_bias; allowed: chat_template_kwargs, min_p",
        ),
        ({"model": "./nowhere"}, "nowhere is no folder with a config.json"),
    ],
)
def test_what_the_engine_cannot_use_is_the_users_to_mend(
    random_model: Path, more: dict[str, Any], why: str
) -> None:
    with pytest.raises(ConfigError, match=why):
        open_engine(
            ModelSettings(**({"engine": "transformers", "model": str(random_model)} | more))
        )


def test_a_model_without_a_key_value_cache_is_refused(altered: Callable[..., Path]) -> None:
    from transformers import MambaConfig, MambaForCausalLM

    sizes = {"vocab_size": 1024, "hidden_size": 16, "num_hidden_layers": 1, "state_size": 4}
    with pytest.raises(ModelError, match="serve it with vLLM"):
        asked(altered(weights=MambaForCausalLM(MambaConfig(**sizes))))


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
def test_a_missing_extra_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(ConfigError, match=r"pip install -c constraints.txt -e '\.\[score\]'"):
        open_model(ModelSettings(engine="transformers", model="Qwen/Qwen3-0.6B"))
